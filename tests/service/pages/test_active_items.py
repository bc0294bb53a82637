"""Which items may be shown, compared with `ItemSpec.is_active` of each item."""

import random

import pytest

from slotwise.service.pages.active_items import ActiveItems
from slotwise.service.pages.page_definition import ItemSpec

TIMES = [None, 10.0, 20.0, 30.0]


def random_spec(rng: random.Random) -> ItemSpec:
    return ItemSpec(
        rng.choice(["active", "active", "paused", "retired"]),
        valid_from=rng.choice(TIMES),
        valid_until=rng.choice(TIMES),
    )


@pytest.mark.parametrize("have_validity", [True, False])
def test_the_arrays_agree_with_the_definitions_at_any_time(have_validity: bool) -> None:
    """The clock goes forwards and backwards, and items are added and changed."""
    rng = random.Random(3)
    specs = [random_spec(rng) if have_validity else ItemSpec() for _ in range(40)]
    active = ActiveItems(specs)
    for step in range(300):
        now = rng.choice([0.0, 9.9, 10.0, 15.0, 20.0, 29.9, 30.0, 50.0])
        assert active.at(now).tolist() == [spec.is_active(now) for spec in specs]
        if step % 3 == 0:
            changed = {rng.randrange(len(specs)): random_spec(rng) for _ in range(3)}
            if step % 6 == 0:
                changed[len(specs)] = random_spec(rng)
                specs.append(changed[len(specs)])
            before = active.at(now)
            copied = before.copy()
            for number, spec in changed.items():
                specs[number] = spec
            active.change(changed.items(), len(specs))
            assert (before == copied).all(), "a background thread may still read the earlier result"
