"""Limits of names and sizes. The types validate requests and describe them in OpenAPI."""

from typing import Annotated

from msgspec import Meta

# in Python `$` also matches before a final newline; with the lookahead it means the same as in JSON Schema
Name = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=64,
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$(?!\n)",
        description="a letter or digit, then letters, digits, dots, dashes and underscores",
    ),
]
ItemName = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=128,
        pattern=r"^(?!\.{1,2}$)[^\x00-\x1f\x7f-\x9f/]+$(?!\n)",
        description="any text without control characters and slashes, but not . or ..",
    ),
]
Identifier = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=128,
        pattern=r"^[A-Za-z0-9._:~-]+$(?!\n)",
        description="letters, digits and . _ : ~ -",
    ),
]

MOST_POSITIONS = 50  # in one layout
MostPerCategory = Annotated[int, Meta(ge=1, le=MOST_POSITIONS)]  # items of one category in a display
MOST_LAYOUTS = 10
MOST_SEGMENTS = 50
MOST_ITEMS = 100_000  # on one page, without folded items
MOST_ITEMS_EVER = 500_000  # including folded items, because their names are in memory
MOST_COLUMNS = 2_000  # positions of all layouts that a page ever had, because their counts are kept
MOST_SEGMENTS_EVER = 200
MOST_COUNTS = 10_000_000  # items x segments x columns: 240 MB
MOST_NAMED = 2_000  # items that one recommendation may name
MOST_ROWS = 1_000  # in one batch of items
MOST_EVENTS = 500  # in one batch of events
