"""A small shop in Flask: it shows the display that slotwise chooses, and sends the clicks back.

Start `slotwise serve --dev --store sqlite:///shop.db` and apply examples/shop.toml, then run
`pip install flask && python examples/shop_site.py`. After a click, `slotwise pages show shop` counts it.
"""

import json
import os
from http.client import HTTPException
from urllib.request import Request, urlopen

from flask import Flask, render_template_string, request

SLOTWISE = os.environ.get("SLOTWISE_URL", "http://127.0.0.1:8000")
KEY = os.environ.get("SLOTWISE_KEY")  # not needed if slotwise runs with --dev
TIMEOUT = float(os.environ.get("SLOTWISE_TIMEOUT", "0.2"))  # seconds: no visitor waits longer for slotwise
DEFAULT_DISPLAY = {  # shown while slotwise is away; without a token, clicks are not sent
    "token": "",
    "items": [
        {"position": "top-left", "item": "straw hat"},
        {"position": "top-middle", "item": "silk scarf"},
        {"position": "top-right", "item": "linen shirt"},
        {"position": "bottom-left", "item": "canvas bag"},
        {"position": "bottom-middle", "item": "sun glasses"},
        {"position": "bottom-right", "item": "rain coat"},
    ],
}
PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8"><title>Shop</title>
<style>
main { display: grid; gap: 1rem; grid-template-areas: "top-left top-middle top-right"
       "bottom-left bottom-middle bottom-right"; }
main a { padding: 2rem; border: 1px solid; text-align: center; }
</style>
</head>
<body>
<h1>Shop</h1>
<main>
{% for row in display["items"] %}
<a href="{{ url_for('item', name=row.item) }}" style="grid-area: {{ row.position }}"
   data-token="{{ display.token }}" data-position="{{ row.position }}">{{ row.item }}</a>
{% endfor %}
</main>
<script>
document.addEventListener("click", ({ target }) => {
  const { token, position } = target.closest("a[data-token]")?.dataset ?? {};
  if (token) navigator.sendBeacon("/clicked", JSON.stringify({ token, position })); // arrives even if the page is left
});
</script>
</body>
</html>
"""
app = Flask(__name__)


def call_slotwise(path, body):
    """Send JSON to slotwise. Returns its answer, or None if it is away, too slow, or refuses."""
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {KEY}"} if KEY else {})
    message = Request(SLOTWISE + path, json.dumps(body).encode(), headers)
    try:
        with urlopen(message, timeout=TIMEOUT) as answer:
            return json.load(answer)
    except (OSError, HTTPException, ValueError) as error:
        app.logger.warning("no answer from slotwise: %s", error)
        return None


@app.get("/")
def shop():
    """Ask for a display, and render it."""
    display = call_slotwise("/v1/pages/shop/recommendations", {})
    return render_template_string(PAGE, display=display or DEFAULT_DISPLAY)


@app.get("/items/<name>")
def item(name):
    """Render the page of an item, to which the links lead."""
    return render_template_string("<!doctype html><h1>{{ name }}</h1><a href='/'>back</a>", name=name)


@app.post("/clicked")
def clicked():
    """Forward a click. `sendBeacon` sends text as text/plain: `force` makes Flask read it as JSON all the same."""
    click = request.get_json(force=True)
    if not isinstance(click, dict):
        return "an object is needed", 400
    event = {"type": "click", "token": click.get("token"), "position": click.get("position")}
    answer = call_slotwise("/v1/events", {"events": [event]})
    for result in answer["results"] if answer else []:
        if result["status"] not in ("accepted", "duplicate"):
            app.logger.warning("slotwise did not count a click: %s", result)
    return "", 204


if __name__ == "__main__":
    app.run(port=int(os.environ.get("PORT", "5000")))
