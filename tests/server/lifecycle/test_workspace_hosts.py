"""The server of a home and the scheduler of a cluster do the same with an idle workspace."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import pytest

from ganglion.model.events import GangEnded, IdleWarned
from ganglion.server.cluster.controllers.mains import STATEFUL_SETS
from ganglion.server.cluster.controllers.sight import ClusterSight
from ganglion.server.cluster.controllers.workspaces import ClusterWorkspaces
from ganglion.worlds.kubernetes.types.pod import Pod
from tests.server.cluster.played import PlayedApi
from tests.server.office import MIN, Office, ToldEyes, look_of

SET = "/apis/apps/v1/namespaces/default/statefulsets/nb"
POD = "/api/v1/namespaces/default/pods/nb-0"


class Host(Protocol):
    """A host with one workspace that runs, whose user is warned 5 of 30 minutes before."""

    def minutes(self, count: int, *, moves: bool = False, doubt: str = "") -> None:
        """Time passes; every look finds the same."""

    def restart(self) -> None:
        """The host dies and another one takes its place."""

    def told(self) -> list[str]:
        """Warnings to its user; an empty text = the one before was taken back."""

    def sleeps(self) -> str:
        """Why it is suspended; empty = it is not."""


class Local:
    """The server of a home."""

    def __init__(self, folder: Path) -> None:
        self._office = Office(folder)
        self._id = self._office.open(idle={"warn": "5m"}, idle_timeout="30m")

    def minutes(self, count: int, *, moves: bool = False, doubt: str = "") -> None:
        self._office.minutes(count, moves=moves, doubt=doubt)

    def restart(self) -> None:
        self._office.rig.crash()

    def told(self) -> list[str]:
        warnings = self._office.events(IdleWarned)
        return [each.message if each.suspend_at else "" for each in warnings]

    def sleeps(self) -> str:
        ended = self._office.events(GangEnded)
        with self._office.rig.service.read() as mind:
            reason = mind.state.gangs.records[f"{self._id}/0"].reason
        return reason.message if ended and reason else ""

    def close(self) -> None:
        self._office.rig.ledger.close()


class Clustered:
    """The scheduler of a cluster, on an API in memory."""

    def __init__(self) -> None:
        self._played = PlayedApi()
        meta = {"name": "nb", "namespace": "default", "uid": "1", "resourceVersion": "1"}
        notes = {
            "ganglion.dev/idle-timeout": "30m",
            "ganglion.dev/idle": "{warn: 5m}",
            "ganglion.dev/port": "8888",
        }
        labels = {"ganglion.dev/kind": "workspace"}
        self._played.objects[SET] = {
            "metadata": {**meta, "labels": labels, "annotations": notes},
            "spec": {"replicas": 1, "selector": {"matchLabels": {"app": "nb"}}},
        }
        self._played.objects[POD] = {
            "metadata": {**meta, "name": "nb-0", "uid": "2", "labels": {"app": "nb"}},
            "spec": {"nodeName": "n", "containers": []},
            "status": {"podIP": "127.0.0.1", "conditions": [{"type": "Ready", "status": "True"}]},
        }
        self._now = 1_000_000 * MIN
        self.restart()

    def _pods(self, namespaces: object) -> Mapping[str, Sequence[Pod]]:
        del namespaces
        sleeps = self._played.objects[SET]["spec"]["replicas"] == 0
        return {"default": [] if sleeps else [self._played.pod(POD)]}

    def restart(self) -> None:
        self._eyes = ToldEyes()
        sight = ClusterSight(self._pods, lambda _pods, _count: (), lambda _node: ())
        api, recorder = self._played.api, self._played.recorder
        self._host = ClusterWorkspaces(self._eyes, sight, api, recorder)
        self._tick()

    def _tick(self) -> None:
        kept = [self._played.kept(STATEFUL_SETS, SET)]
        asyncio.run(self._host.tick(kept, self._now))

    def minutes(self, count: int, *, moves: bool = False, doubt: str = "") -> None:
        for _ in range(count):
            self._now += MIN
            self._eyes.told = {("1/2", 1): look_of(self._now, moves=moves, doubt=doubt)}
            self._tick()

    def told(self) -> list[str]:
        said = {"Idle": lambda note: note, "InUse": lambda _note: ""}
        events = self._played.events
        return [said[each.reason](each.note) for each in events if each.reason in said]

    def sleeps(self) -> str:
        return str(
            self._played.objects[SET]["metadata"]["annotations"].get("ganglion.dev/suspended", "")
        )

    def close(self) -> None:
        self._eyes.keep(frozenset())


@pytest.fixture(params=["local", "cluster"])
def host(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Host]:
    made = Local(tmp_path) if request.param == "local" else Clustered()
    yield made
    made.close()


def test_an_idle_workspace_is_warned_with_what_it_loses_then_suspended(host: Host) -> None:
    host.minutes(26)
    (warning,) = host.told()
    assert warning.startswith("idle for 25 min: it is suspended in 5 min unless it is used; lost: ")
    assert "the variables of 2 kernels, 1 shell, 512 MiB of memory" in warning
    assert host.sleeps() == ""
    host.minutes(6)
    assert host.sleeps() == "suspended: idle for 30 min"


def test_use_takes_the_warning_back_and_the_time_begins_anew(host: Host) -> None:
    host.minutes(26)
    host.minutes(1, moves=True)
    assert [bool(each) for each in host.told()] == [True, False]
    host.minutes(24)
    assert (len(host.told()), host.sleeps()) == (2, "")


def test_a_doubt_takes_the_warning_back_and_is_never_acted_upon(host: Host) -> None:
    host.minutes(26)
    host.minutes(600, doubt="no source reports its GPUs")
    assert [bool(each) for each in host.told()] == [True, False]
    assert host.sleeps() == ""


def test_a_host_that_restarts_observes_for_the_whole_time_again(host: Host) -> None:
    host.minutes(20)
    host.restart()
    host.minutes(20)
    assert (host.told(), host.sleeps()) == ([], "")
    host.minutes(12)
    assert host.sleeps() == "suspended: idle for 30 min"
