"""Files are saved completely or not at all, and other files are rejected in one line that names the path."""

import errno
import stat
import threading
from pathlib import Path
from typing import Any

import msgspec
import pytest

from slotwise.checks import BadInput
from slotwise.files import load_document, save_document, write_whole


class Note(msgspec.Struct):
    text: str
    numbers: list[float]


NOTE = Note("ünïcode", [0.1, 1e-300, 5.0])
DISK_FULL = OSError(errno.ENOSPC, "No space left on device")


def raiser(error: BaseException) -> Any:
    def fail(*_: object, **__: object) -> None:
        raise error

    return fail


def names_in(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def refusal(path: Path) -> str:
    with pytest.raises(BadInput) as caught:
        load_document(path, "note", 3, Note)
    message = str(caught.value)
    assert repr(str(path)) in message
    assert "\n" not in message
    return message


def test_what_was_saved_is_read_back_exactly(tmp_path: Path) -> None:
    save_document(tmp_path / "note.json", "note", 3, NOTE)
    assert load_document(tmp_path / "note.json", "note", 3, Note) == NOTE


def test_saving_replaces_the_old_file_and_leaves_nothing_else(tmp_path: Path) -> None:
    target = tmp_path / "note.json"
    write_whole(target, b"old " * 1000)
    write_whole(str(target), b"new")
    assert target.read_bytes() == b"new"
    assert names_in(tmp_path) == ["note.json"]


@pytest.mark.parametrize("step", ["write", "flush to the disk", "rename"])
@pytest.mark.parametrize("error", [DISK_FULL, KeyboardInterrupt()], ids=["disk full", "interrupted"])
def test_a_failed_save_leaves_the_old_file_intact(
    step: str, error: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "note.json"
    save_document(target, "note", 3, NOTE)
    before = target.read_bytes()
    with monkeypatch.context() as broken:
        if step == "write":
            broken.setattr(Path, "write_bytes", failing_writer(error))
        elif step == "flush to the disk":
            broken.setattr("slotwise.files.os.fsync", raiser(error))
        else:
            broken.setattr(Path, "replace", raiser(error))
        with pytest.raises(BadInput if error is DISK_FULL else KeyboardInterrupt) as caught:
            save_document(target, "note", 3, Note("other", []))
    if error is DISK_FULL:
        assert str(caught.value) == f"cannot write {str(target)!r}: No space left on device"
    assert target.read_bytes() == before
    assert names_in(tmp_path) == ["note.json"]


def failing_writer(error: BaseException) -> Any:
    """A Path.write_bytes that writes half of its argument, then fails."""
    real = Path.write_bytes

    def write_bytes(path: Path, content: bytes) -> int:
        real(path, content[: len(content) // 2])
        raise error

    return write_bytes


def test_a_reader_never_reads_a_partial_file(tmp_path: Path) -> None:
    target = tmp_path / "page.json"
    versions = [letter * 300_000 for letter in (b"a", b"b")]
    write_whole(target, versions[0])
    done = threading.Event()

    def write() -> None:
        for k in range(20):
            write_whole(target, versions[k % 2])
        done.set()

    writer = threading.Thread(target=write)
    writer.start()
    contents = []
    while not done.is_set():
        contents.append(target.read_bytes())
    writer.join()
    assert contents
    assert all(content in versions for content in contents)


def test_a_saved_file_has_the_permissions_of_an_ordinary_file(tmp_path: Path) -> None:
    (tmp_path / "ordinary").touch()
    write_whole(tmp_path / "saved", b"x")
    assert stat.S_IMODE((tmp_path / "saved").stat().st_mode) == stat.S_IMODE((tmp_path / "ordinary").stat().st_mode)


@pytest.mark.parametrize("name", ["no/such/folder/note.json", "plain/note.json"])
def test_saving_into_a_missing_folder_is_rejected(name: str, tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("a file, not a folder")
    with pytest.raises(BadInput) as caught:
        write_whole(tmp_path / name, b"x")
    assert str(tmp_path / name) in str(caught.value)
    assert "does not exist" in str(caught.value)


def test_saving_over_a_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(BadInput, match="cannot write"):
        write_whole(tmp_path / "folder", b"x")
    assert names_in(tmp_path) == ["folder"]


WHOLE = b'{"format":"slotwise-note","version":3,"body":{"text":"t","numbers":[1.5]}}\n'


def test_the_sample_that_the_next_tests_damage_is_valid(tmp_path: Path) -> None:
    (tmp_path / "good").write_bytes(WHOLE)
    assert load_document(tmp_path / "good", "note", 3, Note) == Note("t", [1.5])


@pytest.mark.parametrize(
    ("content", "says"),
    [
        pytest.param(b"", "is not a saved slotwise note, or is damaged", id="empty"),
        pytest.param(b"hello", "is not a saved slotwise note, or is damaged", id="text"),
        pytest.param(bytes(range(256)), "is not a saved slotwise note, or is damaged", id="binary"),
        pytest.param(b"\xff" + WHOLE, "is not a saved slotwise note, or is damaged", id="not UTF-8"),
        pytest.param(WHOLE * 2, "is not a saved slotwise note, or is damaged", id="two documents"),
        pytest.param(b"[1, 2]", "is not a saved slotwise note, or is damaged", id="a list"),
        pytest.param(b'{"a": 1}', "is not a saved slotwise note, or is damaged", id="foreign JSON"),
        pytest.param(b'{"format":"slotwise-note","version":3}', "`body`", id="no body"),
        pytest.param(WHOLE.replace(b"3", b'"three"'), "version", id="version is a word"),
        pytest.param(WHOLE.replace(b"-note", b"-result"), "is a 'slotwise-result' file; a 'slotwise-note'", id="kind"),
        pytest.param(WHOLE.replace(b":3", b":4"), "has version 4 of the note format", id="newer"),
        pytest.param(WHOLE.replace(b":3", b":2"), "this slotwise reads version 3", id="older"),
        pytest.param(WHOLE.replace(b"text", b"txet"), "is a damaged slotwise note", id="a field is missing"),
        pytest.param(WHOLE.replace(b"1.5", b'"x"'), "is a damaged slotwise note", id="a field is of the wrong type"),
    ],
)
def test_a_foreign_or_damaged_file_is_refused(content: bytes, says: str, tmp_path: Path) -> None:
    (tmp_path / "bad").write_bytes(content)
    assert says in refusal(tmp_path / "bad")


def test_a_file_cut_short_anywhere_is_refused(tmp_path: Path) -> None:
    for length in range(len(WHOLE) - 1):  # the last byte is the newline, which may go
        (tmp_path / "cut").write_bytes(WHOLE[:length])
        assert "damaged" in refusal(tmp_path / "cut")


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    assert "No such file" in refusal(tmp_path / "missing")
    assert "directory" in refusal(tmp_path).lower()
