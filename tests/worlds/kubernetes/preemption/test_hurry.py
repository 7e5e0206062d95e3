"""While victims wait for their turn, reasons and events wait, and few promises come first."""

import asyncio
from collections.abc import Callable
from typing import Any, cast

from ganglion.model.causes import Cause, CauseKind
from ganglion.seams.clock import SystemClock
from ganglion.seams.effects import SYSTEM
from ganglion.worlds.kubernetes.cluster_view.orders import Evict, Nominate, Note, Order, PodRef, Say
from ganglion.worlds.kubernetes.http.client import Api
from ganglion.worlds.kubernetes.order_writer import (
    HURRIED_PER_SECOND,
    PROMISES_AT_ONCE,
    VICTIMS_AT_ONCE,
    Hands,
)
from ganglion.worlds.kubernetes.reporting.events import Recorder
from ganglion.worlds.kubernetes.types.meta import Anything, Meta
from ganglion.worlds.kubernetes.types.pod import Pod, PodSpec
from ganglion.worlds.kubernetes.workload_discovery.found import GangOwner
from ganglion.worlds.kubernetes.write_rules.series import About

VICTIMS = 2 * VICTIMS_AT_ONCE
LIMIT_S = 20.0
CAUSE = Cause(CauseKind.PREEMPTED, gang="high")


class _Leaping(SystemClock):
    """A clock that can be set forward."""

    ahead_s = 0.0

    def monotonic(self) -> float:
        return super().monotonic() + self.ahead_s


class _Server:
    """Takes every write: suspensions once `may_suspend` is set, all others at once."""

    def __init__(self) -> None:
        self.clock = _Leaping()
        self.effects = SYSTEM._replace(clock=self.clock)
        self.suspended: list[str] = []
        self.nominated: list[str] = []
        self.told: list[str] = []
        self.events = 0
        self.may_suspend = asyncio.Event()
        self.nominated_before_first = 0

    async def patch(self, path: str, body: dict[str, Any], _form: object) -> None:
        await asyncio.sleep(0)
        if "/jobs/" in path:
            self.nominated_before_first = self.nominated_before_first or len(self.nominated)
            await self.may_suspend.wait()
            self.suspended.append(path)
        elif "nominatedNodeName" in body["status"]:
            self.nominated.append(path)
        else:
            self.told.append(path)

    async def create(self, _path: str, _body: object) -> None:
        self.events += 1

    async def get(self, path: str, _kind: object) -> Anything:
        return Anything(metadata=Meta(name=path, uid=path.rpartition("/")[2]))


def _pods() -> dict[str, Pod]:
    names = [f"{kind}-{i}" for kind in ("old", "new") for i in range(VICTIMS)]
    return {
        name: Pod(
            metadata=Meta(name=name, namespace="default", uid=name),
            spec=PodSpec(node_name=f"node-{name[4:]}" if name.startswith("old") else ""),
        )
        for name in names
    }


def _ref(name: str) -> PodRef:
    return PodRef("", "default", name, name)


def _evict(index: int) -> Evict:
    path = f"/apis/batch/v1/namespaces/default/jobs/job-{index}"
    suspend = ("spec", "suspend")
    owner = GangOwner("batch/v1", "Job", "default", f"job-{index}", f"job-{index}", path, suspend)
    return Evict(f"low-{index}", 1, (_ref(f"old-{index}"),), CAUSE, "high", owner)


def _job(index: int) -> About:
    return About("batch/v1", "Job", "default", f"job-{index}", f"job-{index}")


ASKERS = tuple(_ref(f"new-{i}") for i in range(VICTIMS))
PREEMPTION: tuple[Order, ...] = (
    Nominate("high", tuple((ref, f"node-{i}") for i, ref in enumerate(ASKERS))),
    *(_evict(index) for index in range(VICTIMS)),
    *(Note("", _job(index), "Preempted", "Preempting", "") for index in range(VICTIMS)),
    Say("high", ASKERS, "others are leaving the place it was given"),
)


async def _until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(LIMIT_S):
        while not is_so():
            await asyncio.sleep(0.01)


async def _carry_out(server: _Server, then: Callable[[], Any]) -> None:
    pods, api = _pods(), cast("Api", server)
    recorder = Recorder(api, "test")
    hands = Hands(api, lambda: True, lambda _answer: None, recorder, pods.get)
    recorder.is_hurried = hands.is_hurried
    working = asyncio.create_task(hands.run())
    await asyncio.sleep(0)
    hands.give(PREEMPTION)
    await then()
    working.cancel()


def test_reasons_and_events_wait_while_victims_have_to_leave_and_follow_them() -> None:
    async def story() -> None:
        server = _Server()

        async def then() -> None:
            await asyncio.sleep(0.5)
            assert not server.suspended
            # The first pod of the gang says it for all.
            assert 1 <= len(server.told) <= 10
            assert server.events <= 4
            server.clock.ahead_s = 4.0  # so long have the victims waited
            server.may_suspend.set()
            await _until(lambda: len(server.suspended) == VICTIMS)
            # Their pods are still leaving.
            assert len(server.told) <= 10 + 4 * HURRIED_PER_SECOND
            assert server.events <= 12
            server.clock.ahead_s = 60.0
            await _until(lambda: len(server.told) == VICTIMS and server.events == VICTIMS)

        await _carry_out(server, then)

    asyncio.run(story())


def test_the_first_victim_leaves_before_most_promises_are_written() -> None:
    async def story() -> None:
        server = _Server()
        server.may_suspend.set()

        async def then() -> None:
            await _until(lambda: len(server.suspended) == VICTIMS)

        await _carry_out(server, then)
        assert 1 <= server.nominated_before_first <= 2 * PROMISES_AT_ONCE
        assert len(server.nominated) == VICTIMS

    asyncio.run(story())
