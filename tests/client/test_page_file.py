"""Pages as TOML files."""

from pathlib import Path

import pytest

from slotwise.checks import BadInput
from slotwise.client.page_file import PageFile, read_page
from slotwise.client.sample import SHOP
from slotwise.service.pages.page_definition import ItemPrior, ItemSpec

GOOD = """
page = "shop"
holdout = 0.1
most_per_category = 2
features = { material = ["silk", "wool"], price = "number" }
[layouts]
desktop = ["hero", "left"]
mobile = ["first"]
[items]
"straw hat" = {}
tie = { state = "paused", prior = { clicks = 1, views = 10 }, valid_until = 2026-12-24T18:00:00Z }
coat = { value = 2.5, category = "coats", features = { material = "wool", price = 80 } }
[pins.mobile]
first = "straw hat"
"""


COAT: dict[str, float | str] = {"material": "wool", "price": 80.0}


def written(folder: Path, text: str) -> Path:
    path = folder / "page.toml"
    path.write_text(text)
    return path


def test_a_file_is_read(tmp_path: Path) -> None:
    file = read_page(written(tmp_path, GOOD))
    assert (file.page, file.spec.holdout, list(file.items)) == ("shop", 0.1, ["straw hat", "tie", "coat"])
    assert (file.spec.most_per_category, file.items["coat"]) == (
        2,
        ItemSpec(value=2.5, category="coats", features=COAT),
    )
    assert file.spec.all_layouts() == {"desktop": ["hero", "left"], "mobile": ["first"]}
    assert file.items["tie"] == ItemSpec("paused", ItemPrior(1, 10), None, 1798135200.0)
    assert file.pins == {"mobile": {"first": "straw hat"}}


def test_a_page_with_one_layout_does_not_name_it(tmp_path: Path) -> None:
    text = 'page = "shop"\npositions = ["hero"]\nitems = { hat = {} }\npins = { hero = "hat" }'
    assert read_page(written(tmp_path, text)).pins == {"default": {"hero": "hat"}}


def test_pins_may_have_times(tmp_path: Path) -> None:
    text = """page = "shop"
positions = ["hero", "left"]
items = { hat = {} }
[pins]
hero = { item = "hat", until = 2026-12-24T18:00:00Z }
left = { item = "hat", from = 2026-12-24T18:00:00Z }
"""
    christmas = 1798135200.0
    pins = {"hero": {"item": "hat", "until": christmas}, "left": {"item": "hat", "from": christmas}}
    assert read_page(written(tmp_path, text)).pins == {"default": pins}
    always = text.replace('left = { item = "hat", from = 2026-12-24T18:00:00Z }', "").replace(", until", "# ")
    assert read_page(written(tmp_path, always.replace("# ", " } # "))).pins == {"default": {"hero": "hat"}}
    for wrong, message in (
        (text.replace("18:00:00Z }\nleft", "18:00:01Z }\nleft"), "pins.left: item 'hat' is pinned at two positions"),
        (text.replace("from = 2026-12-24T18:00:00Z", "from = 2026-12-24"), "pins.left.from: .* is not a time"),
        (text.replace("from =", "until = 5, from ="), "pins.left.until: 5 is not after from"),
        (text.replace("from =", "start ="), "pins.left.*start"),
    ):
        with pytest.raises(BadInput, match=message):
            read_page(written(tmp_path, wrong))


def test_the_sample_is_a_valid_page() -> None:
    file = read_page(SHOP)
    assert isinstance(file, PageFile)
    assert len(file.items) > len(file.spec.positions or []) > 1


