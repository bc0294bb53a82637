"""The network of a service, from its settings. Settings that contradict each other are errors."""

from pathlib import Path

from slotwise.checks import BadInput
from slotwise.service.http.access.access import check_address
from slotwise.service.http.access.forwarding import TrustedProxies
from slotwise.service.http.listeners import Network
from slotwise.service.http.tls import CertificateFiles
from slotwise.service.settings import Settings
from slotwise.service.store.open_store import is_postgres


def network_of(settings: Settings) -> Network:
    """Where the service listens, and which proxies it trusts. Raises BadInput for settings that do not fit together."""
    if settings.workers > 1 and not is_postgres(settings.store):
        raise BadInput(
            f"--workers {settings.workers}: a SQLite store belongs to one process, which keeps the counts of its pages "
            "in memory; a second one would learn from half of the clicks. One process uses several cores by itself: "
            "ensembles, commits and exports run on threads. Several processes can share a PostgreSQL store"
        )
    if settings.dev:
        check_address(settings.host)
        if settings.metrics_port is not None:
            check_address(settings.metrics_host, "--metrics-host")
        if settings.trust_proxy is not None:
            raise BadInput("--trust-proxy: dev mode refuses requests that come through a proxy")
    return Network(
        settings.host,
        settings.port,
        None if settings.uds is None else Path(settings.uds),
        int(settings.uds_mode, 8),
        certificate_files(settings),
        None if settings.trust_proxy is None else TrustedProxies(settings.trust_proxy),
        settings.metrics_host,
        settings.metrics_port,
    )


def certificate_files(settings: Settings) -> CertificateFiles | None:
    """The files of the TLS certificate, if there is one. Raises BadInput if only one of them is given."""
    if settings.tls_cert is None and settings.tls_key is None:
        return None
    if settings.tls_cert is None or settings.tls_key is None:
        raise BadInput("--tls-cert and --tls-key are needed together")
    return CertificateFiles(settings.tls_cert, settings.tls_key)
