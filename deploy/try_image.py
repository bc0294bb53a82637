"""Build the container image, start it, and drive one display and one click through it: `make image`.

buildah builds without a daemon. podman runs the image with a read-only root file system, no capabilities, and its own
mount, process and IPC namespaces and system call filter. It shares the network of this machine, so that no port has to
be published. Images and containers are in build/image, apart from those of this machine.
"""

import argparse
import contextlib
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "build" / "image"
IMAGE, DEBIAN_BASE = "localhost/slotwise", "localhost/slotwise-base"
REGISTRY_BASE = "docker.io/library/python:3.12-slim"
TOOLS = ("buildah", "mmdebstrap", "podman", "runc")
PORT, METRICS_PORT, USER = 8765, 9765, 10001
ADDRESS, METRICS = f"http://127.0.0.1:{PORT}", f"http://127.0.0.1:{METRICS_PORT}"
READY_SECONDS = 120  # it takes seconds; a busy machine gets more
# counts what is compiled while a service with the kernels of the image does everything that can need one
COMPILE_NOTHING = """
import asyncio, pathlib, tempfile
from slotwise.compilation_progress import watch_compilation
from slotwise.service.compile_all import compile_all

compiled = []

async def main():
    with tempfile.TemporaryDirectory() as folder:
        async for policy in compile_all(pathlib.Path(folder) / "trial.db"):
            assert not compiled, f"{policy}: {compiled[-1]} functions were compiled again"

with watch_compilation(lambda number, running: compiled.append(number)):
    asyncio.run(main())
"""


def run(*command: str, **options: Any) -> str:
    """Run a command and return what it prints. If it fails, say so and stop."""
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, cwd=ROOT, **options)
    if done.returncode:
        sys.exit(f"{done.stdout}\n{' '.join(command)} failed with exit code {done.returncode}")
    return done.stdout


def command_of(name: str, *arguments: str) -> list[str]:
    """A command of buildah or podman with the storage of this folder. The driver vfs works on every file system."""
    storage = ["--root", f"{FOLDER}/storage", "--runroot", f"{FOLDER}/run", "--storage-driver", "vfs"]
    runtime = ["--runtime", "runc", "--cgroup-manager", "cgroupfs"] if name == "podman" else []
    return [name, *storage, *runtime, *arguments]


def tool(name: str, *arguments: str) -> str:
    """Run buildah or podman, and return what it prints."""
    return run(*command_of(name, *arguments))


def install_tools() -> None:
    """Install what is missing from Debian, where this may be done."""
    missing = [name for name in TOOLS if shutil.which(name) is None]
    if missing and os.geteuid() == 0 and shutil.which("apt-get"):
        print("installing", *missing, flush=True)
        quiet = {"env": os.environ | {"DEBIAN_FRONTEND": "noninteractive"}, "stderr": subprocess.DEVNULL}
        run("apt-get", "-qq", "update", **quiet)
        run("apt-get", "-qq", "install", "-y", "--no-install-recommends", *missing, **quiet)
    elif missing:
        sys.exit(f"make image needs {', '.join(missing)}; on Debian, root gets them with apt-get install")


def base_image() -> str:
    """The base from the registry, or a Debian with Python if no registry can be reached."""
    pulled = subprocess.run(command_of("buildah", "pull", "--quiet", REGISTRY_BASE), capture_output=True)
    if pulled.returncode == 0:
        return REGISTRY_BASE
    if DEBIAN_BASE not in tool("buildah", "images", "--format", "{{.Name}}"):
        suite = run("sh", "-c", ". /etc/os-release && echo $VERSION_CODENAME").strip()
        print(f"no registry can be reached: making a base of Debian {suite} with mmdebstrap", flush=True)
        archive = FOLDER / "base.tar"
        packages = "python3-venv,ca-certificates"
        run("mmdebstrap", "--quiet", "--variant=minbase", f"--include={packages}", suite, str(archive))
        container = tool("buildah", "from", "scratch").strip()
        tool("buildah", "add", "--quiet", container, str(archive), "/")
        tool("buildah", "commit", "--quiet", "--rm", container, DEBIAN_BASE)
        archive.unlink()
    return DEBIAN_BASE


def build(base: str) -> None:
    """Build the image. The pip configuration and the certificates of this machine are mounted during the build only."""
    secrets = {"pip": Path("/etc/pip.conf"), "certificates": Path("/etc/ssl/certs/ca-certificates.crt")}
    mounts = [f"--secret=id={name},src={path}" for name, path in secrets.items() if path.exists()]
    arguments = ["--build-arg", f"BASE={base}", "--file", "deploy/Containerfile", "--tag", IMAGE, "."]
    # OCI images have no health check, so the format is that of Docker
    options = ["--quiet", "--isolation", "chroot", "--format", "docker", "--pull=false"]
    tool("buildah", "build", *options, *mounts, *arguments)


