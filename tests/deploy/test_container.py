"""The container image and the compose file refer to files and settings that exist. `make image` runs the image."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from slotwise.jit import CACHE_VARIABLE
from slotwise.service.settings import NAMES, read_settings, variable

DEPLOY = Path(__file__).parent.parent.parent / "deploy"
CONTAINERFILE = (DEPLOY / "Containerfile").read_text()
COMPOSE: Any = yaml.safe_load((DEPLOY / "compose.yml").read_text())


def instructions(name: str) -> list[str]:
    joined = CONTAINERFILE.replace("\\\n", " ")
    return re.findall(rf"^{name} +(.*)$", joined, flags=re.MULTILINE)


def environments() -> list[dict[str, str]]:
    """The variables of each stage."""
    return [dict(pair.split("=", 1) for pair in line.split()) for line in instructions("ENV")]


def test_the_kernels_are_used_with_the_settings_they_are_compiled_with() -> None:
    build, final = environments()
    assert {"NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES", CACHE_VARIABLE} == set(build)
    assert build.items() <= final.items()


def test_the_settings_of_the_image_are_valid() -> None:
    _, final = environments()
    given = {name for name in final if name.startswith("SLOTWISE_")} - {CACHE_VARIABLE}
    assert given <= set(map(variable, NAMES))
    settings = read_settings({}, final)
    (volume,), ports = instructions("VOLUME"), instructions("EXPOSE")[0].split()
    assert settings.store.removeprefix("sqlite:///").startswith(volume)
    assert ports == [str(settings.port), str(settings.metrics_port)]


def test_the_image_does_not_run_as_root() -> None:
    assert instructions("USER") == ["10001:10001"]


def test_what_the_image_copies_is_not_ignored() -> None:
    """.dockerignore excludes everything else, so that no secret or local file gets into the image."""
    ignored = (DEPLOY.parent / ".dockerignore").read_text().split()
    kept = {line.removeprefix("!") for line in ignored if line.startswith("!")}
    copied = {path for line in instructions("COPY") if not line.startswith("--from") for path in line.split()[:-1]}
    assert "*" in ignored
    assert copied == kept
    assert all((DEPLOY.parent / path).exists() for path in kept)


def test_the_health_check_is_python() -> None:
    (check,) = instructions("HEALTHCHECK")
    program, option, code = json.loads(check.partition("CMD ")[2])
    assert (program, option) == ("python", "-c")
    compile(code, "health check", "exec")


def test_the_settings_in_the_compose_file_are_valid() -> None:
    given = COMPOSE["services"]["slotwise"]["environment"]
    assert set(given) <= set(map(variable, NAMES))
    read_settings({}, {name: re.sub(r"\$\{\w+:-(.*)\}", r"\1", value) for name, value in given.items()})
    (network,) = COMPOSE["networks"]["proxy"]["ipam"]["config"]
    assert network["subnet"] == given["SLOTWISE_TRUST_PROXY"], "the proxy is in the network that is trusted"


def test_what_the_compose_file_mounts_exists() -> None:
    for service in COMPOSE["services"].values():
        for volume in service["volumes"]:
            source = volume.partition(":")[0]
            assert source in COMPOSE["volumes"] or (DEPLOY / source).is_file(), source
        assert set(service["networks"]) <= set(COMPOSE["networks"])
    build = COMPOSE["services"]["slotwise"]["build"]
    assert (DEPLOY / build["context"] / build["dockerfile"]).is_file()


def compose_command() -> list[str]:
    """A program that reads compose files: the plug-in of Docker, or docker-compose of Debian."""
    plugin = ["docker", "compose"]
    if shutil.which("docker") and subprocess.run([*plugin, "version"], capture_output=True).returncode == 0:
        return plugin
    if shutil.which("docker-compose") is None:
        pytest.skip("neither docker compose nor docker-compose is installed, so the compose files are not tried")
    return ["docker-compose"]


@pytest.mark.parametrize("names", [["compose.yml"], ["compose.yml", "compose.postgres.yml"]])
def test_a_real_program_reads_the_compose_files(tmp_path: Path, names: list[str]) -> None:
    """The name of the project is left out, because version 1 of docker-compose does not know it."""
    options = ["--project-directory", str(DEPLOY)]
    for name in names:
        lines = (DEPLOY / name).read_text().splitlines(keepends=True)
        (tmp_path / name).write_text("".join(line for line in lines if not line.startswith("name:")))
        options += ["--file", str(tmp_path / name)]
    variables = os.environ | {"POSTGRES_PASSWORD": "secret"}
    command = [*compose_command(), *options, "config"]
    done = subprocess.run(command, env=variables, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    services = yaml.safe_load(done.stdout)["services"]
    assert services["caddy"]["depends_on"]["slotwise"]["condition"] == "service_healthy"
    assert "secret" in services["slotwise"]["environment"].get("SLOTWISE_STORE", "secret")


def test_the_settings_of_the_unit_are_valid() -> None:
    settings = read_settings({}, {}, DEPLOY / "systemd" / "slotwise.toml")
    unit = (DEPLOY / "systemd" / "slotwise.service").read_text()
    given = dict(re.findall(r"^Environment=(SLOTWISE_\w+)=(.*)$", unit, flags=re.MULTILINE))
    assert set(given) <= {*map(variable, NAMES), "SLOTWISE_CONFIG", CACHE_VARIABLE}
    target = yaml.safe_load((DEPLOY / "prometheus" / "prometheus.yml").read_text())["scrape_configs"][0]
    assert target["static_configs"][0]["targets"] == [f"{settings.metrics_host}:{settings.metrics_port}"]
