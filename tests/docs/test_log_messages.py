"""The table "What if" of the page about logs quotes the messages as they are."""

import gzip
import re
from pathlib import Path

import pytest

import slotwise as sw
from slotwise.logs.read_log import read_log
from tests.logs.test_file_content import png

PAGE = Path(__file__).parent.parent.parent / "docs" / "logs.md"
HEADER = "query,item,position,clicked\n"
LOGS: dict[str, str | bytes] = {  # a log for each message
    "positions are probably numbered from 0": HEADER + "p,i,0,0\np,i,1,0\n",
    "0 is not a position": HEADER + "p,i,0,0\n" + "p,i,1,0\n" * 9,
    "the positions must be numbers from 1: 'hero' in ...": HEADER + "p,i,hero,0\n",
    "positions go up to 30": HEADER + "p,i,30,0\n",
    "has no columns 'query', ...; its first line is 'query;item;...'": HEADER.replace(",", ";") + "p;i;1;0\n",
    "has no columns 'query', ...; its first line is 'hats,felt,1,0'": "hats,felt,1,0\n",
    "has no columns 'query', 'item'; its first line is 'search,ad,...'": "search,ad,position,clicked\np,i,1,0\n",
    "has no column 'query'; its columns are 'page', ...": HEADER.replace("query", "page") + "p,i,1,0\n",
    "'clicked' is 'no' in line 2": HEADER + "p,i,1,no\n",
    "'clicked' is '7' in line 2": HEADER + "p,i,1,7\n",
    "line 2 has 5 columns separated by ',', and the header has 4": HEADER + "p,i,j,1,0\n",
    "it is cut off, or not a line of the log": HEADER + "# the end\n" + "p,i,1,0\n" * 9,
    "is a JSON array": "[]",
    "is probably Windows-1252 text": (HEADER + "café,i,1,0\n").encode("latin-1"),
    "is UTF-16 text": HEADER.encode("utf-16"),
    "is compressed, and its name does not say so": gzip.compress(HEADER.encode()),
    "is a Parquet file": b"PAR1",
    "is a PNG image": png(),
    "is a binary file": bytes(99),
    "is a ZIP archive or an Excel workbook": b"PK\x03\x04\x14\0",
}


def quoted_messages() -> list[str]:
    """What the first column of the table quotes."""
    table = PAGE.read_text().partition("### What if\n")[2].partition("\n## ")[0]
    rows = [line for line in table.splitlines() if line.startswith("| `")]
    return [message for row in rows for message in re.findall(r"`([^`]+)`", row.split(" | ")[0])]


def test_every_message_of_the_table_is_tried() -> None:
    assert sorted(quoted_messages()) == sorted(LOGS)


@pytest.mark.parametrize("message", LOGS)
def test_a_message_is_as_documented(tmp_path: Path, message: str) -> None:
    content = LOGS[message]
    path = tmp_path / ("a.json" if "JSON" in message else "a.csv")
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(sw.BadInput, match=re.escape(message).replace(r"\.\.\.", ".*")):
        read_log(str(path))
