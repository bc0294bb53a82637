"""The log of KDD Cup 2012, track 2, as the paper uses it.

The competition's `training.txt` has 149,639,105 lines in 9.9 GB and no header; its fields are whole numbers separated
by tabs. A line is one session: the clicks and impressions of one ad at one position, for one query of one user. The
paper treats a session as one display, which is clicked if `Click` is above zero. It drops an ad if it was shown fewer
than 1,000 times at any of the three positions. Then it keeps the queries with at least five remaining ads. These are
eight queries with 5 to 11 ads.
"""

from slotwise.logs.schema import Schema

LINES = 149_639_105
NAMES = (
    "Click",
    "Impression",
    "DisplayURL",
    "AdID",
    "AdvertiserID",
    "Depth",
    "Position",
    "QueryID",
    "KeywordID",
    "TitleID",
    "DescriptionID",
    "UserID",
)
SCHEMA = Schema(
    query="QueryID",
    item="AdID",
    position="Position",
    shown="Impression",
    clicked="Click",
    sessions=True,
    whole_ids=True,
    positions=("1", "2", "3"),
    delimiter="\t",
    quote="",
    names=NAMES,
    min_shown=1_000,
    min_items=5,
)
