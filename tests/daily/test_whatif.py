"""Questions about the past, through a real server that has run jobs."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.daily.conftest import Ganglion, Site

NONE = "none we can see"


@pytest.fixture
def worked(site: Site) -> list[str]:
    """Jobs of a whole node each that came at once, and have run."""
    jobs = [
        site.submit(f"past-{n}", "sleep 0.3", resources={"gpus": 4}, time_limit="10m")
        for n in range(5)
    ]
    for job in jobs:
        site.reach(job, "SUCCEEDED")
    return jobs


def test_the_what_if_of_yesterdays_own_policy_prints_its_error_bar(
    ganglion: Ganglion, worked: list[str]
) -> None:
    found = ganglion("whatif", "--since", "1d")
    assert found.code == 0, found.err
    assert "nothing changed" in found.out
    (heading,) = (line for line in found.out.splitlines() if line.startswith("GROUP"))
    assert heading.split()[3:] == ["PAST", "REPLAY", "CHANGED", "ERROR", "DIFFERENCE"]
    rows = [line for line in found.out.splitlines() if line.startswith("all jobs")]
    figures = {line[len("all jobs") :].split(maxsplit=1)[1][:8] for line in rows}
    assert {"wait p50", "wait p95"} <= figures
    assert rows
    assert all(line.endswith(NONE) for line in rows)
    # the answer is kept, as data too, with the distance that was printed
    key = found.err.rpartition("ganglion whatif show ")[2].split()[0]
    kept = json.loads(ganglion("whatif", "show", key, "-o", "json").out)
    (everything,) = (each for each in kept["report"]["groups"] if each["by"] == "all")
    assert everything["jobs"] >= len(worked)
    for figure in everything["figures"].values():
        assert figure["bar"] == abs(figure["replay"] - figure["past"])
        assert figure["changed"] == figure["replay"]
    assert key in ganglion("whatif", "list").out


def test_a_policy_is_planned_before_it_is_set(
    ganglion: Ganglion, worked: list[str], tmp_path: Path
) -> None:
    del worked
    file = tmp_path / "fifo.yaml"
    file.write_text("order: fifo\n")
    before = json.loads(ganglion("policy", "show", "-o", "json").out)["version"]
    found = ganglion("policy", "apply", str(file), "--plan")
    # no terminal is there to ask
    assert found.code != 0
    assert "nothing was set" in found.err
    assert "fair -> fifo" in found.out
    assert "DIFFERENCE" in found.out
    assert json.loads(ganglion("policy", "show", "-o", "json").out)["version"] == before
    assert ganglion("policy", "apply", str(file), "--plan", "-y").code == 0
    shown = json.loads(ganglion("policy", "show", "-o", "json").out)
    assert shown["version"] == before + 1
    assert ganglion("policy", "rollback", str(before)).code == 0


def test_a_job_is_submitted_in_the_past_beside_new_nodes_and_queues(
    ganglion: Ganglion, worked: list[str], tmp_path: Path
) -> None:
    # others have waited, started and ended since then: so can this one
    since = json.loads(ganglion("describe", worked[0], "-o", "json").out)["submitted"]
    came = datetime.fromtimestamp(since / 1000 + 0.1, UTC).isoformat()
    file = tmp_path / "job.yaml"
    file.write_text(
        "name: late\nrun: python train.py\nqueue: blue\nresources: {gpus: 2}\ntime_limit: 5m\n"
    )
    found = ganglion(
        *("whatif", "--nodes", "+1xA100:8", "--queue", "blue=weight:3"),
        *("--submit", str(file), "--at", came, "-o", "json"),
    )
    assert found.code == 0, found.err
    answer = json.loads(found.out)
    assert answer["changes"][:2] == ["nodes +1xA100:8", "queue blue=weight:3"]
    (start,) = answer["report"]["starts"]
    assert start["name"] == "late"
    assert start["started"] is not None


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        (("--nodes", "4xH100"), "names no nodes"),
        (("--nodes", "-9xA100"), "cannot leave"),
        (("--queue", "blue"), "changes no queue"),
        (("--queue", "nowhere=weight:2"), "there was no queue nowhere"),
        (("--price", "A100=2.50"), "has to name the currency"),
        (("--price", "A100"), "is no price"),
        (("--at", "14:00"), "nothing to submit"),
        (("--since", "1h", "--until", "2h"), "the period is empty"),
        (("--policy", "no-such.yaml"), "no-such.yaml"),
    ],
)
def test_a_question_that_makes_no_sense_is_refused(
    ganglion: Ganglion, worked: list[str], args: tuple[str, ...], problem: str
) -> None:
    del worked
    found = ganglion("whatif", *args)
    assert found.code != 0
    assert problem in found.err
