"""Count logs with Ibis expressions that run unchanged on DuckDB and on Spark.

A cell is a query, an item and a position with the number of displays and clicks. Lines are grouped into cells. Only the
clicks are parsed line by line; names are parsed and validated once per cell. A malformed line is not dropped. It goes
into a cell with a status, so that the same pass counts it.
"""

from collections.abc import Sequence

import ibis
import ibis.expr.types as ir

from slotwise.logs.line_filters import Filter
from slotwise.logs.line_status import LineStatus
from slotwise.logs.schema import SINGLE_QUERY, Schema

MAX_EXACT = 2**53  # up to this number, all engines agree on whole numbers, even if they are written as floats


def parse_clicks(
    lines: ir.Table, schema: Schema, filters: Sequence[Filter] = (), extra: Sequence[str] = ()
) -> ir.Table:
    """Every line with its clicks as numbers, its `status`, and the columns in `extra`."""
    query = lines["query"] if schema.query else ibis.literal(SINGLE_QUERY)
    item, position = lines["item"], lines["position"]
    clicked, shown = _number(lines["clicked"], accept_booleans=schema.shown is None), ibis.literal(1, "int64")
    usual, exact = (clicked == 0) | (clicked == 1), _is_exact_integer(clicked)
    if schema.shown:
        shown = _number(lines["shown"])
        usual, exact = usual & (shown == 1), exact & _is_exact_integer(shown)
    conditions: list[tuple[ir.BooleanValue, LineStatus]] = []
    if "wrong_columns" in lines.columns:
        conditions += [(lines["wrong_columns"], LineStatus.BAD_COLUMNS)]
    conditions += [(filter.lacks_date(lines), LineStatus.BAD_DATE) for filter in filters if filter.date]
    conditions += [(~filter.passes(lines), LineStatus.FILTERED_OUT) for filter in filters]
    conditions += [(usual, LineStatus.COUNTED)]  # true for most lines, so they need no further test
    conditions += [(~exact.fill_null(False), LineStatus.BAD_NUMBER)]
    conditions += [((clicked < 0) | (clicked > shown), LineStatus.BAD_CLICKS)]
    status = _first_status(conditions)
    if filters:  # all lines that are filtered out share one cell
        out = status == int(LineStatus.FILTERED_OUT)
        query, item, position = (ibis.ifelse(out, ibis.null(key.type()), key) for key in (query, item, position))
    return lines.select(*extra, query=query, item=item, position=position, shown=shown, clicked=clicked, status=status)


def count_cells(lines: ir.Table, schema: Schema) -> ir.Table:
    """The counts of each query, item, position and status. Names stay as they are written in the log."""
    groups = lines.group_by(["query", "item", "position", "status"])
    if schema.sessions or schema.shown is None:
        return groups.agg(lines=lines.count(), clicked=lines.count(where=lines["clicked"] > 0))
    return groups.agg(lines=lines.count(), shown=whole_sum(lines["shown"]), clicked=whole_sum(lines["clicked"]))


def parse_names(table: ir.Table, schema: Schema) -> ir.Table:
    """Parse the query, item and position of lines or cells. If one of them is invalid, the status says so.

    If positions are numbered, a parsed position is the number in the log. If the names of the positions are declared,
    it is the number of the name in the declared list, from 1. If any name is allowed, it is the name itself. An unknown
    position becomes null.
    """
    query, item = _name(table["query"], schema), _name(table["item"], schema)
    parsed = table.mutate(query=query, item=item, position=_parse_position(table["position"], schema))
    status = parsed["status"]
    return parsed.mutate(status=ibis.ifelse(status != 0, status, _first_status(_invalid_names(parsed, schema))))


def require_values(table: ir.Table, columns: Sequence[str]) -> ir.Table:
    """Lines without a value in one of these columns get the status of a missing name."""
    incomplete = _any([table[column].isnull() for column in columns]) & (table["status"] == 0)
    return table.mutate(status=ibis.ifelse(incomplete, int(LineStatus.MISSING_NAME), table["status"]))


def parse_cells(cells: ir.Table, schema: Schema) -> ir.Table:
    """Parse the names of cells and merge cells with equal names. For example, 1 and 1.0 are the same number."""
    parsed = parse_names(cells, schema)
    return _merge_cells(parsed) if _has_numbers_as_text(cells, schema) else parsed


def _merge_cells(cells: ir.Table) -> ir.Table:
    keys = ["query", "item", "position", "status"]
    sums = {name: whole_sum(cells[name]) for name in cells.columns if name not in keys}
    return cells.group_by(keys).agg(**sums)


def _has_numbers_as_text(cells: ir.Table, schema: Schema) -> bool:
    """Whether any query, item or position that must be a number is still text."""
    return any(cells[name].type().is_string() for name in ("query", "item", "position") if name in schema.number_fields)


def _invalid_names(table: ir.Table, schema: Schema) -> list[tuple[ir.BooleanValue, LineStatus]]:
    texts = [table[name] for name in ("query", "item", "position") if table[name].type().is_string()]
    missing = _any([table["query"].isnull(), table["item"].isnull()] + [text == "" for text in texts])
    conditions = [(missing, LineStatus.BAD_NUMBER)] if schema.whole_ids else []
    conditions += [(table["position"].isnull(), LineStatus.BAD_POSITION), (missing, LineStatus.MISSING_NAME)]
    if texts:
        conditions += [(_any([text.contains("\ufffd") for text in texts]), LineStatus.BAD_ENCODING)]
    return conditions


