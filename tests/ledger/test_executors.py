"""One ledger, one executor: which home may run its gangs."""

from pathlib import Path

import pytest
from tests.ledger.conftest import Target

from ganglion.ledger.executors import depose
from ganglion.ledger.ledger import Ledger
from ganglion.ledger.records import Batch
from ganglion.model.errors import EnvironmentFault, InUse, NotExecutor, Superseded
from ganglion.model.events import NodeLost
from ganglion.model.executor import Executor, is_one_home, may_look, was_restarted

A = Executor("a", "/a", "m1", "b1", "host1")
B = Executor("b", "/b", "m1", "b1", "host1")
FAR = Executor("c", "/c", "m2", "b2", "host2")


def test_the_first_home_executes_and_goes_on(ledger: Ledger) -> None:
    first = ledger.executors.claim(A, 1)
    assert (first.generation, len(first.ledger)) == (1, 32)
    assert ledger.executors.claim(A, 2) == first


@pytest.mark.parametrize("other", [B, FAR])
def test_another_home_is_refused_and_named(ledger: Ledger, other: Executor) -> None:
    ledger.executors.claim(A, 1)
    with pytest.raises(NotExecutor, match=f"/a on host1, not by {other.path}") as refused:
        ledger.executors.claim(other, 2)
    assert "ganglion up --take-over" in refused.value.hint
    assert refused.value.exit_code == 3
    assert [term.executor for term in ledger.executors.terms()] == [A]


def test_a_take_over_begins_a_generation_and_keeps_the_ledgers_id(ledger: Ledger) -> None:
    first = ledger.executors.claim(A, 1)
    second = ledger.executors.claim(B, 2, take_over=True)
    assert (second.ledger, second.generation) == (first.ledger, 2)
    with pytest.raises(NotExecutor):
        ledger.executors.claim(A, 3)


def test_a_home_that_was_fenced_further_than_its_ledger_knows_begins_anew(ledger: Ledger) -> None:
    """After an older copy of the ledger was put back."""
    ledger.executors.claim(A, 1)
    assert ledger.executors.claim(A, 2, least=5).generation == 5
    assert ledger.executors.claim(A, 3, least=5).generation == 5


def test_a_restart_of_the_machine_and_a_move_of_the_home_are_noted(ledger: Ledger) -> None:
    ledger.executors.claim(A, 1)
    moved = Executor("a", "/new", "m1", "b9", "host1")
    assert ledger.executors.claim(moved, 2).generation == 1
    assert [term.executor for term in ledger.executors.terms()] == [moved]


def test_a_writer_whose_generation_has_ended_writes_nothing_more(target: Target) -> None:
    ledger = Ledger.open(target)
    ledger.generation = ledger.executors.claim(A, 1).generation
    ledger.append(Batch(1, [NodeLost(1, "a")]))
    ledger.confirm()
    assert depose(target, B, 2)  # although the other one holds the lock
    with pytest.raises(Superseded):
        ledger.confirm()
    with pytest.raises(Superseded, match="generation 2"):
        ledger.append(Batch(2, [NodeLost(2, "b")]))
    ledger.close()
    after = Ledger.open(target)
    assert list(after.replay()) == [NodeLost(1, "a")]
    after.close()


def test_there_is_nothing_to_depose_in_an_empty_or_new_ledger(target: Target) -> None:
    assert not depose(target, A, 1)
    Ledger.open(target).close()
    assert not depose(target, A, 1)


def test_a_symbolic_link_and_another_spelling_are_the_same_database(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    ledger = Ledger.open(tmp_path / "one" / "ledger.db")
    (tmp_path / "two").symlink_to(tmp_path / "one")
    (tmp_path / "link.db").symlink_to(tmp_path / "one" / "ledger.db")
    spellings = ("link.db", "two/ledger.db", "one/../one/ledger.db")
    for name in spellings:
        with pytest.raises(InUse):
            Ledger.open(f"sqlite:///{tmp_path}/{name}")
    ledger.close()
    for name in spellings:
        Ledger.open(f"sqlite:///{tmp_path}/{name}").close()


def test_a_file_with_two_names_is_refused(tmp_path: Path) -> None:
    Ledger.open(tmp_path / "ledger.db").close()
    (tmp_path / "other.db").hardlink_to(tmp_path / "ledger.db")
    with pytest.raises(EnvironmentFault, match="has 2 names"):
        Ledger.open(tmp_path / "other.db")


def test_machines_are_told_apart_by_what_they_say_of_themselves() -> None:
    restarted = Executor("a", "/a", "m1", "b2", "host1")
    clone = Executor("d", "/a", "m1", "b3", "host3")
    silent = Executor("a", "/a", "", "b7", "box")
    assert is_one_home(A, restarted)
    assert is_one_home(A, silent)
    assert not is_one_home(A, Executor("a", "/a", "m2", "b2", "host2"))
    assert may_look(A, B)
    assert not may_look(A, FAR)
    assert not may_look(A, restarted)
    assert was_restarted(A, restarted)
    assert was_restarted(A, Executor("b", "/b", "m1", "b2", "host1"))
    assert not was_restarted(A, B)
    assert not was_restarted(A, clone), "two machines made from one image"
