"""The server of a home and the scheduler of a cluster do the same with the trials of a sweep."""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import pytest

from ganglion.lifecycle.sweeps.reconciler import index_of
from ganglion.model.events import MetricReported
from ganglion.model.plan import Phase
from ganglion.server.cluster.controllers.mains import JOBS
from ganglion.server.cluster.controllers.sight import ClusterSight
from ganglion.server.cluster.controllers.sweeps import ClusterSweeps
from ganglion.server.controllers.sweeps import SweepsController
from ganglion.worlds.kubernetes.submit.objects import indexes
from ganglion.worlds.kubernetes.types.pod import Pod
from tests.server.cluster.played import Json, PlayedApi
from tests.server.conftest import Rig

JOB = "/apis/batch/v1/namespaces/default/jobs/s"
WHY = "stopped early: loss 0.9 at step 1 is place 2 of 2 so far, and the best 1 go on"


class Host(Protocol):
    """A host with a sweep of 6 trials that all run, of which two have its own priority."""

    def report(self, trial: int, step: int, loss: float) -> None:
        """A trial says how well it does."""

    def end(self, trial: int) -> None:
        """A trial succeeds."""

    def restart(self) -> None:
        """The host dies and another one takes its place."""

    def stopped(self) -> Mapping[int, str]:
        """Trials that were stopped, and why."""

    def own(self) -> set[int]:
        """Trials with the priority of the sweep that have not ended."""


class Local:
    """The server of a home."""

    def __init__(self, folder: Path) -> None:
        self._rig = Rig(folder / "home", lambda: [SweepsController()])
        rule = {"metric": "loss", "factor": 2}
        params = {"x": list(range(6))}
        self._rig.submit("s", kind="sweep", params=params, parallel="2..6", early_stop=rule)
        self._rig.turn(3)

    def report(self, trial: int, step: int, loss: float) -> None:
        rig, gang = self._rig, f"s-1/{trial}"
        rig.world.facts.append(MetricReported(rig.world.now(), gang, 1, "loss", step, loss))
        rig.turn(3)

    def end(self, trial: int) -> None:
        self._rig.machine.end(f"s-1/{trial}")
        self._rig.turn(3)

    def restart(self) -> None:
        self._rig.crash()
        self._rig.turn(2)

    def stopped(self) -> Mapping[int, str]:
        return {index_of(gang): str(cause) for gang, _, cause, _ in self._rig.machine.stops}

    def own(self) -> set[int]:
        with self._rig.service.read() as mind:
            records = [mind.state.gangs.records[gang] for gang in mind.book.gangs["s-1"]]
        live = [each.gang for each in records if each.phase is not Phase.ENDED]
        return {each.index for each in live if not each.spare}

    def close(self) -> None:
        self._rig.ledger.close()


class Clustered:
    """The scheduler of a cluster, on an API in memory."""

    def __init__(self, notes: Mapping[str, str] = {}, **spec: object) -> None:
        self.played = PlayedApi()
        self.played.objects[JOB] = job(notes, spec)
        for trial in range(6):
            self.played.objects[pod_path(trial)] = pod(trial)
        self.restart()

    def _pods(self, namespaces: object) -> Mapping[str, Sequence[Pod]]:
        del namespaces
        paths = [each for each in self.played.objects if "/pods/" in each]
        return {"default": [self.played.pod(each) for each in paths]}

    def restart(self) -> None:
        sight = ClusterSight(self._pods, lambda _pods, _count: (), lambda _node: ())
        self._host = ClusterSweeps(sight, self.played.api, self.played.recorder)
        self.tick()

    def tick(self) -> None:
        asyncio.run(self._host.tick([self.played.kept(JOBS, JOB)], 1_000))
        status = self.played.objects[JOB]["status"]
        status["failedIndexes"] = ",".join(str(each) for each in sorted(self.stopped()))

    def says(self, trial: int, report: str) -> None:
        meta = self.played.objects[pod_path(trial)]["metadata"]
        meta["annotations"]["ganglion.dev/report"] = report
        self.tick()

    def report(self, trial: int, step: int, loss: float) -> None:
        self.says(trial, f'{{"step": {step}, "loss": {loss}}}')

    def end(self, trial: int) -> None:
        self.played.objects[pod_path(trial)]["status"]["phase"] = "Succeeded"
        self.played.objects[JOB]["status"]["completedIndexes"] = str(trial)
        self.tick()

    def stopped(self) -> Mapping[int, str]:
        found: dict[int, str] = {}
        for each in self.played.evicted:
            marks = each["status"]["conditions"]
            why = [mark["message"] for mark in marks if mark["type"] == "ganglion.dev/given-up"]
            found[int(each["metadata"]["labels"]["batch.kubernetes.io/job-completion-index"])] = (
                why[0]
            )
        return found

    def own(self) -> set[int]:
        said = self.played.objects[JOB]["metadata"]["annotations"]["ganglion.dev/own-trials"]
        return set(indexes(said)) - set(self.stopped())

    def close(self) -> None:
        """Nothing is open."""