def _parse_position(position: ir.Value, schema: Schema) -> ir.Value:
    allowed = schema.allowed_positions
    if allowed is None:
        return _text(position)
    if schema.numbered_positions:
        number = _whole_number(position)
        known = number.between(int(allowed[0]), int(allowed[-1]))
        return ibis.ifelse(known, number, ibis.null("int64")).cast("int16")
    text = _text(position)
    return ibis.cases(*[(text == name, ibis.literal(k, "int16")) for k, name in enumerate(allowed, 1)])


def lines_by_position(cells: ir.Table, most: int) -> ir.Table:
    """The number of lines with each position, as written in the log. Only the `most` most frequent ones are listed."""
    counted = cells.filter(cells["status"] == int(LineStatus.COUNTED))
    groups = counted.group_by(position=_text(counted["position"])).agg(lines=whole_sum(counted["lines"]))
    return groups.order_by([groups["lines"].desc(), groups["position"]]).limit(most)


def lines_by_status(cells: ir.Table) -> ir.Table:
    """The number of lines with each status."""
    return cells.group_by("status").agg(lines=whole_sum(cells["lines"]))


def select_cells(cells: ir.Table, schema: Schema) -> ir.Table:
    """The good cells of frequent items, in queries with at least `min_items` such items.

    An item is frequent if it was shown at least `min_shown` times at every position.
    """
    shown = "shown" if "shown" in cells.columns else "lines"
    frequent = cells.filter(cells["status"] == 0, cells[shown] >= max(schema.min_shown, 1))
    items = frequent.group_by(["query", "item"]).agg(positions=frequent.count())
    if schema.min_shown > 0:
        items = _at_every_position(items, frequent, cells, schema)
    queries = items.group_by("query").agg(items=items.count())
    queries = queries.filter(queries["items"] >= schema.min_items)
    selected = frequent.semi_join(items, ["query", "item"]).semi_join(queries, ["query"])
    return selected.select(
        query=selected["query"].cast("string"),
        item=selected["item"].cast("string"),
        position=_position_name(selected["position"], schema),
        shown=selected[shown],
        clicked=selected["clicked"],
    )


def _at_every_position(items: ir.Table, frequent: ir.Table, cells: ir.Table, schema: Schema) -> ir.Table:
    """The items that have a frequent cell at every position.

    If positions are declared, these positions count. Otherwise all positions that were observed for the query count.
    """
    if schema.positions is not None and schema.allowed_positions is not None:
        return items.filter(items["positions"] == len(schema.allowed_positions))
    observed = cells.filter(cells["status"] == 0).semi_join(frequent, ["query"])
    per_query = observed.group_by("query").agg(observed=observed["position"].nunique())
    joined = items.join(per_query, "query")
    return joined.filter(joined["positions"] == joined["observed"])


def _position_name(position: ir.Value, schema: Schema) -> ir.StringValue:
    """The name of a parsed position."""
    if schema.numbered_positions or schema.allowed_positions is None:
        return position.cast("string")
    return ibis.cases(*[(position == k, name) for k, name in enumerate(schema.allowed_positions, 1)])


def whole_sum(value: ir.IntegerColumn) -> ir.IntegerScalar:
    """The sum of whole numbers as 64 bits, because engines give sums different widths."""
    return value.sum().cast("int64")


def _first_status(conditions: Sequence[tuple[ir.BooleanValue, LineStatus]]) -> ir.IntegerValue:
    """The status of the first condition that holds. It is a small integer, because grouping by text is slower."""
    codes = [(holds, ibis.literal(int(status), "int16")) for holds, status in conditions]
    return ibis.cases(*codes, else_=ibis.literal(int(LineStatus.COUNTED), "int16")).cast("int8")


def _any(conditions: Sequence[ir.BooleanValue]) -> ir.BooleanValue:
    combined = conditions[0]
    for condition in conditions[1:]:
        combined |= condition
    return combined


def _text(value: ir.Value) -> ir.StringValue:
    if value.type().is_floating():  # a missing value turns a column of integers into floats: 1.0
        value = _whole_number(value)
    return value if value.type().is_string() else value.cast("string")


def _name(value: ir.Value, schema: Schema) -> ir.Value:
    """The name of a query or item. A whole number becomes an integer, and everything else stays text."""
    return _whole_number(value) if schema.whole_ids or value.type().is_integer() else _text(value)


def _whole_number(value: ir.Value) -> ir.IntegerValue:
    """A whole number, or null."""
    number = _number(value)
    if number.type().is_integer():
        return number
    return ibis.ifelse(_is_exact_integer(number), number.try_cast("int64"), ibis.null("int64"))


def _number(value: ir.Value, accept_booleans: bool = False) -> ir.NumericValue:
    """A number, whole or not. Casting '1.5' to an integer would round, and each engine rounds differently."""
    kind = value.type()
    if kind.is_integer() or kind.is_boolean():
        return value.cast("int64")
    if accept_booleans and kind.is_string():
        value = ibis.cases((value.lower() == "false", "0"), (value.lower() == "true", "1"), else_=value)
    return value if kind.is_floating() else value.try_cast("float64")


def _is_exact_integer(number: ir.NumericValue) -> ir.BooleanValue:
    """Whether a number is whole and so small that all engines represent it exactly."""
    if number.type().is_integer():
        return number.notnull()
    return (number.try_cast("int64").cast("float64") == number) & number.between(-MAX_EXACT, MAX_EXACT)
