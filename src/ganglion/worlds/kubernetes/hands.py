"""Carries out what the brain orders, in the order that keeps every promise.

Whoever gets a place is told before anybody leaves it; victims are marked before they are
evicted. Bindings go side by side. Why pods wait is written last and slowly. Nothing is written
without leadership.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence

import structlog
from msgspec import Struct, field

from ganglion.worlds.kubernetes.act.bind import BindOrder, bind
from ganglion.worlds.kubernetes.act.bucket import Bucket
from ganglion.worlds.kubernetes.act.calls import Pace
from ganglion.worlds.kubernetes.act.choose import choose_node
from ganglion.worlds.kubernetes.act.conditions import clear_victim, mark_victim, say_why
from ganglion.worlds.kubernetes.act.events import Recorder
from ganglion.worlds.kubernetes.act.evict import Evictions, grace_of, unbind
from ganglion.worlds.kubernetes.act.gate import ungate
from ganglion.worlds.kubernetes.act.nominate import nominate
from ganglion.worlds.kubernetes.act.outcome import Outcome, Verdict
from ganglion.worlds.kubernetes.act.owners import resume_owner, suspend_owner
from ganglion.worlds.kubernetes.act.series import Happened
from ganglion.worlds.kubernetes.act.times import steady_ms
from ganglion.worlds.kubernetes.api.client import Api
from ganglion.worlds.kubernetes.brain.orders import (
    Answer,
    Bind,
    BindDone,
    BindPod,
    ChooseNode,
    Evict,
    EvictBlocked,
    EvictDone,
    How,
    Nominate,
    Note,
    Order,
    PodRef,
    Say,
    Spare,
    Unsuspend,
)
from ganglion.worlds.kubernetes.objects.pod import Pod

SAID_PER_SECOND = 50
"""Most conditions written per second on pods that wait."""

UNSURE_MS = 60_000
"""How long it is asked again what became of a binding: a gang is taken apart for a pod that
could not be bound, and a short outage is no reason to do so."""

AGAIN_S = 1.0
"""Pause between two such questions."""

SEEN_S = 0.05
"""Pause in which a change that was just made is likely to be seen."""

_HOW = {
    Verdict.BOUND: How.BOUND,
    Verdict.ALREADY_HERE: How.BOUND,
    Verdict.DONE: How.BOUND,
    Verdict.UNCHANGED: How.BOUND,
    Verdict.GONE: How.GONE,
    Verdict.GATED: How.GATED,
    Verdict.ELSEWHERE: How.ELSEWHERE,
    Verdict.REFUSED: How.REFUSED,
}

log = structlog.get_logger(__name__)


class _Binding(Struct):
    """A gang whose pods are being bound."""

    order: Bind
    left: int
    outcomes: dict[str, tuple[How, str]] = field(default_factory=dict)


class Hands:
    """Writes to one cluster. `give` may be called from any thread.

    Args:
        api: the cluster's.
        may: whether we lead.
        answer: told what became of orders.
        recorder: of events.
        pod_of: a pod as it was last seen, by UID.
        at_once: most bindings under way at any time.
    """

    def __init__(
        self,
        api: Api,
        may: Callable[[], bool],
        answer: Callable[[Answer], None],
        recorder: Recorder,
        pod_of: Callable[[str], Pod | None],
        at_once: int = 64,
    ) -> None:
        self._api, self._answer, self._recorder = api, answer, recorder
        self._pod_of = pod_of
        self._pace = Pace(may=may, at_once=at_once)
        self._at_once = at_once
        self._loop: asyncio.AbstractEventLoop | None = None
        self._orders: asyncio.Queue[Sequence[Order]] = asyncio.Queue()
        self._binds: asyncio.Queue[tuple[_Binding, BindPod]] = asyncio.Queue()
        self._sayings: dict[str, str] = {}
        self._evicting: dict[str, asyncio.Task[None]] = {}
        self._something_to_say = asyncio.Event()

    def give(self, orders: Sequence[Order]) -> None:
        """Have orders carried out."""
        assert self._loop
        self._loop.call_soon_threadsafe(self._orders.put_nowait, orders)

    async def run(self) -> None:
        """Work until cancelled."""
        self._loop = asyncio.get_running_loop()
        async with asyncio.TaskGroup() as group:
            for _ in range(self._at_once):
                group.create_task(self._bind_on())
            group.create_task(self._say_on())
            group.create_task(self._recorder.run())
            while True:
                await self._take(await self._orders.get(), group)

    async def _take(self, orders: Sequence[Order], group: asyncio.TaskGroup) -> None:
        """Begin a batch; nominations are written before anything after them begins."""
        await self._nominate([e for o in orders if isinstance(o, Nominate) for e in o.nodes])
        for order in orders:
            match order:
                case Bind():
                    binding = _Binding(order, len(order.pods))
                    for pod in order.pods:
                        self._binds.put_nowait((binding, pod))
                case Evict():
                    self._begin_evicting(order, group)
                case ChooseNode():
                    group.create_task(self._choose(order))
                case Spare():
                    group.create_task(self._spare(order))
                case Unsuspend():
                    group.create_task(self._resume(order))
                case Say():
                    self._sayings.update({pod.uid: order.message for pod in order.pods})
                    self._something_to_say.set()
                case Note():
                    self._record(order)

    async def _nominate(self, nodes: list[tuple[PodRef, str]]) -> None:
        """Write all nominations: nobody is told to leave for a gang that does not say so."""
        while nodes and self._pace.may():
            found = await nominate(self._api, nodes, self._pace)
            nodes = [each for each in nodes if found[each[0].uid].verdict is Verdict.UNKNOWN]
            if nodes:
                await asyncio.sleep(AGAIN_S)

    async def _bind_on(self) -> None:
        while True:
            binding, pod = await self._binds.get()
            outcome = await self._bind(pod)
            how = _HOW.get(outcome.verdict, How.UNKNOWN)
            binding.outcomes[pod.pod.uid] = (how, outcome.message)
            binding.left -= 1
            if not binding.left:
                order = binding.order
                self._answer(BindDone(order.gang, order.attempt, binding.outcomes))

    async def _bind(self, pod: BindPod) -> Outcome:
        """Bind a pod; while nobody knows what became of it, as in an outage, ask again."""
        end_ms = steady_ms() + UNSURE_MS
        while True:
            outcome = await self._bind_once(pod)
            is_known = outcome.verdict is not Verdict.UNKNOWN
            if is_known or not self._pace.may() or steady_ms() >= end_ms:
                return outcome
            await asyncio.sleep(AGAIN_S)

    async def _bind_once(self, pod: BindPod) -> Outcome:
        ref = pod.pod
        if pod.gated:
            return await ungate(self._api, ref, pod.node, self._pace)
        order = BindOrder(ref.namespace, ref.name, ref.uid, pod.node, pod.devices)
        return await bind(self._api, order, self._pace)

    def _begin_evicting(self, order: Evict, group: asyncio.TaskGroup) -> None:
        gang, task = order.gang, group.create_task(self._evict(order))
        self._evicting[gang] = task

        def forget(done: asyncio.Task[None]) -> None:
            if self._evicting.get(gang) is done:
                del self._evicting[gang]

        task.add_done_callback(forget)

    async def _choose(self, order: ChooseNode) -> None:
        """Name a node to a claim; what becomes of it the claim itself tells."""
        outcome = await choose_node(self._api, order.claim, order.node, self._pace)
        while outcome.verdict is Verdict.UNKNOWN and self._pace.may():
            await asyncio.sleep(AGAIN_S)
            outcome = await choose_node(self._api, order.claim, order.node, self._pace)
        if outcome.verdict is Verdict.REFUSED:
            refused = {order.pod.uid: (How.REFUSED, outcome.message)}
            self._answer(BindDone(order.gang, order.attempt, refused))

    async def _evict(self, order: Evict) -> None:
        """Have pods leave; where a budget forbids it, ask again until told otherwise."""
        if order.beneficiary:
            await self._mark(order)
        if order.owner and order.owner.suspend and await self._suspend(order):
            self._answer(EvictDone(order.gang, order.attempt))
            return
        left: Iterable[PodRef] = order.pods
        evictions = Evictions(self._api, self._pace)
        while left:
            found = await self._evict_once(order, list(left), evictions)
            left = [each for each in left if not _has_left(found[each.uid])]
            if not left:
                break
            worst = next(found[each.uid] for each in left)
            if worst.verdict is Verdict.BLOCKED:
                self._answer(EvictBlocked(order.gang, order.attempt, worst.message))
            if not self._pace.may():
                return
            await asyncio.sleep(max(1, worst.retry_after_s))
        self._answer(EvictDone(order.gang, order.attempt))

    async def _evict_once(
        self, order: Evict, pods: list[PodRef], evictions: Evictions
    ) -> dict[str, Outcome]:
        if not order.beneficiary:
            return await unbind(self._api, pods, order.cause, self._pace)
        return await evictions.evict_all([(e, self._grace(e, order.grace_s)) for e in pods])

    def _grace(self, ref: PodRef, checkpoint_s: int) -> int | None:
        pod = self._pod_of(ref.uid)
        return grace_of(pod, checkpoint_s) if pod else None

    async def _mark(self, order: Evict) -> None:
        """Mark all victims, so that whoever takes over knows for whom they go."""
        for pod in order.pods:
            outcome = Outcome(Verdict.UNKNOWN)
            while outcome.verdict is Verdict.UNKNOWN and self._pace.may():
                outcome = await mark_victim(self._api, pod, order.beneficiary, self._pace)
                if outcome.verdict is Verdict.UNKNOWN:
                    await asyncio.sleep(AGAIN_S)

    async def _suspend(self, order: Evict) -> bool:
        assert order.owner
        outcome = await suspend_owner(self._api, order.owner, order.beneficiary, self._pace)
        return outcome.holds

    async def _spare(self, order: Spare) -> None:
        under_way = self._evicting.pop(order.gang, None)
        if under_way:
            under_way.cancel()
        for pod in order.pods:
            await clear_victim(self._api, pod, self._pace)

    async def _resume(self, order: Unsuspend) -> None:
        outcome = await resume_owner(self._api, order.owner, self._pace)
        if not outcome.holds:
            log.warning("owner not resumed", owner=order.owner.path, why=outcome.message)

    async def _say_on(self) -> None:
        bucket = Bucket(SAID_PER_SECOND, SAID_PER_SECOND, steady_ms)
        while True:
            await self._something_to_say.wait()
            while self._sayings:
                if not bucket.take():
                    await asyncio.sleep(bucket.wait_ms() / 1000)
                    continue
                await self._say(next(iter(self._sayings)))
            self._something_to_say.clear()

    async def _say(self, uid: str) -> None:
        message, pod = self._sayings.pop(uid), self._pod_of(uid)
        if pod is None:
            return
        outcome = await say_why(self._api, pod, message, self._pace)
        if outcome.verdict is Verdict.UNCHANGED and outcome.message:
            # It has changed since it was seen, as by a nomination: the change is on its way here.
            self._sayings.setdefault(uid, message)
            await asyncio.sleep(SEEN_S)

    def _record(self, note: Note) -> None:
        happened = Happened(note.regarding, note.reason, note.action, note.message, note.warning)
        self._recorder.record(happened)


def _has_left(outcome: Outcome) -> bool:
    return outcome.verdict in (Verdict.DONE, Verdict.GONE)
