"""The counting, as Ibis expressions: the same on DuckDB and on Spark.

Lines become cells, (page, item, position) with the number of times shown and clicked. Of a line only its clicks are
looked at; what is wrong with names is found out once for each cell. A line that is malformed is never dropped: it goes
into cells of its own, marked with the reason, and so is counted in the same pass.
"""

from collections.abc import Sequence

import ibis
import ibis.expr.types as ir

from slotwise.logs.filters import Filter
from slotwise.logs.line_status import Bad
from slotwise.logs.schema import ONE_PAGE, Schema

MOST = 2**53  # up to here engines agree on whole numbers, however they are written


def marked(lines: ir.Table, schema: Schema, filters: Sequence[Filter] = (), also: Sequence[str] = ()) -> ir.Table:
    """Every line with its clicks read, and the reason why it is not counted, if there is one; and `also` columns."""
    page = lines["page"] if schema.page else ibis.literal(ONE_PAGE)
    item, position = lines["item"], lines["position"]
    clicked, shown = _number(lines["clicked"], words=schema.shown is None), ibis.literal(1, "int64")
    usual, exact = (clicked == 0) | (clicked == 1), _exact(clicked)
    if schema.shown:
        shown = _number(lines["shown"])
        usual, exact = usual & (shown == 1), exact & _exact(shown)
    reasons: list[tuple[ir.BooleanValue, Bad]] = []
    if "torn" in lines.columns:
        reasons += [(lines["torn"], Bad.COLUMNS)]
    reasons += [(each.undated(lines), Bad.DATE) for each in filters if each.date]
    reasons += [(~each.passes(lines), Bad.LEFT_OUT) for each in filters]
    reasons += [(usual, Bad.NOTHING)]  # most lines are, and need no further question
    reasons += [(~exact.fill_null(False), Bad.NUMBER), ((clicked < 0) | (clicked > shown), Bad.CLICKS)]
    bad = _first(reasons)
    if filters:  # what is left out needs no cells of its own
        gone = bad == int(Bad.LEFT_OUT)
        page, item, position = (ibis.ifelse(gone, ibis.null(key.type()), key) for key in (page, item, position))
    return lines.select(*also, page=page, item=item, position=position, shown=shown, clicked=clicked, bad=bad)


def cells(lines: ir.Table, schema: Schema) -> ir.Table:
    """The counts of each page, item and position as they are written, and of each reason for a line to be bad."""
    groups = lines.group_by(["page", "item", "position", "bad"])
    if schema.sessions or schema.shown is None:
        return groups.agg(lines=lines.count(), clicked=lines.count(where=lines["clicked"] > 0))
    return groups.agg(lines=lines.count(), shown=_sum(lines["shown"]), clicked=_sum(lines["clicked"]))


def judged(table: ir.Table, schema: Schema) -> ir.Table:
    """Lines or cells with their names read, and what is wrong with these."""
    page, item = _name(table["page"], schema), _name(table["item"], schema)
    place = _place(table["position"], schema)
    read = table.mutate(page=page, item=item, place=place).drop("position")
    return read.mutate(bad=ibis.ifelse(read["bad"] != 0, read["bad"], _first(_wrong_names(read, schema))))


def merged(table: ir.Table) -> ir.Table:
    """Judged cells, those with the same names as one: 1 and 1.0 are two texts and one number."""
    keys = ["page", "item", "place", "bad"]
    sums = {name: _sum(table[name]) for name in table.columns if name not in keys}
    return table.group_by(keys).agg(**sums)


def as_text(cells: ir.Table, schema: Schema) -> bool:
    """Whether numbers among the names are still text."""
    return any(cells[name].type().is_string() for name in ("page", "item", "position") if name in schema.numbers)


def _wrong_names(table: ir.Table, schema: Schema) -> list[tuple[ir.BooleanValue, Bad]]:
    texts = [table[name] for name in ("page", "item", "place") if table[name].type().is_string()]
    lost = _any([table["page"].isnull(), table["item"].isnull()] + [text == "" for text in texts])
    found = [(lost, Bad.NUMBER)] if schema.whole_ids else []
    found += [(table["place"].isnull(), Bad.POSITION), (lost, Bad.MISSING)]
    return found + ([(_any([text.contains("\ufffd") for text in texts]), Bad.ENCODING)] if texts else [])


