"""Where the service listens: TLS, Unix domain socket, port for metrics, trusted proxies; and SIGHUP."""

import contextlib
import os
import signal
import socket
import ssl
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from slotwise.checks import BadInput
from slotwise.service.http.access.forwarding import TrustedProxies
from slotwise.service.http.listeners import bind, bound_unix_socket
from slotwise.service.http.network_settings import network_of
from slotwise.service.http.tls import CertificateFiles
from slotwise.service.settings import Settings
from tests.command_line import run_command
from tests.service.running_service import POSITIONS, Process, process
from tests.waiting import HANG, wait_until

CERTIFICATES = Path(__file__).parent / "certificates"


def files(name: str, key: str = "") -> CertificateFiles:
    return CertificateFiles(str(CERTIFICATES / f"{name}.pem"), str(CERTIFICATES / f"{key or name}.key"))


def install(name: str, folder: Path) -> CertificateFiles:
    """Copy a certificate to where the service reads it."""
    installed = CertificateFiles(str(folder / "tls.pem"), str(folder / "tls.key"))
    for source, target in zip(files(name), installed, strict=True):
        Path(target).write_bytes(Path(source).read_bytes())
    return installed


def connect(address: str, trusted: str) -> ssl.SSLSocket:
    """A TLS connection to a server whose certificate must be this one."""
    context = ssl.create_default_context(cafile=str(CERTIFICATES / f"{trusted}.pem"))
    host, port = address.removeprefix("https://").split(":")
    return context.wrap_socket(socket.create_connection((host, int(port)), HANG), server_hostname="localhost")


def version_over(line: socket.socket) -> bytes:
    line.sendall(b"GET /v1/version HTTP/1.1\r\nHost: localhost\r\n\r\n")
    received = b""
    while not received.endswith(b"}"):
        received += line.recv(4096)
    return received.split(b"\r\n", 1)[0]


@pytest.fixture(scope="module")
def tls_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Process, Path]]:
    folder = tmp_path_factory.mktemp("tls")
    cert, key = install("first", folder)
    config = folder / "service.toml"
    config.write_text(f'tls_cert = "{cert}"\ntls_key = "{key}"\nmetrics_port = 0\n')
    running = Process(folder / "store.db", "--config", str(config), verify=str(CERTIFICATES / "first.pem"))
    try:
        running.wait_until_ready()
        yield running, folder
    finally:
        running.kill()


def reload(server: Process) -> str:
    """Send SIGHUP, and return the line in which the service says what it did."""
    os.kill(server.process.pid, signal.SIGHUP)
    assert server.process.stdout is not None
    while not (line := server.process.stdout.readline()).startswith("reloaded"):
        assert line
    return line


def test_commands_trust_an_authority_that_the_environment_names(
    tls_server: tuple[Process, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ["pages", "list", "--url", tls_server[0].address]
    run_command(*arguments).assert_refused("certificate", "SSL_CERT_FILE")
    monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATES / "first.pem"))
    assert run_command(*arguments).exit_code == 0


def test_sighup_renews_the_certificate_for_new_connections(tls_server: tuple[Process, Path]) -> None:
    server, folder = tls_server
    assert server.address.startswith("https://")
    with connect(server.address, "first") as old:
        assert version_over(old) == b"HTTP/1.1 200 OK"
        assert old.version() in ("TLSv1.2", "TLSv1.3")
        install("second", folder)
        reload(server)
        with connect(server.address, "second") as new:
            assert version_over(new) == b"HTTP/1.1 200 OK"
        assert version_over(old) == b"HTTP/1.1 200 OK", "the old connection stays"
        with pytest.raises(ssl.SSLCertVerificationError):
            connect(server.address, "first")
    install("first", folder)
    reload(server)


