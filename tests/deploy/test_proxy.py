"""The proxies accept their example configurations."""

import os
import re
from pathlib import Path

from tests.programs import needed, succeeds

PROXY = Path(__file__).parent.parent.parent / "deploy" / "proxy"


def test_caddy_accepts_its_configuration(tmp_path: Path) -> None:
    caddy = needed("caddy", "its configuration is not checked")
    home = {"HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path)}
    environment = os.environ | home | {"SLOTWISE_DOMAIN": "slotwise.example"}
    output = succeeds(caddy, "validate", "--adapter", "caddyfile", "--config", PROXY / "Caddyfile", env=environment)
    assert "Valid configuration" in output
    assert "warn" not in output, output


def test_nginx_accepts_its_configuration(tmp_path: Path) -> None:
    nginx = needed("nginx", "its configuration is not checked")
    openssl = needed("openssl", "nginx gets no certificate")
    files = ["-keyout", tmp_path / "key.pem", "-out", tmp_path / "cert.pem"]
    kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=slotwise.example"]
    succeeds(openssl, "req", "-x509", *kind, *files)
    site = (PROXY / "nginx.conf").read_text()
    for path, name in (("fullchain", "cert"), ("privkey", "key")):
        site = site.replace(f"/etc/ssl/slotwise/{path}.pem", f"{tmp_path}/{name}.pem")
    site = re.sub(r"listen \[::\].*\n", "", site)
    # sockets instead of ports, which may be in use and need rights: `nginx -t` opens them
    (tmp_path / "site.conf").write_text(re.sub(r"listen (\d+)", rf"listen unix:{tmp_path}/\1.sock", site))
    temporary = " ".join(
        f"{kind}_temp_path {tmp_path};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    http = f"access_log off; {temporary} include {tmp_path}/site.conf;"
    (tmp_path / "nginx.conf").write_text(f"pid {tmp_path}/pid; error_log stderr; events {{}} http {{ {http} }}")
    assert "test is successful" in succeeds(nginx, "-t", "-p", tmp_path, "-c", tmp_path / "nginx.conf")
