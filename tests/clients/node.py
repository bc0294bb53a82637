"""Node, for the tests of the JavaScript client. Without Node, or without its packages, these tests are skipped."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.waiting import HANG

ROOT = Path(__file__).parent.parent.parent
SITES = ROOT / "examples" / "sites"
CLIENT_FOLDER = "file:../../clients/js"  # the version of slotwise-client in package.json


def find_node() -> str:
    """The path of Node."""
    path = shutil.which("node")
    if path is None:
        pytest.skip("node is not installed, so the JavaScript client is not tested")
    return path


def require_packages() -> None:
    """Skip the test unless `make node-packages` has installed what the examples need, in these versions."""
    wanted = json.loads((SITES / "package.json").read_text())
    for name, version in (wanted["dependencies"] | wanted["devDependencies"]).items():
        installed = SITES / "node_modules" / name / "package.json"
        if not installed.is_file() or version not in (json.loads(installed.read_text())["version"], CLIENT_FOLDER):
            pytest.skip(f"{name} {version} is not installed: `make node-packages` does this, so this is not tested")


def run_node(*arguments: str, text: str = "") -> str:
    """Run a program in Node, which must succeed, and return its output."""
    done = subprocess.run([find_node(), *arguments], cwd=ROOT, input=text, capture_output=True, text=True, timeout=HANG)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
