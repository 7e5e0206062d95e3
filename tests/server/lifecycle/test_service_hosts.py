"""The server of a home and the scheduler of a cluster scale a service alike."""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol, cast

import pytest

from ganglion.lifecycle.metrics.page import MetricsPage
from ganglion.model.behaviour import Signal
from ganglion.server.cluster.controllers.mains import DEPLOYMENTS
from ganglion.server.cluster.controllers.services import ClusterServices
from ganglion.server.cluster.controllers.sight import ClusterSight
from ganglion.server.commands.scale import ReplicaSpan, scale
from ganglion.server.signals.scraper import ScrapedRound, Scraper
from ganglion.worlds.kubernetes.types.pod import Pod
from tests.server.cluster.played import PlayedApi
from tests.server.services import BRISK, FakeScraper, Parlour, pages

PATH = "/apis/apps/v1/namespaces/default/deployments/chat"
SCALE = {"targets": {"requests": 2}, "source": "metrics", **BRISK}


class Host(Protocol):
    """A host with one service of 1 to 4 replicas that do 2 requests each."""

    def told(self, what: Callable[[], ScrapedRound], seconds: int) -> None:
        """Replicas report this for so long."""

    def replicas(self) -> int:
        """How many there are."""

    def by_hand(self, replicas: int, seconds: int) -> None:
        """A person sets a number, for so long."""

    def alarms(self) -> Mapping[str, str]:
        """Alarms that stand, by code."""


class Local:
    """The server of a home."""

    def __init__(self, folder: Path) -> None:
        self._parlour = Parlour(folder)
        self._parlour.submit(replicas="1..4", scale={**SCALE, "hold_down": "20s"})

    def told(self, what: Callable[[], ScrapedRound], seconds: int) -> None:
        self._parlour.told(what, seconds)

    def replicas(self) -> int:
        return len(self._parlour.running())

    def by_hand(self, replicas: int, seconds: int) -> None:
        assert seconds == 20, "it is the hold-down"
        self._parlour.rig.do(lambda draft: scale(draft, "chat", ReplicaSpan(replicas), "ada"))

    def alarms(self) -> Mapping[str, str]:
        return self._parlour.alarms()

    def close(self) -> None:
        self._parlour.rig.ledger.close()


class Clustered:
    """The scheduler of a cluster, on an API in memory whose pods are ready at once."""

    def __init__(self) -> None:
        self._played, self._scraper = PlayedApi(), FakeScraper()
        notes = {
            "ganglion.dev/replicas": "1..4",
            "ganglion.dev/scale": str({**SCALE, "hold_down": "20s"}),
            "ganglion.dev/port": "8000",
        }
        meta = {"name": "chat", "namespace": "default", "uid": "chat-1", "resourceVersion": "1"}
        self._played.objects[PATH] = {
            "metadata": {
                **meta,
                "labels": {"ganglion.dev/kind": "service"},
                "annotations": notes,
            },
            "spec": {"replicas": 1, "selector": {"matchLabels": {"app": "chat"}}},
        }
        sight = ClusterSight(self._pods, self._worst, lambda _node: ())
        scraper = cast("Scraper", self._scraper)
        self._host = ClusterServices(scraper, sight, self._played.api, self._played.recorder)
        self._now = 1_000_000_000

    def _pods(self, namespaces: object) -> Mapping[str, Sequence[Pod]]:
        del namespaces
        for index in range(self.replicas()):
            name = f"chat-1/{index}"
            path = f"/api/v1/namespaces/default/pods/{name}"
            at = "2026-01-01T00:00:00Z"
            meta = {"name": name, "namespace": "default", "uid": name, "resourceVersion": "1"}
            ready = {"type": "Ready", "status": "True", "lastTransitionTime": at}
            self._played.objects.setdefault(
                path,
                {
                    "metadata": {**meta, "labels": {"app": "chat"}, "creationTimestamp": at},
                    "status": {"podIP": "127.0.0.1", "conditions": [ready]},
                },
            )
        paths = [each for each in self._played.objects if "/pods/" in each]
        return {"default": [self._played.pod(each) for each in paths[: self.replicas()]]}

    def _worst(self, pods: Sequence[Pod], count: int) -> Sequence[str]:
        return [each.metadata.uid for each in pods][-count:]

    def told(self, what: Callable[[], ScrapedRound], seconds: int) -> None:
        for _ in range(seconds):
            self._now += 1_000
            self._scraper.says["chat-1"] = what()
            kept = [self._played.kept(DEPLOYMENTS, PATH)]
            asyncio.run(self._host.tick(kept, self._now))

    def replicas(self) -> int:
        return int(self._played.objects[PATH]["spec"]["replicas"])

    def by_hand(self, replicas: int, seconds: int) -> None:
        until = datetime.fromtimestamp(self._now / 1_000 + seconds, UTC).isoformat()
        self._played.objects[PATH]["metadata"]["annotations"]["ganglion.dev/held-until"] = until
        self._played.objects[PATH]["spec"]["replicas"] = replicas

    def alarms(self) -> Mapping[str, str]:
        said = [each.note for each in self._played.events if each.warning]
        return {alarm: message for alarm, _, message in (each.partition(": ") for each in said)}

    def close(self) -> None:
        """Nothing is open."""


@pytest.fixture(params=["local", "cluster"])
def host(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Host]:
    made = Local(tmp_path / "home") if request.param == "local" else Clustered()
    yield made
    made.close()


def page(requests: float) -> MetricsPage:
    return MetricsPage({Signal.WAITING: 0, Signal.RUNNING: requests, Signal.REQUESTS: requests})


def test_it_follows_its_load_up_and_after_the_hold_down_down(host: Host) -> None:
    host.told(lambda: pages(page(8)), 1)
    host.told(lambda: pages(*[page(2)] * 4), 8)
    assert host.replicas() == 4
    host.told(lambda: pages(*[page(0.25)] * 4), 12)
    assert host.replicas() == 4
    host.told(lambda: pages(*[page(0.25)] * 4), 20)
    assert host.replicas() == 1
    assert host.alarms() == {}


def test_silence_holds_it_and_the_alarm_names_who_is_silent(host: Host) -> None:
    host.told(lambda: pages(page(8)), 1)
    host.told(lambda: pages(*[page(2)] * 4), 8)
    host.told(lambda: pages(*["no answer"] * 4), 60)
    assert host.replicas() == 4
    assert "chat-1/0: no answer and 3 more" in host.alarms()["metrics.lost"]


def test_one_silent_replica_is_reported_though_the_others_scale_the_service(host: Host) -> None:
    host.told(lambda: pages(page(6)), 1)
    host.told(lambda: pages(page(2), page(2), "no answer"), 8)
    assert host.replicas() == 3
    assert host.alarms() == {"metrics.lost": "chat-1/2: no answer"}


def test_silence_that_spreads_is_reported_again_once_it_holds_the_service(host: Host) -> None:
    host.told(lambda: pages(page(6)), 1)
    host.told(lambda: pages(page(2), page(2), "no answer"), 8)
    host.told(lambda: pages(*["no answer"] * 3), 60)
    assert host.replicas() == 3
    assert host.alarms()["metrics.lost"].startswith("held: ")


def test_a_number_by_hand_stays_for_its_time_whatever_load_asks_for(host: Host) -> None:
    host.told(lambda: pages(page(1)), 5)
    host.by_hand(3, 20)
    host.told(lambda: pages(*[page(4)] * 3), 15)
    assert host.replicas() == 3
    host.told(lambda: pages(*[page(4)] * 4), 12)
    assert host.replicas() == 4
