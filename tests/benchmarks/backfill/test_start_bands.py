"""`bands`: what is scored, and that the report adds up."""

import pytest

from benchmarks.backfill.start_bands import CONSTANT, OURS, POOL, Answer, Asker, run
from benchmarks.common.drive import Course
from benchmarks.registry import BenchOptions, silent
from ganglion.model.workload import Gang
from ganglion.worlds.simulated.job import SimJob


def _course(name: str, started: int) -> Course:
    return Course(SimJob(Gang(name, name, "q"), 1), started=started)


def test_the_second_half_is_scored_by_what_came() -> None:
    asker = Asker()
    asker.answers = [
        Answer("a", 0, 1, True, (1, 2), (1, 2)),
        Answer("b", 10, 2, True, (10, 40), (0, 10)),
        Answer("c", 20, 1, True, None, (5, 5)),
    ]
    found = asker.scored([_course("a", 4), _course("b", 40), _course("c", 21)])["first"]
    assert found["all"]["answers"] == 2
    assert found["all"]["unknown_pct"] == 50
    assert found["2-10"][OURS]["held_p50_pct"] == 0
    assert found["2-10"][OURS]["held_p90_pct"] == 100
    assert found["2-10"][OURS]["pinball_p50_s"] == pytest.approx(0.5 * 20 / 1000)
    assert found["2-10"][OURS]["pinball_p90_s"] == pytest.approx(0.1 * 10 / 1000)
    assert found["2-10"][POOL]["pinball_p90_s"] == pytest.approx(0.9 * 20 / 1000)
    assert found["2-10"][CONSTANT]["pinball_p50_s"] == pytest.approx(0.5 * 26 / 1000)
    assert OURS not in found["next"]


def test_made_up_logs_are_asked_about() -> None:
    report = run(BenchOptions(), silent)
    assert report.data["synthetic"]
    batch = report.data["logs"]["batch"]["first"]["all"]
    assert batch["answers"] > 50
    assert batch["unknown_pct"] < 5
    assert len(report.tables) == 2
