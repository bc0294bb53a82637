"""Logs in every format give the counts of a plain loop over their lines."""

import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

import slotwise as sw
from slotwise.logs.line_filters import between, parse
from slotwise.logs.read_log import read_log
from tests.logs.plain_counting import NAMES, Row, cells, count, csv_text, write

PICK = random.Random(1)
ROWS: list[Row] = [
    (
        PICK.choice(["shoes", "été, 50 %", 'the "best"']),
        PICK.choice(["a", "b", "c"]),
        PICK.randint(1, 3),
        int(PICK.random() < 0.3),
    )
    for _ in range(500)
]
PLAIN = [row for row in ROWS if '"' not in row[0]]  # TSV has no quotes


@pytest.mark.parametrize(
    "name",
    ["a.csv", "a.tsv", "a.ndjson", "a.parquet", "a.csv.gz", "a.tsv.zst", "a.ndjson.gz", "a.ndjson.bz2", "a.csv.bz2"],
)
def test_every_format_gives_the_same_counts(tmp_path: Path, name: str) -> None:
    log = read_log(str(write(tmp_path / name, PLAIN)))
    assert cells(log) == count(PLAIN)
    assert (log.account.good, log.account.lines, log.account.notes()) == (len(PLAIN), len(PLAIN), [])


def test_quotes_commas_and_line_ends_of_csv(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"\xef\xbb\xbf" + csv_text(ROWS).replace("\n", "\r\n").encode())  # as spreadsheets save it
    assert cells(read_log(str(path))) == count(ROWS)


def test_a_clean_csv_may_have_line_ends_in_quotes(tmp_path: Path) -> None:
    rows: list[Row] = [("two\nlines", "a", 1, 0), ("one", "a", 1, 1)]
    (tmp_path / "a.csv").write_text(csv_text(rows))
    assert cells(read_log(str(tmp_path / "a.csv"))) == count(rows)


def test_many_files_and_globs(tmp_path: Path) -> None:
    for k in range(4):
        write(tmp_path / f"part {k} [x].csv", ROWS[k::4])  # names with glob characters
    assert cells(read_log(str(tmp_path / "part*.csv"))) == count(ROWS)
    assert cells(read_log([str(tmp_path / f"part {k} [x].csv") for k in range(4)])) == count(ROWS)


def test_lines_that_are_counted_already(tmp_path: Path) -> None:
    rows = [(*cell, shown, clicked) for cell, (shown, clicked) in count(ROWS).items()]
    header = ("query", "item", "position", "shown", "clicked")
    (tmp_path / "a.csv").write_text(csv_text(rows, header=header))
    assert cells(read_log(str(tmp_path / "a.csv"))) == count(ROWS)  # recognised by the column `shown`
    (tmp_path / "b.csv").write_text(csv_text(rows, header=("query", "item", "position", "n", "clicked")))
    assert cells(read_log(str(tmp_path / "b.csv"), schema={"shown": "n"})) == count(ROWS)


def test_columns_by_any_name_and_one_query_without_a_column(tmp_path: Path) -> None:
    header = ("'; DROP TABLE lines; --", 'the "ad"', "slot", "click")
    (tmp_path / "a.csv").write_text(csv_text(ROWS, header=header))
    names = dict(zip(("query", "item", "position", "clicked"), header, strict=True))
    assert cells(read_log(str(tmp_path / "a.csv"), schema=names)) == count(ROWS)
    log = read_log(str(tmp_path / "a.csv"), schema={**names, "query": None})
    assert cells(log) == count([("all", *row[1:]) for row in ROWS])


@pytest.mark.parametrize("name", ["a.csv", "a.ndjson", "a.parquet"])
def test_a_column_called_page_is_suggested_for_the_query(tmp_path: Path, name: str) -> None:
    path = str(write(tmp_path / name, PLAIN, names=("page", *NAMES[1:])))
    with pytest.raises(sw.BadInput) as refused:
        read_log(path)
    message = str(refused.value)
    assert "\n" not in message
    columns = "'page', 'item', 'position', 'clicked'"
    for named in (repr(path), "'query'", columns, "--columns query=page", "--format slotwise"):
        assert named in message
    assert cells(read_log(path, schema={"query": "page"})) == count(PLAIN)
    assert cells(read_log(path, schema={"query": None})) == count([("all", *row[1:]) for row in PLAIN])


