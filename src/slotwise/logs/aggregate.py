"""The counting, as Ibis expressions: the same on DuckDB and on Spark.

Lines become cells, (page, item, position) with the number of times shown and clicked. A line that is malformed is
never dropped: it goes into cells of its own, marked with the reason, and so is counted in the same pass.
"""

from collections.abc import Sequence

import ibis
import ibis.expr.types as ir

from slotwise.logs.bad import Bad
from slotwise.logs.filters import Filter
from slotwise.logs.schema import ONE_PAGE, Schema

MOST = 2**53  # up to here engines agree on whole numbers, however they are written


def marked(lines: ir.Table, schema: Schema, filters: Sequence[Filter] = (), also: Sequence[str] = ()) -> ir.Table:
    """Every line with its fields read, and the reason why it is not counted, if there is one; and `also` columns."""
    page = _name(lines["page"], schema) if schema.page else ibis.literal(ONE_PAGE)
    item = _name(lines["item"], schema)
    clicked = _whole(lines["clicked"], words=schema.shown is None)
    shown = _whole(lines["shown"]) if schema.shown else ibis.literal(1, "int64")
    reasons: list[tuple[ir.BooleanValue, Bad]] = [(lines["torn"], Bad.COLUMNS)]
    reasons += [(each.undated(lines), Bad.DATE) for each in filters if each.date]
    reasons += [(~each.passes(lines), Bad.LEFT_OUT) for each in filters]
    numbers = [clicked] + ([shown] if schema.shown else []) + ([page, item] if schema.whole_ids else [])
    reasons += [(_any([number.isnull() for number in numbers]), Bad.NUMBER)]
    reasons += [((clicked < 0) | (clicked > shown), Bad.CLICKS)]
    bad = _first(reasons)
    if filters:  # what is left out needs no cells of its own
        gone = bad.fill_null(0) == int(Bad.LEFT_OUT)
        page, item = ibis.ifelse(gone, ibis.null(page.type()), page), ibis.ifelse(gone, ibis.null(item.type()), item)
    place = _place(lines["position"], schema)
    return lines.select(*also, page=page, item=item, place=place, shown=shown, clicked=clicked, bad=bad)


def _place(position: ir.Value, schema: Schema) -> ir.Value:
    """The number of the position, from 1; its name where any name will do; null where there is no such position."""
    if schema.allowed is None:
        return _text(position)
    if schema.numbered:
        number = _whole(position)
        return ibis.ifelse(number.between(1, len(schema.allowed)), number, ibis.null("int64")).cast("int16")
    text = _text(position)
    return ibis.cases(*[(text == name, ibis.literal(k, "int16")) for k, name in enumerate(schema.allowed, 1)])


def cells(lines: ir.Table, schema: Schema) -> ir.Table:
    """The counts of each page, item and position, and of each reason for a line to be bad."""
    one_each = schema.sessions or schema.shown is None
    groups = lines.group_by(["page", "item", "place", "bad"])
    if one_each:
        return groups.agg(lines=lines.count(), clicked=lines.count(where=lines["clicked"] > 0))
    return groups.agg(lines=lines.count(), shown=_sum(lines["shown"]), clicked=_sum(lines["clicked"]))


def judged(table: ir.Table, schema: Schema) -> ir.Table:
    """Lines or cells with what is wrong with their names: looked at once for each cell, not for each line."""
    return table.mutate(bad=ibis.coalesce(table["bad"], _first(_wrong_names(table, schema))))


def _wrong_names(table: ir.Table, schema: Schema) -> list[tuple[ir.BooleanValue, Bad]]:
    texts = [table[name] for name in ("page", "item", "place") if table[name].type().is_string()]
    lost = [table["page"].isnull(), table["item"].isnull()] + [text == "" for text in texts]
    found = [(table["place"].isnull(), Bad.POSITION), (_any(lost), Bad.MISSING)]
    return found + ([(_any([text.contains("\ufffd") for text in texts]), Bad.ENCODING)] if texts else [])


def reasons(table: ir.Table) -> ir.Table:
    """How many lines are good, left out, or bad, by reason."""
    return table.group_by("bad").agg(lines=_sum(table["lines"]))


def chosen(table: ir.Table, schema: Schema) -> ir.Table:
    """The good cells of items shown at least `min_shown` times at every position, of pages with enough such items."""
    shown = "shown" if "shown" in table.columns else "lines"
    strong = table.filter(table["bad"].isnull(), table[shown] >= max(schema.min_shown, 1))
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
    seen = table.filter(table["bad"].isnull()).semi_join(strong, ["page"])
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
    return ibis.cases(*[(holds, ibis.literal(int(bad), "int8")) for holds, bad in reasons])


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
    """Pages and items: whole numbers stay numbers, which are cheaper to group by; all else is text."""
    if schema.whole_ids:
        return _whole(value)
    return value if value.type().is_integer() else _text(value)


def _whole(value: ir.Value, words: bool = False) -> ir.IntegerValue:
    """A whole number, or null. Read as a float first: casts of '1.5' to an integer round, each engine in its way."""
    kind = value.type()
    if kind.is_integer() or kind.is_boolean():
        return value.cast("int64")
    number = value if kind.is_floating() else value.try_cast("float64")
    whole = ibis.ifelse(number.between(-MOST, MOST) & (number == number.floor()), number, ibis.null("float64"))
    exact = whole.try_cast("int64")
    if words and kind.is_string():
        return ibis.cases((value.lower() == "false", 0), (value.lower() == "true", 1), else_=exact).cast("int64")
    return exact
