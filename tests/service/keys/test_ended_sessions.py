"""The list of sessions that people have ended."""

from slotwise.service.keys.ended_sessions import MOST_OF_KEY, EndedSession, has_ended, index_of, with_ended
from slotwise.service.keys.session import Session


def test_only_the_session_itself_ends() -> None:
    index = index_of(with_ended([], Session("anna", "a", 100.0), 0.0))
    assert has_ended(index, Session("anna", "a", 100.0))
    assert not has_ended(index, Session("anna", "b", 90.0))
    assert not has_ended(index, Session("bert", "a", 100.0))


def test_entries_of_expired_sessions_are_removed() -> None:
    known = with_ended([], Session("anna", "a", 100.0), 0.0)
    assert with_ended(known, Session("anna", "b", 150.0), 100.0) == [EndedSession("anna", "b", 150.0)]


def test_the_list_is_limited_and_then_all_sessions_of_the_key_end() -> None:
    known: list[EndedSession] = with_ended([], Session("bert", "b", 5_000.0), 0.0)
    for number in range(MOST_OF_KEY):
        known = with_ended(known, Session("anna", f"{number}", 1_000.0 + number), 0.0)
    alive = Session("anna", "alive", 1_000.0)
    assert not has_ended(index_of(known), alive)
    known = with_ended(known, Session("anna", "one more", 2_000.0), 0.0)
    assert len(known) == 2
    index = index_of(known)
    assert has_ended(index, alive)
    assert has_ended(index, Session("anna", "one more", 2_000.0))
    assert not has_ended(index, Session("anna", "later", 2_000.5))
    assert has_ended(index, Session("bert", "b", 5_000.0))
    assert not has_ended(index, Session("bert", "c", 4_000.0))
