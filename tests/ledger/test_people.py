"""Names of people in a ledger: pseudonyms in the chain, names for readers, nothing once erased."""

from pathlib import Path
from random import Random

import msgspec
import pytest
from sqlalchemy import text

from ganglion.ledger.audit import audited
from ganglion.ledger.ledger import Ledger
from ganglion.ledger.people.erasure import named_in_clear, unwiped
from ganglion.ledger.people.names import MARK, TOKEN, Names, Pseudonym, token_of
from ganglion.ledger.reader import Reader
from ganglion.ledger.records import Batch
from ganglion.ledger.transfer import exported, imported
from ganglion.model.causes import Cause, CauseKind
from ganglion.model.errors import FileError
from ganglion.model.events import (
    AccessDenied,
    AccountJoined,
    DeliveredEvent,
    Event,
    GangEnded,
    GangStopping,
    GangSubmitted,
    NodeLost,
    Outcome,
    RoleGranted,
    UserErased,
)
from ganglion.model.workload import Gang

EVE = "eve@example.org"
EVENTS: tuple[Event, ...] = (
    AccountJoined(1, EVE, "https://issuer", "subject-0815"),
    RoleGranted(1, f"user:{EVE}", "admin", "", None, "ada"),
    RoleGranted(1, "group:eve", "admin", "", None, "ada"),
    AccessDenied(2, EVE, "t1", "set_policy", "", f"needs role admin; {EVE} has none of them"),
    GangStopping(3, "eve/0", 1, Cause(CauseKind.CANCELLED, user=EVE)),
    GangEnded(4, "eve/0", 1, Outcome.CANCELLED, message=f"cancelled by {EVE}"),
    NodeLost(5, "eve", actor=EVE, glass=f"role admin of user:{EVE} on queue eve, by broken glass"),
)


def bodies(reader: Reader) -> list[bytes]:
    """The events as they lie there."""
    return [entry.linked for entry in reader.events()]


def written(ledger: Ledger) -> None:
    for event in EVENTS:
        ledger.append(Batch(event.at, [event]))


def erase(ledger: Ledger) -> str:
    token = ledger.names.token(EVE)
    event = UserErased(6, EVE, "ada", "asked for", "subject-0815")
    ledger.append(Batch(6, [event], erased=(EVE, "subject-0815")))
    return token


def test_events_hold_pseudonyms_and_are_read_with_names_on_any_database(ledger: Ledger) -> None:
    written(ledger)
    whole = b"".join(bodies(ledger))
    assert EVE.encode() not in whole
    assert b"subject-0815" not in whole
    assert b'"group:eve"' in whole
    assert [*ledger.replay()] == [*EVENTS]
    with ledger.still() as reader:
        assert [*reader.replay()] == [*EVENTS]
        assert not audited(reader).flaws
        assert named_in_clear(reader, EVE) == 0


def test_an_erased_name_is_gone_and_the_chain_is_as_it_was_on_any_database(
    ledger: Ledger, target: str | Path
) -> None:
    written(ledger)
    chain = ledger.checksums(0)
    token = erase(ledger)
    assert ledger.checksums(0)[: len(chain)] == chain
    assert ledger.wipe()
    assert not unwiped(ledger)
    ledger.close()
    reopened = Ledger.open(target)
    for reader in (reopened,):
        shown = b"".join(entry.body for entry in reader.events())
        assert EVE.encode() not in shown
        assert b"subject-0815" not in shown
        assert shown.count(token.encode()) >= len(EVENTS) - 1
        assert not audited(reader).flaws
        assert [each.name for each in reader.people()] == ["ada"]
    reopened.close()
    if isinstance(target, Path):
        for path in target.parent.glob("ledger.db*"):
            assert EVE.encode() not in path.read_bytes(), path


def test_one_who_comes_back_gets_another_pseudonym(ledger: Ledger) -> None:
    written(ledger)
    before = erase(ledger)
    ledger.append(Batch(7, [NodeLost(7, "n1", actor=EVE)]))
    assert ledger.names.token(EVE) not in ("", before)
    (*_, newest) = ledger.replay()
    assert newest.actor == EVE