def test_sighup_applies_changed_settings_and_keeps_the_old_ones_if_the_file_is_invalid(
    tls_server: tuple[Process, Path],
) -> None:
    server, folder = tls_server
    config = folder / "service.toml"
    before = config.read_text()
    config.write_text(before + 'memory = 100\nlog_level = "info"\n')
    assert reload(server) == "reloaded; changed: memory, log_level\n"
    config.write_text(before + "memory = 0\n")
    os.kill(server.process.pid, signal.SIGHUP)
    assert server.process.stderr is not None
    while "not reloaded" not in (line := server.process.stderr.readline()):
        assert line
    assert "memory" in line
    config.write_text(before)
    assert reload(server) == "reloaded; changed: memory, log_level\n"
    with connect(server.address, "first") as line:
        assert version_over(line) == b"HTTP/1.1 200 OK"


def test_a_plain_request_to_the_tls_port_is_closed(tls_server: tuple[Process, Path]) -> None:
    host, port = tls_server[0].address.removeprefix("https://").split(":")
    with socket.create_connection((host, int(port)), HANG) as line:
        line.sendall(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
        received = b""
        with contextlib.suppress(ConnectionResetError):
            while piece := line.recv(4096):
                received += piece
    assert b"200" not in received
    assert 'slotwise_rejected_connections_total{reason="tls"} ' in httpx.get(f"{tls_server[0].metrics}/metrics").text


def test_a_stop_does_not_wait_for_idle_tls_clients(tmp_path: Path) -> None:
    """Such a client does not read, so it does not see that the server closes the TLS connection."""
    cert, key = files("first")
    options = ("--tls-cert", str(cert), "--tls-key", str(key), "--shutdown-seconds", "20")
    with process(tmp_path / "store.db", options, verify=str(cert)) as server, connect(server.address, "first") as idle:
        assert version_over(idle) == b"HTTP/1.1 200 OK"
        assert server.logged() == [], "the stop does not take 20 seconds"
        assert server.process.returncode == 0


def test_requests_that_are_no_http_are_counted(tls_server: tuple[Process, Path]) -> None:
    server, _ = tls_server
    for content in (b"no http\r\n\r\n", b"no http\r\n\r\n", b"GET / HTTP/1.1\r\nX: " + b"x" * 70_000):
        with connect(server.address, "first") as line:
            line.sendall(content)
            assert line.recv(4096).startswith(b"HTTP/1.1 4")
    text = httpx.get(f"{server.metrics}/metrics").text
    assert 'slotwise_rejected_connections_total{reason="400"} 2.0' in text
    assert 'slotwise_rejected_connections_total{reason="431"} 1.0' in text


def test_the_port_for_metrics_serves_metrics_and_health_only(tls_server: tuple[Process, Path]) -> None:
    address = tls_server[0].metrics
    assert address.startswith("http://127.0.0.1:")
    assert "slotwise_store_up 1.0" in httpx.get(f"{address}/metrics").text
    assert httpx.get(f"{address}/readyz").status_code == 200
    assert httpx.get(f"{address}/v1/pages").status_code == 404
    assert httpx.get(f"{address}/metrics", headers={"host": "evil.example"}).status_code == 403


@pytest.mark.parametrize(
    ("tls", "named"),
    [
        (files("first", "second"), "key values mismatch"),
        (CertificateFiles("nowhere.pem", "nowhere.key"), "nowhere.pem"),
        (CertificateFiles(__file__, __file__), "cannot be used"),
    ],
)
def test_a_certificate_that_cannot_be_used_leaves_the_old_one(tls: CertificateFiles, named: str) -> None:
    context = files("first").context()
    with pytest.raises(BadInput, match=named):
        tls.load_into(context)
    assert common_name(context) == "first.test"


def common_name(context: ssl.SSLContext) -> str:
    """The name in the certificate that a server with this context presents."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    trust = ssl.create_default_context(cafile=str(CERTIFICATES / "first.pem"))
    client = trust.wrap_bio(to_client, to_server, server_hostname="localhost")
    server = context.wrap_bio(to_server, to_client, server_side=True)
    for _ in range(3):
        for side in (client, server):
            with contextlib.suppress(ssl.SSLWantReadError):
                side.do_handshake()
    certificate: Any = client.getpeercert()
    return dict(pair for (pair,) in certificate["subject"])["commonName"]


def test_a_unix_domain_socket_has_its_permissions_and_replaces_a_stale_one(tmp_path: Path) -> None:
    path = tmp_path / "service.sock"
    for mode in ("600", "660"):
        running = Process(tmp_path / "store.db", "--uds", str(path), "--uds-mode", mode)
        try:
            assert running.address == f"unix:{path}"
            assert stat.S_IMODE(path.stat().st_mode) == int(mode, 8)
            with httpx.Client(transport=httpx.HTTPTransport(uds=str(path)), base_url="http://localhost") as http:
                wait_until(lambda client=http: client.get("/readyz").status_code == 200, pause=0.05)
                assert http.put("/v1/pages/shop", json={"positions": POSITIONS}).status_code in (200, 201)
            with pytest.raises(BadInput, match="another process listens"), bound_unix_socket(path, 0o600):
                pass
        finally:
            if mode == "600":
                running.kill()  # leaves the socket behind
                assert path.exists()
            else:
                running.stop()
                assert not path.exists()


def test_a_file_that_is_no_socket_is_never_removed(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("kept")
    with pytest.raises(BadInput, match="not a socket"), bound_unix_socket(tmp_path / "data", 0o600):
        pass
    assert (tmp_path / "data").read_text() == "kept"


@pytest.mark.parametrize(
    ("forwarded", "client"),
    [
        (b"203.0.113.7", "203.0.113.7"),
        (b"198.51.100.1, 203.0.113.7", "203.0.113.7"),  # the first address is the client's own claim
        (b"203.0.113.7, 10.1.2.3", "203.0.113.7"),
        (b"2001:db8::1", "2001:db8::1"),
        (b"10.1.2.3", None),
        (b"203.0.113.7:51234", "203.0.113.7"),
        (b"[2001:db8::1]", "2001:db8::1"),
        (b"203.0.113.7, [2001:db8::1]:51234, 10.1.2.3:80", "2001:db8::1"),
        (b"[::1]:443", None),
        (b"203.0.113.7:port", None),
        (b"203.0.113.7:", None),
        (b"[203.0.113.7]x", None),
        (b"[2001:db8::1", "2001:db8::1"),
        (b"unknown", None),
        (b"203.0.113.7, unknown", None),
        (b"", None),
    ],
)
def test_the_client_is_the_last_address_that_no_trusted_proxy_has(forwarded: bytes, client: str | None) -> None:
    assert TrustedProxies("10.0.0.0/8,::1").client(forwarded) == client


def test_only_listed_proxies_are_trusted() -> None:
    proxies = TrustedProxies("10.0.0.0/8, ::1")
    assert proxies.trusts("10.1.2.3")
    assert proxies.trusts("::ffff:10.1.2.3")
    assert proxies.trusts("::1")
    assert not proxies.trusts("11.1.2.3")
    assert not proxies.trusts("localhost")
    assert not proxies.trusts(None)
    assert TrustedProxies("unix").trusts(None)


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"workers": 2}, ["--workers 2", "SQLite", "one process", "PostgreSQL"]),
        ({"dev": True, "host": "0.0.0.0"}, ["--host", "keys"]),
        ({"dev": True, "metrics_port": 1, "metrics_host": "0.0.0.0"}, ["--metrics-host", "keys"]),
        ({"dev": True, "trust_proxy": "10.0.0.0/8"}, ["--trust-proxy"]),
        ({"trust_proxy": "10.0.0.1/8"}, ["--trust-proxy", "host bits"]),
        ({"tls_cert": "a.pem"}, ["--tls-key"]),
    ],
)
def test_settings_that_do_not_fit_together_are_errors(settings: dict[str, Any], named: list[str]) -> None:
    with pytest.raises(BadInput) as raised:
        network_of(Settings(**settings))
    assert all(text in str(raised.value) for text in named), raised.value


@pytest.mark.parametrize("host", ["\xe9" * 80, "\xe9..b"])
def test_a_host_that_is_no_name_is_an_error(host: str) -> None:
    with pytest.raises(BadInput, match="name of a host"):
        bind(host, 0)
