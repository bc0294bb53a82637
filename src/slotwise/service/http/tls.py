"""TLS: the certificate of the service, which can be replaced while the service runs."""

import ssl
from typing import NamedTuple

from slotwise.checks import BadInput


class CertificateFiles(NamedTuple):
    """PEM files with the certificate chain and its private key."""

    cert: str
    key: str

    def load_into(self, context: ssl.SSLContext) -> None:
        """Use this certificate for new connections. Raises BadInput, and changes nothing, if it cannot be used."""
        self._load(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER))  # a failure could leave `context` without a key
        self._load(context)

    def context(self) -> ssl.SSLContext:
        """A context for a server with this certificate."""
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.set_alpn_protocols(["http/1.1"])
        self.load_into(context)
        return context

    def _load(self, context: ssl.SSLContext) -> None:
        try:
            context.load_cert_chain(self.cert, self.key, password=_no_password)
        except ssl.SSLError as error:
            reason = (error.reason or str(error)).lower().replace("_", " ")
            raise BadInput(
                f"the TLS certificate {self.cert} with the key {self.key} cannot be used: {reason}"
            ) from None
        except OSError as error:
            raise BadInput(f"cannot read the TLS files {self.cert} and {self.key}: {error.strerror}") from None
        except ValueError as error:
            raise BadInput(f"the TLS key {self.key} cannot be used: {error}") from None


def _no_password() -> str:
    raise ValueError("it is encrypted; the service needs a key without a password")