def container_options(store: Path) -> list[str]:
    """The isolation that docs/operations.md recommends, and the volume."""
    # without these two, podman raises the limits of the process, which not every root may do
    files = str(min(65536, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    limits = ["--ulimit", f"nofile={files}:{files}", "--ulimit", "nproc=4096:4096"]
    isolation = ["--read-only", "--cap-drop", "all", "--security-opt", "no-new-privileges"]
    timer = ["--health-interval", "disable"]  # `try_image` runs the health check; a timer would need systemd
    place = ["--pull", "never", "--network", "host", "--volume", f"{store}:/var/lib/slotwise"]
    return [*isolation, *limits, *timer, *place]


@contextlib.contextmanager
def running(store: Path) -> Iterator[str]:
    """A container that serves. It gets SIGTERM at the end, and must end cleanly."""
    variables = {"HOST": "127.0.0.1", "PORT": PORT, "METRICS_HOST": "127.0.0.1", "METRICS_PORT": METRICS_PORT}
    environment = [f"--env=SLOTWISE_{name}={value}" for name, value in variables.items()]
    container = tool("podman", "run", "--detach", *container_options(store), *environment, IMAGE).strip()
    try:
        yield container
        tool("podman", "stop", "--time", "30", container)
        code = tool("podman", "inspect", "--format", "{{.State.ExitCode}}", container).strip()
        if code != "0":
            sys.exit(f"the container ended with exit code {code}")
    except BaseException:
        subprocess.run(command_of("podman", "logs", container))
        raise
    finally:
        tool("podman", "rm", "--force", container)


def call(method: str, path: str, body: Any = None, key: str = "") -> Any:
    """Send JSON to the service, and return the answer."""
    data = None if body is None else json.dumps(body).encode()
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})
    request = urllib.request.Request(ADDRESS + path, data, headers, method=method)
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.loads(answer.read() or b"null")


def wait_until_ready() -> float:
    """Return the seconds until /readyz succeeds."""
    start = time.monotonic()
    while time.monotonic() - start < READY_SECONDS:
        with contextlib.suppress(urllib.error.URLError, ConnectionError):
            urllib.request.urlopen(f"{METRICS}/readyz", timeout=5).close()
            return time.monotonic() - start
        time.sleep(0.05)
    sys.exit(f"the service was not ready after {READY_SECONDS} seconds")


def drive(key: str) -> None:
    """Define a page, ask for a display, and click its first item."""
    call("PUT", "/v1/pages/shop", {"positions": ["top", "left"]}, key)
    call("POST", "/v1/pages/shop/items:batch", {"items": [{"item": "hat"}, {"item": "tie"}]}, key)
    display = call("POST", "/v1/pages/shop/recommendations", {}, key)
    click = {"type": "click", "token": display["token"], "position": display["items"][0]["position"]}
    results = call("POST", "/v1/events", {"events": [click]})  # a token needs no key
    assert results == {"results": [{"status": "accepted"}]}, results
    clicks = sum(cell["clicks"] for cell in call("GET", "/v1/pages/shop/insights", key=key)["counts"])
    assert clicks == 1, f"{clicks} clicks instead of 1"


def refuses_without_a_key() -> bool:
    """Whether a recommendation without a key gets 401."""
    try:
        call("POST", "/v1/pages/shop/recommendations", {})
    except urllib.error.HTTPError as error:
        return error.code == 401
    return False


def try_image(store: Path) -> None:
    """Serve twice from one volume: what the first container has learnt, the second one knows."""
    one_off = ["run", "--rm", *container_options(store)]
    tool("podman", *one_off, "--entrypoint", "python", IMAGE, "-c", COMPILE_NOTHING)
    print("all kernels are in the image: nothing was compiled", flush=True)
    created = tool("podman", *one_off, IMAGE, "keys", "create", "--name", "trial", "--scope", "admin", "--json")
    key = json.loads(created)["key"]
    with running(store) as container:
        print(f"ready {wait_until_ready():.1f} s after the container started", flush=True)
        tool("podman", "healthcheck", "run", container)
        assert refuses_without_a_key()
        drive(key)
    with running(store):
        print(f"ready {wait_until_ready():.1f} s after the restart", flush=True)
        displays = call("GET", "/v1/pages/shop/insights", key=key)["displays"]
        assert displays == 1, f"{displays} displays instead of 1"
    print(tool("podman", *one_off, IMAGE, "verify").strip(), flush=True)


def main() -> None:
    """Build and try the image."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--base", help=f"base image; by default {REGISTRY_BASE}, or Debian without a registry")
    base = parser.parse_args().base
    install_tools()
    FOLDER.mkdir(parents=True, exist_ok=True)
    base = base or base_image()
    print(f"building {IMAGE} on {base}: up to ten minutes", flush=True)
    build(base)
    with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
        os.chown(folder, USER, USER)
        try_image(Path(folder))
    print("the image works; `docker build --file deploy/Containerfile --tag slotwise .` builds it for your own Docker")


if __name__ == "__main__":
    main()