def test_a_column_called_page_beside_the_query_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(csv_text([(*row, "home") for row in ROWS], header=(*NAMES, "page")))
    assert cells(read_log(str(tmp_path / "a.csv"))) == count(ROWS)
    by_page = read_log(str(tmp_path / "a.csv"), schema={"query": "page"}, where=["query!="])
    assert cells(by_page) == count([("home", *row[1:]) for row in ROWS])


def test_a_file_without_a_header_and_another_delimiter(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(csv_text(PLAIN, ";").split("\n", 1)[1])
    schema = {"names": ["query", "item", "position", "clicked"], "delimiter": ";"}
    assert cells(read_log(str(tmp_path / "a.csv"), schema=schema)) == count(PLAIN)


def test_positions_by_name_in_the_order_given(tmp_path: Path) -> None:
    rows = [("p", "a", "side", 1), ("p", "a", "hero", 0), ("p", "b", "hero", 1)]
    (tmp_path / "a.csv").write_text(csv_text(rows))
    (query,) = read_log(str(tmp_path / "a.csv"), schema={"positions": ["hero", "side"]}).queries
    assert query.positions == ["hero", "side"]
    assert query.counts.clicks.tolist() == [[0, 1], [1, 0]]
    assert query.counts.skips.tolist() == [[1, 0], [0, 0]]
    (query,) = read_log(str(tmp_path / "a.csv"), schema={"positions": ["*"]}).queries
    assert query.positions == ["hero", "side"]  # no order is declared: alphabetical
    with pytest.raises(sw.BadInput, match="--positions hero"):
        read_log(str(tmp_path / "a.csv"))


def test_positions_are_ordered_by_number_not_by_letters(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(csv_text([("p", "i", k, 0) for k in (10, 9, 2, 1)]))
    assert read_log(str(tmp_path / "a.csv")).queries[0].positions == ["1", "2", "9", "10"]


def test_clicks_as_words_and_numbers_as_floats(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("query,item,position,clicked\np,a,1,true\np,a,1,FALSE\np,a,2.0,1.0\np,a,2,0\n")
    assert cells(read_log(str(tmp_path / "a.csv"))) == {("p", "a", "1"): (2, 1), ("p", "a", "2"): (2, 1)}
    table = {"query": [1, 1], "item": ["a", "b"], "position": [1.0, 2.0], "clicked": [True, False]}
    parquet.write_table(pa.table(table), tmp_path / "a.parquet")
    assert cells(read_log(str(tmp_path / "a.parquet"))) == {("1", "a", "1"): (1, 1), ("1", "b", "2"): (1, 0)}


def test_filters(tmp_path: Path) -> None:
    rows = [
        (*row, ("mobile", "desktop")[k % 2], 1 + k % 3, f"2024-01-{1 + k % 28:02}{'T' if k % 2 else ' '}12:00:00")
        for k, row in enumerate(ROWS)
    ]
    (tmp_path / "a.csv").write_text(
        csv_text(rows, header=("query", "item", "position", "clicked", "segment", "depth", "day"))
    )

    def read(*filters: str, since: str | None = None, until: str | None = None):  # type: ignore[no-untyped-def]
        where = [parse(text) for text in filters] + between("day", since, until)
        return read_log(str(tmp_path / "a.csv"), where=where)

    def kept(test) -> object:  # type: ignore[no-untyped-def]
        return count([row[:4] for row in rows if test(row)])

    assert cells(read("segment=mobile")) == kept(lambda row: row[4] == "mobile")
    assert cells(read("segment!=mobile", "depth>=2")) == kept(lambda row: row[4] != "mobile" and row[5] >= 2)
    assert cells(read("position<=2")) == kept(lambda row: row[2] <= 2)  # a column that is read in any case
    assert cells(read("position=2")) == kept(lambda row: row[2] == 2)  # and may already be a number
    assert cells(read("position!=2")) == kept(lambda row: row[2] != 2)
    result = read(since="2024-01-05", until="2024-01-10")
    assert cells(result) == kept(lambda row: "2024-01-05" <= row[6] < "2024-01-10")
    assert result.account.left_out == len(rows) - result.account.good > 0
    with pytest.raises(sw.BadInput, match="of 500: 500 left out by filters"):
        read("segment=tablet")
    with pytest.raises(sw.BadInput, match="no column 'county'"):
        read("county=us")


def test_thresholds(tmp_path: Path) -> None:
    def lines(query: str, item: str, *shown: int) -> list[Row]:
        return [(query, item, k + 1, 0) for k, times in enumerate(shown) for _ in range(times)]

    rows = [*lines("p", "a", 5, 5), *lines("p", "b", 9, 4), *lines("p", "c", 5, 6), *lines("q", "a", 9, 9)]
    rows += lines("r", "a", 7) + lines("r", "b", 5)  # a query with one position
    path = str(write(tmp_path / "a.csv", rows))

    def kept(**schema: object) -> dict[str, list[str]]:
        return {query.name: query.items for query in read_log(path, schema=schema).queries}

    assert kept() == {"p": ["a", "b", "c"], "q": ["a"], "r": ["a", "b"]}
    assert kept(min_shown=5) == {
        "p": ["a", "c"],
        "q": ["a"],
        "r": ["a", "b"],
    }  # at all observed positions
    assert kept(min_shown=5, positions=["1", "2"]) == {"p": ["a", "c"], "q": ["a"]}  # at all declared positions
    assert kept(min_shown=5, min_items=2) == {"p": ["a", "c"], "r": ["a", "b"]}
    with pytest.raises(sw.BadInput, match=r"of 64 good lines.*4 or more items.*--min-items"):
        kept(min_items=4)


def test_the_busiest_queries(tmp_path: Path) -> None:
    path = str(write(tmp_path / "a.csv", [("p", "a", 1, 0)] * 3 + [("q", "a", 1, 0)] * 5 + [("r", "a", 1, 0)] * 4))
    assert [query.name for query in read_log(path).queries] == ["q", "r", "p"]
    assert [query.name for query in read_log(path, top=2).queries] == ["q", "r"]


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({"query": "item"}, "'item', 'item'"),
        ({"delimiter": ""}, "delimiter = "),
        ({"positions": ["a", "a"]}, "positions = "),
        ({"colour": "red"}, "unknown field of a log's schema 'colour'"),
        ({"min_items": 0}, "min_items = 0"),
        ({"min_shown": "many"}, "min_shown"),
        ({"kind": "excel"}, "unknown kind of log 'excel'"),
        ({"sessions": True}, "sessions = true .*shown"),
    ],
)
def test_a_wrong_schema_is_refused(tmp_path: Path, schema: dict[str, object], message: str) -> None:
    with pytest.raises(sw.BadInput, match=message):
        read_log(str(write(tmp_path / "a.csv", ROWS)), schema=schema)


def test_files_that_do_not_exist_or_have_no_known_format(tmp_path: Path) -> None:
    for files, message in [
        ("no.csv", "no file matches 'no.csv'"),
        ([], "no files given"),
        (str(tmp_path), "is a folder"),
        (str(write(tmp_path / "a.log", ROWS)), r"a\.log.*--format"),
        ([str(write(tmp_path / "a.csv", ROWS))] * 2, "named twice"),
    ]:
        with pytest.raises(sw.BadInput, match=message):
            read_log(files)
    write(tmp_path / "b.csv", ROWS)
    (tmp_path / "c.csv").write_text("item,query,position,clicked\na,b,1,0\n")
    with pytest.raises(sw.BadInput, match=r"c\.csv' has the columns"):
        read_log([str(tmp_path / "b.csv"), str(tmp_path / "c.csv")])
    for option, message in [
        ({"engine": "spork"}, "unknown engine"),
        ({"memory": "lots"}, "memory = 'lots'"),
        ({"master": "local"}, "--master .*--engine spark"),
    ]:
        with pytest.raises(sw.BadInput, match=message):
            read_log(str(tmp_path / "b.csv"), **option)
