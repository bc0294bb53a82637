"""Settings from flags, environment variables and a file: which one wins, and what invalid ones say."""

from pathlib import Path
from typing import Any

import pytest

from slotwise.checks import BadInput
from slotwise.service.settings import NAMES, RELOADABLE, Settings, flag, read_settings, variable


def write(folder: Path, text: str) -> Path:
    path = folder / "service.toml"
    path.write_text(text)
    return path


def test_a_flag_overrides_a_variable_which_overrides_the_file(tmp_path: Path) -> None:
    config = write(tmp_path, 'port = 1\nmemory = 1\nhost = "::1"\ndev = true\nrefresh_share = 1\n')
    environment = {"SLOTWISE_PORT": "2", "SLOTWISE_MEMORY": "2", "SLOTWISE_LOG_LEVEL": "info", "SLOTWISE_HOST": ""}
    settings = read_settings({"port": 3}, environment, config)
    assert settings == Settings(port=3, memory=2, host="::1", dev=True, refresh_share=1.0, log_level="info")


def test_a_variable_names_the_file(tmp_path: Path) -> None:
    assert read_settings({}, {"SLOTWISE_CONFIG": str(write(tmp_path, "port = 7"))}).port == 7


@pytest.mark.parametrize(("text", "value"), [("true", True), ("1", True), ("false", False), ("0", False)])
def test_a_variable_can_be_true_or_false(text: str, value: bool) -> None:
    assert read_settings({}, {"SLOTWISE_DEV": text}).dev is value


@pytest.mark.parametrize(
    ("flags", "environment", "file", "named"),
    [
        ({"port": 70000}, {}, "", ["--port", "70000", "65535"]),
        ({"log_level": "loud"}, {}, "", ["--log-level", "loud"]),
        ({}, {"SLOTWISE_PORT": "many"}, "", ["SLOTWISE_PORT", "many"]),
        ({}, {"SLOTWISE_DEV": "perhaps"}, "", ["SLOTWISE_DEV", "perhaps"]),
        ({}, {}, 'port = "80"', ["service.toml", "port"]),
        ({}, {}, "refresh-share = 0.5", ["service.toml", "'refresh-share'", "refresh_share"]),
        ({}, {}, "prot = 80", ["'prot'", "did you mean port?"]),
        ({}, {}, "zzzzzz = 80", ["'zzzzzz'", "known are store"]),
        ({}, {}, "port =", ["service.toml", "not valid TOML"]),
        ({}, {"SLOTWISE_CONFIG": "nowhere.toml"}, None, ["nowhere.toml", "No such file"]),
    ],
)
def test_an_invalid_setting_is_an_error_that_names_it(
    tmp_path: Path, flags: dict[str, Any], environment: dict[str, str], file: str | None, named: list[str]
) -> None:
    config = None if file is None else write(tmp_path, file)
    with pytest.raises(BadInput) as raised:
        read_settings(flags, environment, config)
    assert all(text in str(raised.value) for text in named), raised.value


def test_names_derive_from_the_declaration() -> None:
    assert flag("tls_cert") == "--tls-cert"
    assert variable("tls_cert") == "SLOTWISE_TLS_CERT"
    assert set(RELOADABLE) < set(NAMES)
