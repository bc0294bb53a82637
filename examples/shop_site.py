"""A small shop in Flask: it shows the display that slotwise chooses, and sends the clicks back.

Start `slotwise serve --dev --store sqlite:///shop.db` and apply examples/shop.toml, then run
`pip install flask ./clients/python && python examples/shop_site.py`. `slotwise pages show shop` counts the clicks.
"""

import os

from flask import Flask, render_template_string, request

from slotwise_client import Client, DefaultOrder, Options

SLOTWISE = os.environ.get("SLOTWISE_URL", "http://127.0.0.1:8000")
KEY = os.environ.get("SLOTWISE_KEY")  # not needed if slotwise runs with --dev
TIMEOUT = float(os.environ.get("SLOTWISE_TIMEOUT", "0.2"))  # seconds: no visitor waits longer for slotwise
DEFAULT = DefaultOrder(  # shown while slotwise is away
    positions=["top-left", "top-middle", "top-right", "bottom-left", "bottom-middle", "bottom-right"],
    items=["straw hat", "silk scarf", "linen shirt", "canvas bag", "sun glasses", "rain coat"],
)
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
{% for row in display.items %}
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
slotwise = Client(SLOTWISE, KEY, Options(timeout=TIMEOUT))


@app.get("/")
def shop():
    """Ask for a display, and render it."""
    return render_template_string(PAGE, display=slotwise.recommend("shop", default=DEFAULT))


@app.get("/items/<name>")
def item(name):
    """Render the page of an item, to which the links lead."""
    return render_template_string("<!doctype html><h1>{{ name }}</h1><a href='/'>back</a>", name=name)


@app.post("/clicked")
def clicked():
    """Report a click, without waiting. `sendBeacon` sends text as text/plain: `force` makes Flask read it as JSON."""
    click = request.get_json(force=True)
    if not isinstance(click, dict):
        return "an object is needed", 400
    slotwise.click(click.get("token"), click.get("position"))
    return "", 204


if __name__ == "__main__":
    app.run(port=int(os.environ.get("PORT", "5000")))
