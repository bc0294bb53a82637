"""A small shop in Django, in one file: one view shows the display that slotwise chooses, another one reports clicks.

Start `slotwise serve --dev --store sqlite:///shop.db` and apply examples/shop.toml. Then run
`pip install django ./clients/python && python examples/sites/django_site.py`.
"""

import os
from wsgiref.simple_server import make_server

from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.http import HttpRequest, HttpResponse
from django.urls import path
from django.utils.html import format_html, format_html_join
from django.utils.safestring import mark_safe
from django.views.decorators.http import require_POST

from slotwise_client import Client, DefaultOrder

POSITIONS = ["top-left", "top-middle", "top-right", "bottom-left", "bottom-middle", "bottom-right"]
ITEMS = ["straw hat", "silk scarf", "linen shirt", "canvas bag", "sun glasses", "rain coat"]
DEFAULT = DefaultOrder(POSITIONS, ITEMS)
SCRIPT = mark_safe("""<script>
document.addEventListener("click", ({ target: { dataset } }) => {
  if (dataset.token) navigator.sendBeacon("/clicked?" + new URLSearchParams(dataset));
});
</script>""")
slotwise = Client(os.environ.get("SLOTWISE_URL", "http://127.0.0.1:8000"))


def shop(request: HttpRequest) -> HttpResponse:
    """Render a display."""
    display = slotwise.recommend("shop", default=DEFAULT)
    links = format_html_join(
        " ",
        '<a href="#" data-token="{}" data-position="{}">{}</a>',
        ((display.token, row.position, row.item) for row in display.items),
    )
    return HttpResponse(format_html("<!doctype html><title>Shop</title>{}{}", links, SCRIPT))


@require_POST
def clicked(request: HttpRequest) -> HttpResponse:
    """Report a click. This does not wait for slotwise."""
    slotwise.click(request.GET.get("token", ""), request.GET.get("position", ""))
    return HttpResponse(status=204)


urlpatterns = [path("", shop), path("clicked", clicked)]

if __name__ == "__main__":
    settings.configure(ROOT_URLCONF=__name__, ALLOWED_HOSTS=["127.0.0.1"], SECRET_KEY="only for this example")
    with make_server("127.0.0.1", int(os.environ.get("PORT", "5000")), get_wsgi_application()) as server:
        print(f"Running on http://127.0.0.1:{server.server_port}", flush=True)
        server.serve_forever()
