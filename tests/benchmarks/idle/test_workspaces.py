"""Idle notebooks: the truth is consistent, and our rule wrongs no user."""

import pytest

from benchmarks.idle.people import AWAY_MIN, DAY_MIN, Notebook, people
from benchmarks.idle.rules import RULES
from benchmarks.idle.workspaces import BENCH, Score, play
from benchmarks.registry import BenchOptions, load, silent

COUNT, DAYS = 20, 7


@pytest.fixture(scope="module")
def books() -> list[Notebook]:
    return people(COUNT, DAYS, seed=3)


def total(books: list[Notebook], rule: str) -> Score:
    score = Score()
    for number in range(len(books)):
        score.add(play(books, number, rule))
    return score


def test_the_same_seed_makes_the_same_people() -> None:
    assert people(4, 2, 1) == people(4, 2, 1)
    assert people(4, 2, 1) != people(4, 2, 2)


def test_whoever_is_at_work_acts_before_he_counts_as_away(books: list[Notebook]) -> None:
    for book in books:
        quiet = 0
        for minute in book.minutes:
            acted = minute.ran or minute.saved or minute.typed or minute.busy
            quiet = 0 if acted or not minute.present else quiet + 1
            assert quiet <= AWAY_MIN + 1


def test_what_computes_leaves_traces_somewhere(books: list[Notebook]) -> None:
    for book in books:
        for minute in book.minutes:
            if minute.computing and not (minute.busy or minute.ran):
                assert minute.cpu_milli >= 50 or minute.moved >= 100_000 or minute.gpu_milli >= 10


def test_gpus_are_shared_by_two_and_some_series_are_missing(books: list[Notebook]) -> None:
    shared = [book for book in books if book.shared]
    assert len(shared) == COUNT // 5
    assert all(books[book.mate].mate == book.number for book in shared)
    blind = sum(not minute.gpu_told for book in books for minute in book.minutes)
    assert 0 < blind < COUNT * DAYS * DAY_MIN // 5


def test_most_idle_time_comes_back_and_nobody_is_wronged(books: list[Notebook]) -> None:
    score = total(books, "ganglion")
    assert score.returned >= 0.8 * score.idle
    assert (score.wrongful, score.destroyed, score.unknown) == (0, 0, 0)
    assert score.suspensions > COUNT


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule != "ganglion"])
def test_rules_that_look_at_part_of_it_cut_off_work(books: list[Notebook], rule: str) -> None:
    score = total(books, rule)
    assert score.wrongful > 0
    assert score.destroyed > 0


def test_where_nobody_tells_of_gpus_nobody_is_suspended() -> None:
    blind = people(6, 3, seed=5)
    for book in blind:
        for minute in book.minutes:
            minute.gpu_told = False
    assert total(blind, "ganglion").suspensions == 0
    assert total(blind, "kernels").suspensions > 0


def test_the_report_adds_up() -> None:
    options = BenchOptions(seeds=1, gangs=6, policies=("ganglion", "gpu"))
    report = BENCH.run(options, silent)
    assert list(report.data["rules"]) == ["ganglion", "gpu"]
    ours = report.data["rules"]["ganglion"]
    part = ours["returned_gpu_hours"] / report.data["idle_gpu_hours"]
    assert ours["returned_pct"] == pytest.approx(100 * part)
    assert load("idle") is BENCH