BAD = [
    ("page = shop", "is not TOML: Invalid value (at line 1, column 8)"),
    ('page = "a"\n[items]\nstraw hat = {}', 'needs quotes: "straw hat" = ...'),
    ('page = "a"\n[items]\nzen & co = {}', 'needs quotes: "zen & co" = ...'),
    ('page = "a"\npage = "b"\n', "(at line 2, column 11)"),
    ('positions = ["hero"]', 'page: the name of the page is missing, such as page = "shop"'),
    ('page = "a b"\npositions = ["hero"]', "page: this name is not allowed; needed: a letter or digit, then letters, "),
    ('page = "a"\nlayouts = { "m n" = ["x"] }', "layouts: this name is not allowed; needed: a letter or digit, then "),
    ('page = "a"', 'positions is missing; it must come before [items], such as positions = ["hero", "left"]'),
    ('page = "a"\n[items]\nhat = {}\npositions = ["x"]', "positions is missing; it must come before [items]"),
    (
        'page = "a"\npositions = ["x"]\nlayouts = { m = ["x"] }',
        "positions: either positions or layouts are needed, and ",
    ),
    ('page = "a"\npositions = ["x", "x"]', "positions: position 'x' is given twice"),
    ('page = "a"\npositions = ["x"]\nholdout = 2', "holdout: Expected `float` <= 1.0"),
    ('page = "a"\npositions = ["x"]\nxyz = 2', "Object contains unknown field `xyz`; known: click_window, count, "),
    ('page = "a"\nposition = ["x"]', "Object contains unknown field `position`; did you mean `positions`?"),
    ('page = "a"\npositions = ["x"]\n[item]\nhat = {}', "Object contains unknown field `item`; did you mean `items`?"),
    ('page = "a"\npositions = ["x"]\nmode = "lern"', "mode: Invalid enum value 'lern'; allowed: learn, off, shadow"),
    ('page = "a"\npositions = [3]', "positions[0]: Expected `str`, got `int`"),
    ('page = "a"\npositions = ["x"]\npolicy = "oracle"', "policy: policy oracle cannot serve a page; those that can: "),
    (
        'page = "a"\npositions = ["x"]\nitems = ["hat"]',
        'a table is needed: [items], and below it a line for each, such as "',
    ),
    ('page = "a"\npositions = ["x"]\n[items]\nhat = 3', 'items.hat: a table is needed: {}, or { state = "paused" }'),
    ('page = "a"\npositions = ["x"]\n[items]\n"a/b" = {}', "items: the name 'a/b': "),
    ('page = "a"\npositions = ["x"]\n[items]\nhat = { state = "gone" }', "'gone'; allowed: active, paused, retired"),
    (
        'page = "a"\npositions = ["x"]\n[items.hat.prior]\nclicks = 3\nviews = 1',
        "items.hat.prior.clicks: 3 clicks are more than 1 views",
    ),
    (
        'page = "a"\npositions = ["x"]\n[items]\nhat = { valid_from = 2026-12-24T18:00:00 }',
        "items.hat.valid_from: 2026-12-24 18:00:00 is not a time with its time zone",
    ),
    (
        'page = "a"\npositions = ["x"]\nfeatures = { m = ["silk"] }\n[items]\nhat = { features = { m = "wool" } }',
        "items.hat.features.m: unknown value of m 'wool'; known: silk",
    ),
    ('page = "a"\npositions = ["x"]\n[pins]\ny = "hat"', "pins.y: unknown position; known: x"),
    ('page = "a"\npositions = ["x"]\n[pins]\nx = "hat"', "pins.x: 'hat' is not among the items of the file"),
    ('page = "a"\n[layouts]\nm = ["x"]\n[pins.d]\nx = "hat"', "pins.d: unknown layout 'd'; known: m"),
    (
        'page = "a"\npositions = ["x", "y"]\nitems = { hat = {} }\npins = { x = "hat", y = "hat" }',
        "pins.y: item 'hat' is pinned at two positions",
    ),
]


@pytest.mark.parametrize(("text", "line"), BAD, ids=lambda value: str(value)[:50])
def test_errors_name_the_line_or_the_field(tmp_path: Path, text: str, line: str) -> None:
    with pytest.raises(BadInput) as refused:
        read_page(written(tmp_path, text))
    assert str(tmp_path / "page.toml") in str(refused.value)
    assert line in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="No such file"):
        read_page(tmp_path / "nowhere.toml")
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(BadInput, match="is not TOML"):
        read_page(tmp_path / "bytes.toml")