def job(notes: Mapping[str, str], spec: Mapping[str, object]) -> Json:
    """The Job of the sweep."""
    given_up = {"type": "ganglion.dev/given-up", "status": "True"}
    rule = {"action": "FailIndex", "onPodConditions": [given_up]}
    said = {
        "ganglion.dev/early-stop": "{metric: loss, factor: 2}",
        "ganglion.dev/parallel": "2..6",
        "ganglion.dev/own-trials": "0-1",
    }
    return {
        "metadata": {
            **{"name": "s", "namespace": "default", "uid": "s-1", "resourceVersion": "1"},
            "labels": {"ganglion.dev/kind": "sweep"},
            "annotations": {**said, **notes},
        },
        "spec": {
            "backoffLimitPerIndex": 0,
            "podFailurePolicy": {"rules": [rule]},
            "selector": {"matchLabels": {"job-name": "s"}},
            **spec,
        },
        "status": {},
    }


def pod(trial: int) -> Json:
    """The pod of a trial, which runs."""
    labels = {"job-name": "s", "batch.kubernetes.io/job-completion-index": str(trial)}
    name = {"name": f"s-{trial}", "namespace": "default", "uid": f"p{trial}"}
    return {
        "metadata": {**name, "resourceVersion": "1", "labels": labels, "annotations": {}},
        "spec": {"nodeName": "n"},
        "status": {"phase": "Running", "startTime": f"2026-01-01T00:00:0{trial}Z"},
    }


def pod_path(trial: int) -> str:
    """Path of the pod of a trial."""
    return f"/api/v1/namespaces/default/pods/s-{trial}"


@pytest.fixture(params=["local", "cluster"])
def host(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Host]:
    made: dict[str, Callable[[], Local | Clustered]]
    made = {"local": lambda: Local(tmp_path), "cluster": Clustered}
    found = made[request.param]()
    yield found
    found.close()


def test_a_trial_that_does_worse_is_stopped_and_says_how_it_compared(host: Host) -> None:
    host.report(0, 1, 0.5)
    assert host.stopped() == {}
    host.report(1, 1, 0.9)
    assert host.stopped() == {1: WHY}


def test_the_best_so_far_goes_on_and_none_is_compared_twice_at_a_rung(host: Host) -> None:
    for trial, loss in enumerate((0.5, 0.4, 0.3, 0.2)):
        host.report(trial, 1, loss)
    host.report(3, 1, 9.0)
    assert host.stopped() == {}


def test_a_host_that_takes_over_judges_as_if_there_had_been_one(host: Host) -> None:
    host.report(0, 1, 0.5)
    host.restart()
    host.report(1, 1, 0.9)
    host.restart()
    assert host.stopped() == {1: WHY}


def test_when_one_of_its_own_ends_a_spare_trial_that_runs_takes_its_turn(host: Host) -> None:
    assert host.own() == {0, 1}
    host.end(0)
    assert host.own() == {1, 2}
    host.restart()
    assert host.own() == {1, 2}


def test_one_that_is_given_up_leaves_its_turn_to_another(host: Host) -> None:
    host.report(0, 1, 0.5)
    host.report(1, 1, 0.9)
    host.restart()
    assert host.own() == {0, 2}


def test_a_job_that_would_make_trials_anew_is_told_and_none_is_stopped() -> None:
    host = Clustered(podFailurePolicy={})
    host.report(0, 1, 0.5)
    host.report(1, 1, 0.9)
    assert host.stopped() == {}
    odd = [each.note for each in host.played.events if each.reason == "Odd"]
    assert len(odd) == 1
    assert "podFailurePolicy" in odd[0]


def test_a_report_that_cannot_be_read_is_named_once_and_compares_no_trial() -> None:
    host = Clustered()
    for _ in range(3):
        host.says(0, '{"step": 1, "loss": "low"}')
    (odd,) = [each.note for each in host.played.events if each.reason == "Odd"]
    assert odd.startswith("ganglion.dev/report of default/s-0: ")
    host.report(1, 1, 0.9)
    assert host.stopped() == {}
