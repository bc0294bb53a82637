"""Large responses are encoded in pieces. The result is the same as that of one call of the encoder."""

import msgspec
import pytest

from slotwise.service.api.pages import PageList
from slotwise.service.api.state import PageState, StateCell
from slotwise.service.http.encoding import PIECE, LargeContent, encode, encode_in_pieces


def encode_large(content: LargeContent) -> bytes:
    return b"".join(encode_in_pieces(content))


@pytest.mark.parametrize("length", [0, 1, PIECE, PIECE + 1, 3 * PIECE + 7])
def test_pieces_make_the_same_json(length: int) -> None:
    cells = [StateCell(f'item "{k}"', "default", "hero", float(k), 0.5) for k in range(length)]
    state = PageState(cells, 7.0)
    assert msgspec.json.decode(encode_large(state), type=PageState) == state
    assert encode_large(lambda: state) == encode_large(state) == encode(state)
    assert encode_large(PageList(["a"] * length)) == encode(PageList(["a"] * length))
