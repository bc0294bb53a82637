"""A small shop in FastAPI: one view shows the display that slotwise chooses, another one reports clicks.

Start `slotwise serve --dev --store sqlite:///shop.db` and apply examples/shop.toml. Then run
`pip install fastapi uvicorn ./clients/python && python examples/sites/fastapi_site.py`.
"""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from html import escape

import uvicorn
from fastapi import FastAPI
from fastapi.responses import HTMLResponse

from slotwise_client import AsyncClient, DefaultOrder

POSITIONS = ["top-left", "top-middle", "top-right", "bottom-left", "bottom-middle", "bottom-right"]
ITEMS = ["straw hat", "silk scarf", "linen shirt", "canvas bag", "sun glasses", "rain coat"]
DEFAULT = DefaultOrder(POSITIONS, ITEMS)
SCRIPT = """<script>
document.addEventListener("click", ({ target: { dataset } }) => {
  if (dataset.token) navigator.sendBeacon("/clicked?" + new URLSearchParams(dataset));
});
</script>"""
slotwise = AsyncClient(os.environ.get("SLOTWISE_URL", "http://127.0.0.1:8000"))


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Send the last clicks before the program ends."""
    async with slotwise:
        yield


app = FastAPI(lifespan=lifespan)


@app.get("/", response_class=HTMLResponse)
async def shop() -> str:
    """Render a display."""
    display = await slotwise.recommend("shop", default=DEFAULT)
    links = [
        f'<a href="#" data-token="{display.token}" data-position="{row.position}">{escape(row.item)}</a>'
        for row in display.items
    ]
    return f"<!doctype html><title>Shop</title>{' '.join(links)}{SCRIPT}"


@app.post("/clicked", status_code=204)
async def clicked(token: str, position: str) -> None:
    """Report a click. This does not wait for slotwise."""
    slotwise.click(token, position)


if __name__ == "__main__":
    uvicorn.run(app, port=int(os.environ.get("PORT", "5000")))
