"""`python -m benchmarks.screenshots`: take the pictures of the README and of the dashboard's page, in Chromium.

A service of its own learns from simulated visitors of the sample shop. Then the browser takes the pictures.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, Page, expect, sync_playwright

from benchmarks.running_server import RunningServer
from slotwise.client.sample import SHOP, VISITORS

FIGURES = Path(__file__).parent.parent / "docs" / "figures"
ROUNDS, HOLDOUT, DEMO_VISITS = 4_000, 0.15, 6_000
PICTURES = (  # name, path, width, height
    ("dashboard-page.png", "/dashboard/pages/shop", 1280, 1000),
    ("dashboard-item.png", "/dashboard/pages/shop/items/straw%20hat", 1280, 620),
)


def learn(server: RunningServer) -> None:
    """Let visitors come to the shop."""
    url = ["--url", f"http://127.0.0.1:{server.port}"]
    slotwise = [sys.executable, "-m", "slotwise"]
    subprocess.run([*slotwise, "pages", "apply", str(SHOP), *url], check=True, stdout=subprocess.DEVNULL)
    server.call("PATCH", "/v1/pages/shop", {"holdout": HOLDOUT})
    visit = ["load", "--page", "shop", "--model", str(VISITORS), "--rounds", str(ROUNDS), "--rate", "max", "--quiet"]
    subprocess.run([*slotwise, *visit, *url], check=True, stdout=subprocess.DEVNULL)


def take(tab: Page, address: str, name: str, size: tuple[int, int]) -> None:
    """Take one picture, when the page has its insights."""
    tab.set_viewport_size({"width": size[0], "height": size[1]})
    tab.goto(address)
    tab.wait_for_selector("#live[data-state=live]")
    expect(tab.locator("#live-content")).not_to_contain_text("Adding up", timeout=60_000)
    tab.screenshot(path=FIGURES / name)
    print(name)


def visits(tab: Page) -> int:
    return int("0" + re.sub(r"\D", "", tab.inner_text("#visits")))


def take_demo(browser: Browser) -> None:
    """The shop of `slotwise demo`, and the dashboard of the same service."""
    command = [sys.executable, "-m", "slotwise", "demo", "--headless", "--rounds", "1000000", "--port", "0"]
    demo = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert demo.stdout is not None
    try:
        address = demo.stdout.readline().split()[-1].removesuffix("/demo")
        tab = browser.new_page(viewport={"width": 1280, "height": 985})
        tab.goto(f"{address}/demo")
        while visits(tab) < DEMO_VISITS:
            tab.wait_for_timeout(500)
        tab.screenshot(path=FIGURES / "shop.png")
        print("shop.png")
        take(tab, f"{address}/dashboard/pages/shop", "dashboard.png", (1280, 985))
    finally:
        demo.terminate()
        demo.wait()


def main() -> None:
    path = shutil.which("chromium") or shutil.which("google-chrome")
    if path is None:
        print("benchmarks.screenshots: Chromium is not installed, so the pictures stay as they are")
        return
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        store = f"sqlite:///{Path(folder) / 'store.db'}"
        serve = [sys.executable, "-m", "slotwise", "serve", "--dev", "--store", store, "--port", "0", "--quiet"]
        server = RunningServer(serve)
        learn(server)
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        for name, page, *size in PICTURES:
            take(browser.new_page(), f"http://127.0.0.1:{server.port}{page}", name, (size[0], size[1]))
        server.end()
        take_demo(browser)
        browser.close()


if __name__ == "__main__":
    main()