def test_what_is_not_written_leaves_no_name(tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path / "ledger.db")
    ledger.append(Batch(1, [NodeLost(1, "n1")]))
    with ledger.writing() as connection:
        connection.execute(text("ALTER TABLE people RENAME TO away"))
    with pytest.raises(Exception, match="people"):
        ledger.append(Batch(2, [NodeLost(2, "n1", actor=EVE)]))
    with ledger.writing() as connection:
        connection.execute(text("ALTER TABLE away RENAME TO people"))
    ledger.refresh()
    assert not ledger.people()
    ledger.append(Batch(2, [NodeLost(2, "n1", actor=EVE)]))
    assert [each.name for each in ledger.people()] == [EVE]
    ledger.close()


def test_what_only_looks_like_a_pseudonym_is_read_as_it_was_written(ledger: Ledger) -> None:
    written(ledger)
    own = ledger.names.token(EVE)
    forged = NodeLost(7, "n1", actor="bob", glass=f"by {own}, {own}")
    user = NodeLost(8, "n1", actor=own)
    ledger.append(Batch(8, [forged, user]))
    (*_, last, newest) = ledger.replay()
    assert (last, newest) == (forged, user)


@pytest.mark.parametrize("name", ['q"uote', "back\\slash", "Zoë", "x" * 200, "new\nline", "~p~"])
def test_any_name_is_read_as_it_was_written(tmp_path: Path, name: str) -> None:
    ledger = Ledger.open(tmp_path / "ledger.db")
    ledger.append(Batch(1, [NodeLost(1, "n1", actor=name), NodeLost(1, "n2", actor=name)]))
    assert [each.actor for each in ledger.replay()] == [name, name]
    assert all(TOKEN.search(body) for body in bodies(ledger))
    assert [each.name for each in ledger.people()] == [name]
    ledger.close()


def test_a_changed_name_is_found_and_not_shown(tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path / "ledger.db")
    written(ledger)
    with ledger.writing() as connection:
        connection.execute(text("UPDATE people SET name = 'bob' WHERE name = 'ada'"))
    ledger.refresh()
    assert b"bob" not in b"".join(entry.body for entry in ledger.events())
    (flaw,) = audited(ledger).flaws
    assert "was changed" in flaw.problem
    ledger.close()


def test_names_in_records_of_clusters_are_hidden_as_all_others() -> None:
    gang = Gang("team/train", "team/train", "health", user=EVE)
    inner = GangSubmitted(1, gang)
    event = DeliveredEvent(2, "east", "s1", 1, inner, actor="reporter")
    names, body = Names(), msgspec.json.encode(event)
    stored, new = names.hidden(body)
    assert {each.name for each in new} == {EVE, "reporter"}
    assert EVE.encode() not in stored
    assert names.shown(stored) == body
    names.forget(names.token(EVE))
    assert EVE.encode() not in names.shown(stored)


def test_names_move_with_a_ledger(tmp_path: Path) -> None:
    ledger, other = (Ledger.open(tmp_path / f"{each}.db") for each in ("one", "two"))
    written(ledger)
    exported(ledger, tmp_path / "whole.jsonl")
    imported(other, tmp_path / "whole.jsonl")
    assert [*other.replay()] == [*EVENTS]
    assert other.append(Batch(9, [NodeLost(9, "n1", actor=EVE)]))[0].linked.count(MARK) == 1
    assert len(other.people()) == len(ledger.people())
    whole = (tmp_path / "whole.jsonl").read_bytes()
    (tmp_path / "cut.jsonl").write_bytes(whole.replace(b'"people":3', b'"people":2'))
    with pytest.raises(FileError):
        imported(Ledger.open(tmp_path / "three.db"), tmp_path / "cut.jsonl")
    ledger.close()
    other.close()


def test_random_events_are_read_as_they_were_written() -> None:
    chance, names = Random(14), Names()
    letters = 'abep~ "\\,;:{}[]user.@-_äö'
    for _ in range(2_000):
        some = ["".join(chance.choices(letters, k=chance.randrange(1, 12))) for _ in range(3)]
        rule = f"{some[1]}; {some[0]} {some[2]}"
        body = msgspec.json.encode(AccessDenied(1, some[0], "", "", "", rule, actor=some[2]))
        stored, _ = names.hidden(body)
        assert names.shown(stored) == body


def test_a_pseudonym_tells_nothing_without_its_salt() -> None:
    one, two = (token_of(salt * 32, EVE) for salt in (b"a", b"b"))
    assert one != two
    assert not Pseudonym(one, b"b" * 32, EVE).fits
