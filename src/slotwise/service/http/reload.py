"""Apply changed settings while the service runs."""

import logging
import ssl
from collections.abc import Callable

from slotwise.checks import BadInput
from slotwise.service.http.network_settings import certificate_files
from slotwise.service.log_output import set_level
from slotwise.service.service import Resources, Service
from slotwise.service.settings import NAMES, RELOADABLE, Settings

_log = logging.getLogger("slotwise.service")


class Reloader:
    """Reads the settings again, and applies those that can change while the service runs."""

    def __init__(
        self,
        settings: Settings,
        reread: Callable[[], Settings],
        service: Service,
        tls: ssl.SSLContext | None,
        report: Callable[[str], None],
    ) -> None:
        self._settings, self._reread, self._service, self._tls, self._report = settings, reread, service, tls, report

    def reload(self) -> None:
        """Apply new settings, and read the TLS files again. If anything is wrong, the service logs it and goes on."""
        try:
            new = self._reread()
            files = certificate_files(new)
            if self._tls is not None and files is not None:
                files.load_into(self._tls)
        except BadInput as error:
            _log.error("the settings are not reloaded: %s", error)
            return
        changed = [name for name in NAMES if getattr(new, name) != getattr(self._settings, name)]
        needs_restart = [name for name in changed if name not in RELOADABLE]
        if (self._tls is None) != (files is None):
            needs_restart += ["tls_cert", "tls_key"]
        set_level(new.log_level)
        self._service.set_resources(Resources(new.refresh_share, 1e6 * new.memory))
        applied = [name for name in changed if name not in needs_restart]
        self._report(f"reloaded; changed: {', '.join(applied) or 'nothing'}")
        if needs_restart:
            _log.warning("a restart is needed to change %s", ", ".join(needs_restart))
        self._settings = new
