"""A request for a display. It is the body of the HTTP call and the argument of a page model."""

from typing import Annotated

from msgspec import Meta, Struct

from slotwise.service.pages.limits import MOST_NAMED, MOST_POSITIONS, Identifier, ItemName, MostPerCategory, Name

Unit = Annotated[str, Meta(min_length=1, max_length=128, description="any text, such as a visitor id")]
ItemNames = Annotated[list[ItemName], Meta(max_length=MOST_NAMED)]


class RecommendationRequest(Struct, forbid_unknown_fields=True):
    """The constraints on a display: `excluded` overrides `pinned`, which overrides `eligible` and `most_per_category`.

    The same id always gives the same display. A `unit` is a visitor, a session or anything else that always gets the
    same variant. It is hashed and not stored.
    """

    id: Identifier | None = None
    layout: Name | None = None
    segment: Name | None = None
    eligible: ItemNames | None = None
    excluded: ItemNames = []
    pinned: Annotated[dict[Name, ItemName], Meta(max_length=MOST_POSITIONS)] = {}
    most_per_category: MostPerCategory | None = None
    unit: Unit | None = None
