"""What an error proposes when a log has other columns: one complete option, which then reads the log."""

import re
import shlex
from pathlib import Path

import pytest

import slotwise as sw
from slotwise.cli._log_options import _parse_columns
from slotwise.logs.missing_columns import propose_columns
from slotwise.logs.read_log import read_log
from slotwise.logs.schema import Schema
from tests.logs.plain_counting import cells, count
from tests.logs.test_read import PLAIN, write


@pytest.mark.parametrize(
    ("header", "option"),
    [
        ("page product slot click", "query=page,item=product,position=slot,clicked=click"),
        ("search ad rank clicks", "query=search,item=ad,position=rank,clicked=clicks"),
        ("search_term,doc_id,pos,is_click", "query=search_term,item=doc_id,position=pos,clicked=is_click"),
        ("day searchQuery productId adPosition wasClicked", None),
        ("query item slot clicked", "position=slot"),
        ("page_position page ad clicked", "query=page,item=ad,position=page_position"),
        ("a b c d", "query=COLUMN,item=COLUMN,position=COLUMN,clicked=COLUMN"),
        ("Suche,the ad,position,clicked", "query=COLUMN,item=the ad"),
    ],
)
def test_columns_are_guessed_by_their_names(header: str, option: str | None) -> None:
    columns = header.split(",") if "," in header else header.split()
    right = option or "query=searchQuery,item=productId,position=adPosition,clicked=wasClicked"
    _, proposed, *rest = shlex.split(propose_columns(columns, Schema()).partition(" (")[0])
    assert (proposed, rest) == (right, [])


def test_columns_that_are_already_right_stay_in_the_option() -> None:
    schema = Schema(query="page", item="produkt", shown="views")
    columns = ["page", "product", "slot", "click", "views"]
    assert propose_columns(columns, schema) == (
        "--columns query=page,item=product,position=slot,shown=views,clicked=click"
    )
    assert propose_columns(["page", "item", "position", "clicked", "views"], schema).endswith(
        " query=page,item=item,shown=views"
    )


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.ndjson", "a.parquet"])
@pytest.mark.parametrize("query", ["page", "search"])
def test_one_error_names_all_missing_columns_and_its_option_reads_the_log(
    tmp_path: Path, name: str, query: str
) -> None:
    path = str(write(tmp_path / name, PLAIN, names=(query, "product", "slot", "click")))
    with pytest.raises(sw.BadInput) as refused:
        read_log(path)
    message = str(refused.value)
    assert "'query', 'item', 'position', 'clicked'" in message
    (option,) = re.findall(r"--columns (query=[^\s;]+)", message)
    assert cells(read_log(path, schema=_parse_columns(option))) == count(PLAIN)


def test_a_missing_column_of_a_filter_needs_no_option(tmp_path: Path) -> None:
    for name in ("a.csv", "a.parquet"):
        with pytest.raises(sw.BadInput, match="has no column 'segment'") as refused:
            read_log(str(write(tmp_path / name, PLAIN)), where=["segment=mobile"])
        assert "--columns" not in str(refused.value)