def _place(position: ir.Value, schema: Schema) -> ir.Value:
    """The number of the position, from 1; its name where any name will do; null where there is no such position."""
    if schema.allowed is None:
        return _text(position)
    if schema.numbered:
        number = _whole(position)
        return ibis.ifelse(number.between(1, len(schema.allowed)), number, ibis.null("int64")).cast("int16")
    text = _text(position)
    return ibis.cases(*[(text == name, ibis.literal(k, "int16")) for k, name in enumerate(schema.allowed, 1)])


def reasons(table: ir.Table) -> ir.Table:
    """How many lines are good, left out, or bad, by reason."""
    return table.group_by("bad").agg(lines=_sum(table["lines"]))


def chosen(table: ir.Table, schema: Schema) -> ir.Table:
    """The good cells of items shown at least `min_shown` times at every position, of pages with enough such items."""
    shown = "shown" if "shown" in table.columns else "lines"
    strong = table.filter(table["bad"] == 0, table[shown] >= max(schema.min_shown, 1))
    items = strong.group_by(["page", "item"]).agg(places=strong.count())
    if schema.min_shown > 0:
        items = _everywhere(items, strong, table, schema)
    pages = items.group_by("page").agg(items=items.count())
    pages = pages.filter(pages["items"] >= schema.min_items)
    kept = strong.semi_join(items, ["page", "item"]).semi_join(pages, ["page"])
    return kept.select(
        page=kept["page"].cast("string"),
        item=kept["item"].cast("string"),
        position=_position(kept["place"], schema),
        shown=kept[shown],
        clicked=kept["clicked"],
    )


def _everywhere(items: ir.Table, strong: ir.Table, table: ir.Table, schema: Schema) -> ir.Table:
    """The items that are strong at every position: at those declared, or at all where their page was ever shown."""
    if schema.positions is not None and schema.allowed is not None:
        return items.filter(items["places"] == len(schema.allowed))
    seen = table.filter(table["bad"] == 0).semi_join(strong, ["page"])
    every = seen.group_by("page").agg(every=seen["place"].nunique())
    joined = items.join(every, "page")
    return joined.filter(joined["places"] == joined["every"])


def _position(place: ir.Value, schema: Schema) -> ir.StringValue:
    """The name of a position from its number."""
    if schema.numbered or schema.allowed is None:
        return place.cast("string")
    return ibis.cases(*[(place == k, name) for k, name in enumerate(schema.allowed, 1)])


def _sum(value: ir.IntegerColumn) -> ir.IntegerScalar:
    return value.sum().cast("int64")  # engines differ in how wide a sum is


def _first(reasons: Sequence[tuple[ir.BooleanValue, Bad]]) -> ir.IntegerValue:
    """The first reason that applies, as a small number: cheaper to group by than a text."""
    codes = [(holds, ibis.literal(int(bad), "int16")) for holds, bad in reasons]
    return ibis.cases(*codes, else_=ibis.literal(int(Bad.NOTHING), "int16")).cast("int8")


def _any(conditions: Sequence[ir.BooleanValue]) -> ir.BooleanValue:
    found = conditions[0]
    for condition in conditions[1:]:
        found |= condition
    return found


def _text(value: ir.Value) -> ir.StringValue:
    if value.type().is_floating():  # 1.0, where a missing value made a column of numbers into one of floats
        value = _whole(value)
    return value if value.type().is_string() else value.cast("string")


def _name(value: ir.Value, schema: Schema) -> ir.Value:
    """Pages and items: whole numbers as numbers, all else as text."""
    return _whole(value) if schema.whole_ids or value.type().is_integer() else _text(value)


def _whole(value: ir.Value) -> ir.IntegerValue:
    """A whole number, or null."""
    number = _number(value)
    if number.type().is_integer():
        return number
    return ibis.ifelse(_exact(number), number.try_cast("int64"), ibis.null("int64"))


def _number(value: ir.Value, words: bool = False) -> ir.NumericValue:
    """A number, whole or not: a cast of '1.5' to an integer would round, in each engine in its way."""
    kind = value.type()
    if kind.is_integer() or kind.is_boolean():
        return value.cast("int64")
    if words and kind.is_string():
        value = ibis.cases((value.lower() == "false", "0"), (value.lower() == "true", "1"), else_=value)
    return value if kind.is_floating() else value.try_cast("float64")


def _exact(number: ir.NumericValue) -> ir.BooleanValue:
    """Whether a number is whole, and small enough for engines to agree on it."""
    if number.type().is_integer():
        return number.notnull()
    return (number.try_cast("int64").cast("float64") == number) & number.between(-MOST, MOST)
