"""A large body that is decoded in pieces gives the same as one that is decoded at once."""

import json
import random
import threading
from pathlib import Path
from typing import Any

import msgspec
import pytest

from slotwise.service.api.state import MOST_CELLS, PageState
from slotwise.service.http import endpoint
from slotwise.service.http.bodies.large_body import PieceDecoder
from slotwise.service.http.validation import body_decoder
from tests.service.running_service import Client, run_scenario

NAMES = ["hat", "a}", "]", '"},{"', "}]", "x, y", "{", "\u00e9\\", '\\"}', "[1]"]


def random_state(rng: random.Random, size: int) -> dict[str, Any]:
    cells = [
        {
            "item": rng.choice(NAMES),
            "layout": "default",
            "position": "hero",
            "clicks": rng.randrange(5),
            "skips": rng.random(),
        }
        for _ in range(size)
    ]
    fields = [("counts", cells), ("displays", 7.5), ("format", "slotwise-state"), ("version", 1)]
    rng.shuffle(fields)
    return dict(fields)


@pytest.mark.parametrize("piece", [1, 50, 200, 1000, 100_000])
def test_pieces_give_the_same_body(piece: int) -> None:
    rng, decoder = random.Random(piece), PieceDecoder(PageState, "counts", piece)
    for size in [0, 1, 2, 3, 10, 57]:
        for indent in (None, 1):
            content = json.dumps(random_state(rng, size), indent=indent).encode()
            assert decoder.decode(content) == msgspec.json.decode(content, type=PageState)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b'{"displays": 1}',
        b'{"counts": [{"item": "a"}], "displays": 1}',
        b'{"counts": [{]}, "displays": 1}',
        b'{"counts": [1, 2, 3], "displays": 1}',
        b'{"counts": [] "displays": 1}',
        b'{"counts": [], "displays": 1',
        b'{"counts": [], "displays": 1, "counts": [{}]}',
        b'{"counts": [], "displays": 1, "more": 2}',
        b'{"counts": ' + b"[" * 10_000,
        b'{"displays": 1, "counts": ['
        + b",".join([b'{"item":"a","layout":"b","position":"c","clicks":0,"skips":0}'] * (MOST_CELLS + 1))
        + b"]}",
    ],
)
def test_an_invalid_body_is_left_to_the_decoder_of_the_whole(content: bytes) -> None:
    assert PieceDecoder(PageState, "counts").decode(content) is None


@pytest.mark.parametrize("wrong", [{"clicks": -1}, {"item": "unknown"}, {"skips": "many"}])
def test_the_event_loop_decodes_no_large_body_not_even_an_invalid_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wrong: dict[str, Any]
) -> None:
    """The error points to the cell, as it does for a small body."""
    threads: list[threading.Thread] = []

    def watched(*arguments: Any) -> Any:
        decode = body_decoder(*arguments)

        def record(content: bytes) -> Any:
            if len(content) > 100_000:
                threads.append(threading.current_thread())
            return decode(content)

        return record

    monkeypatch.setattr(endpoint, "body_decoder", watched)
    cell = {"item": "hat", "layout": "default", "position": "hero", "clicks": 1, "skips": 2}
    large = {"counts": [cell] * 2_000 + [cell | wrong], "displays": 7}

    async def scenario(client: Client) -> None:
        await client.page()
        refused = await client.http.put("/v1/pages/shop/state", json=large)
        (field,) = wrong
        assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (422, f"/counts/2000/{field}")
        assert threading.main_thread() not in threads

    run_scenario(tmp_path, scenario)
