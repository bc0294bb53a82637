"""Example requests, in the OpenAPI document and on `/docs`: for every route with a body, and for every path.

They work from top to bottom on any service: they define a page called `example`, show it, report clicks, and so on.
"""

from typing import Any

# values of the parameters in paths; BANNER is a page with one position, which some calls need
PATH = {
    "page": "example",
    "item": "hat",
    "layout": "default",
    "position": "hero",
    "version": "v1.0",
    "event": "event-1",
    "key": "KEY_ID",
}
BANNER = "example-banner"
_OTHER_PATHS = {
    "personalizer_rank": {"page": BANNER},
    "personalizer_reward": {"page": BANNER},
    "personalizer_activate": {"page": BANNER},
    "personalizer_reward_slots": {"event": "event-2"},
    "personalizer_activate_slots": {"event": "event-2"},
}
_LINES = """{"displays":100,"counts":1,"format":"slotwise-state","version":1}
{"item":"hat","layout":"default","position":"hero","clicks":7,"skips":43,"segment":null}
"""
BODIES: dict[str, Any] = {  # route -> body, in the order in which they work
    "put_page": {
        "positions": ["hero", "left", "right"],
        "click_window": 86400,
        "features": {"material": ["felt", "straw"], "price": "number"},
    },
    "patch_page": {"holdout": 0.1},
    "put_items": {"items": [{"item": "hat"}, {"item": "tie"}, {"item": "bag"}, {"item": "belt", "value": 2.5}]},
    "put_item": {
        "prior": {"clicks": 3, "views": 100},
        "category": "head",
        "features": {"material": "felt", "price": 40},
    },
    "patch_item": {"value": 1.5},
    "put_pin": {"item": "hat"},
    "recommend": {"id": "view-1", "unit": "visitor 7", "excluded": ["belt"]},
    "send_events": {"events": [{"type": "click", "display": "view-1", "position": "hero"}]},
    "personalizer_rank": {"actions": [{"id": "hat"}, {"id": "tie"}], "eventId": "event-1"},
    "personalizer_reward": {"value": 1.0},
    "personalizer_rank_slots": {
        "actions": [{"id": "hat"}, {"id": "tie"}, {"id": "bag"}],
        "slots": [{"id": "hero"}, {"id": "left"}, {"id": "right"}],
        "eventId": "event-2",
    },
    "personalizer_reward_slots": {"reward": [{"slotId": "left", "value": 1.0}]},
    "put_state": {
        "displays": 100,
        "counts": [{"item": "hat", "layout": "default", "position": "hero", "clicks": 7, "skips": 43}],
    },
    "put_state_lines": _LINES,
    "create_key": {"name": "web", "scopes": ["browser"], "pages": ["example"], "origins": ["https://shop.example"]},
    "rotate_key": {"overlap": 3600},
}

OF_KEY = "_of_key"  # the same calls without the page in the path: they need a key for one page
BODIES |= {f"{name}{OF_KEY}": body for name, body in BODIES.items() if name.startswith("personalizer_")}


def path_example(route: str, parameter: str) -> str:
    """An example of a parameter in the path of a route."""
    return _OTHER_PATHS.get(route.removesuffix(OF_KEY), PATH).get(parameter, PATH[parameter])
