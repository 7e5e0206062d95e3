"""Carries out what the controller orders, in the order that keeps every promise.

Places are nominated before any pod leaves them; victims are suspended by their owner, or marked
and then evicted. Bindings go side by side. Why pods wait is written last and slowly. Nothing is
written without leadership.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence, Set
from functools import partial

import structlog
from msgspec import Struct, field

from ganglion.model.causes import sentence
from ganglion.worlds.kubernetes.cluster_view.orders import (
    Answer,
    Bind,
    BindDone,
    BindPod,
    BindVolume,
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
from ganglion.worlds.kubernetes.http.client import Api
from ganglion.worlds.kubernetes.instance import FIRST, Instance
from ganglion.worlds.kubernetes.reporting.events import Recorder
from ganglion.worlds.kubernetes.reporting.pod_messages import Saying, Sayings, WrittenReason
from ganglion.worlds.kubernetes.types.meta import Anything
from ganglion.worlds.kubernetes.types.pod import Pod
from ganglion.worlds.kubernetes.write_rules.bucket import Bucket, Rush
from ganglion.worlds.kubernetes.write_rules.promises import Promises
from ganglion.worlds.kubernetes.write_rules.series import Happened
from ganglion.worlds.kubernetes.write_rules.times import steady
from ganglion.worlds.kubernetes.writes.bind import BindOrder, bind
from ganglion.worlds.kubernetes.writes.calls import RetryPace, each_of
from ganglion.worlds.kubernetes.writes.choose import bind_volume, choose_node
from ganglion.worlds.kubernetes.writes.conditions import clear_victim, mark_victim, say_why
from ganglion.worlds.kubernetes.writes.evict import EvictionBatch, grace_of, unbind
from ganglion.worlds.kubernetes.writes.gate import ungate
from ganglion.worlds.kubernetes.writes.nominate import nominate
from ganglion.worlds.kubernetes.writes.outcome import WriteOutcome, WriteVerdict
from ganglion.worlds.kubernetes.writes.owners import resume_owner, suspend_owner

SAID_PER_SECOND, FIRST_PER_SECOND, HURRIED_PER_SECOND = 50, 700, 10
"""Most conditions written per second on pods that wait; more of them on pods that never had a
reason, as long as nothing is to be bound; few in a rush, except on the first pod of each gang."""
RUSH_MS = 5_000
"""Longest time after many victims left in which other writes still give way: until then most pods
of these victims are gone, and what they left for is bound."""
SAID_AT_ONCE = 16
"""Most of these under way at any time."""

VICTIMS_AT_ONCE = 32
"""Victims that leave side by side, each of them from its promise to its end."""
PROMISES_AT_ONCE = 8
"""Nominations for places of victims that are written side by side: fewer, so that the first victim
leaves before most of the others have their promises."""
MARKS_AT_ONCE = 8
"""Pods of one victim that are marked side by side."""

UNSURE_MS = 60_000
"""How long it is asked again what became of a binding: a gang is taken apart for a pod that
could not be bound, and a short outage is no reason to do so."""
AGAIN_S = 1.0
"""Pause between two such questions."""
SEEN_S = 0.05
"""Pause in which a change that was just made is likely to be seen."""

Tasks = dict[str, set[asyncio.Task[None]]]

_HOW = {
    WriteVerdict.BOUND: How.BOUND,
    WriteVerdict.ALREADY_HERE: How.BOUND,
    WriteVerdict.DONE: How.BOUND,
    WriteVerdict.UNCHANGED: How.BOUND,
    WriteVerdict.GONE: How.GONE,
    WriteVerdict.GATED: How.GATED,
    WriteVerdict.ELSEWHERE: How.ELSEWHERE,
    WriteVerdict.REFUSED: How.REFUSED,
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
        answer: gets the results of orders.
        recorder: of events.
        pod_of: a pod as it was last seen, by UID.
        owner_of: what makes pods, likewise.
        at_once: most bindings under way at any time.
        instance: which of several schedulers we are.
    """

    def __init__(
        self,
        api: Api,
        may: Callable[[], bool],
        answer: Callable[[Answer], None],
        recorder: Recorder,
        pod_of: Callable[[str], Pod | None],
        owner_of: Callable[[str], Anything | None] = lambda _uid: None,
        at_once: int = 64,
        instance: Instance = FIRST,
    ) -> None:
        self._instance = instance
        self._api, self._answer, self._recorder = api, answer, recorder
        self._pod_of, self._owner_of = pod_of, owner_of
        self._promises = Promises(self._nominate)
        self._nominating = asyncio.Semaphore(PROMISES_AT_ONCE)
        self._victims = asyncio.Semaphore(VICTIMS_AT_ONCE)
        self._pace = RetryPace(may=may, at_once=at_once, effects=api.effects)
        self._clock = api.effects.clock
        self._steady_ms = steady_ms = steady(self._clock)
        self._at_once = at_once
        self._loop: asyncio.AbstractEventLoop | None = None
        self._orders: asyncio.Queue[Sequence[Order]] = asyncio.Queue()
        self._binds: asyncio.Queue[tuple[_Binding, BindPod]] = asyncio.Queue()
        self._sayings = Sayings(pod_of)
        self._usual = Bucket(SAID_PER_SECOND, SAID_PER_SECOND, steady_ms)
        self._quick = Bucket(FIRST_PER_SECOND, FIRST_PER_SECOND // 4, steady_ms)
        self._hurried = Bucket(HURRIED_PER_SECOND, 1, steady_ms)
        self._rush = Rush(RUSH_MS, steady_ms)
        self._evicting, self._sparing = Tasks(), Tasks()
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
            for _ in range(SAID_AT_ONCE):
                group.create_task(self._say_on())
            group.create_task(self._recorder.run())
            while True:
                await self._take(await self._orders.get(), group)

    async def _take(self, orders: Sequence[Order], group: asyncio.TaskGroup) -> None:
        """Begin a batch; the nomination for a place is written before a victim leaves it."""
        askers = {each.beneficiary for each in orders if isinstance(each, Evict)}
        await self._promise([each for each in orders if isinstance(each, Nominate)], askers)
        for order in orders:
            match order:
                case Bind():
                    binding = _Binding(order, len(order.pods))
                    for pod in order.pods:
                        self._binds.put_nowait((binding, pod))
                case Evict():
                    self._begin_evicting(order, group)
                case ChooseNode() | BindVolume():
                    group.create_task(self._choose(order))
                case Spare():
                    self._begin_sparing(order, group)
                case Unsuspend():
                    group.create_task(self._resume(order))
                case Say():
                    self._sayings.put(order.gang, order.pods, order.message)
                    self._something_to_say.set()
                case Note():
                    self._record(order)
        for asker in sorted(askers):
            group.create_task(self._promise_rest(asker))

    async def _promise(self, orders: Sequence[Nominate], askers: set[str]) -> None:
        """Write nominations; those of gangs that others leave for wait for each of these."""
        for order in orders:
            await self._promises.settle(order.gang)
            self._promises.put(order.gang, order.nodes)
            if order.gang not in askers:
                await self._promises.settle(order.gang)

    async def _promise_rest(self, asker: str) -> None:
        """Write the nominations for places that no victim leaves, after all others."""
        async with self._victims:
            await self._promises.settle(asker)

    async def _nominate(self, nodes: Sequence[tuple[PodRef, str]]) -> None:
        """Write nominations: no victim leaves for a gang whose pods do not say so."""
        while nodes and self._pace.may():
            async with self._nominating:
                found = await nominate(self._api, nodes, self._pace)
            nodes = [each for each in nodes if found[each[0].uid].verdict is WriteVerdict.UNKNOWN]
            if nodes:
                await self._clock.pause(AGAIN_S)

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

    async def _bind(self, pod: BindPod) -> WriteOutcome:
        """Bind a pod; while the result is unknown, as in an outage, ask again."""
        end_ms = self._steady_ms() + UNSURE_MS
        while True:
            outcome = await self._bind_once(pod)
            is_known = outcome.verdict is not WriteVerdict.UNKNOWN
            if is_known or not self._pace.may() or self._steady_ms() >= end_ms:
                return outcome
            await self._clock.pause(AGAIN_S)

    async def _bind_once(self, pod: BindPod) -> WriteOutcome:
        ref = pod.pod
        if pod.gated:
            return await ungate(self._api, ref, pod.node, self._pace, self._instance)
        order = BindOrder(ref.namespace, ref.name, ref.uid, pod.node, pod.devices)
        return await bind(self._api, order, self._pace)

    def _begin_evicting(self, order: Evict, group: asyncio.TaskGroup) -> None:
        """Evict a victim; one that was spared before is marked anew when its mark is gone."""
        spared = frozenset(self._sparing.get(order.gang, ()))
        _keep(self._evicting, order.gang, group.create_task(self._evict(order, spared)))

    def _begin_sparing(self, order: Spare, group: asyncio.TaskGroup) -> None:
        """End the eviction that is under way, and no later one."""
        for under_way in self._evicting.pop(order.gang, ()):
            under_way.cancel()
        _keep(self._sparing, order.gang, group.create_task(self._spare(order)))

    async def _choose(self, order: ChooseNode | BindVolume) -> None:
        """Name a node or a volume to a claim; the result is in the objects themselves."""
        outcome = await self._until_known(partial(self._choose_once, order))
        if outcome.verdict is WriteVerdict.REFUSED:
            refused = {order.pod.uid: (How.REFUSED, outcome.message)}
            self._answer(BindDone(order.gang, order.attempt, refused))

    async def _choose_once(self, order: ChooseNode | BindVolume) -> WriteOutcome:
        if isinstance(order, BindVolume):
            return await bind_volume(self._api, order.volume, order.claim, self._pace)
        return await choose_node(self._api, order.claim, order.node, self._pace)

    async def _evict(self, order: Evict, spared: Set[asyncio.Task[None]]) -> None:
        """Have pods leave; where a budget forbids it, ask again until the order is withdrawn.

        A few victims at a time go all the way: the first is gone before the last is begun. A
        suspended owner names the beneficiary itself; only pods that are evicted are marked.
        """
        if spared:
            await asyncio.wait(spared)
        evictions, left = EvictionBatch(self._api, self._pace), list(order.pods)
        async with self._victims:
            if self._victims.locked():
                self._rush.goes_on()
            if order.beneficiary:
                await self._promises.keep(order.beneficiary, self._nodes_of(order))
            if order.owner and order.owner.suspend and await self._suspend(order):
                self._answer(EvictDone(order.gang, order.attempt))
                return
            if order.beneficiary:
                await self._mark(order)
            found = await self._evict_once(order, left, evictions)
        while left := [each for each in left if not _has_left(found[each.uid])]:
            worst = next(found[each.uid] for each in left)
            if worst.verdict is WriteVerdict.BLOCKED:
                self._answer(EvictBlocked(order.gang, order.attempt, worst.message))
            if not self._pace.may():
                return
            await self._clock.pause(max(1, worst.retry_after_s))
            found = await self._evict_once(order, left, evictions)
        self._answer(EvictDone(order.gang, order.attempt))

    async def _evict_once(
        self, order: Evict, pods: list[PodRef], evictions: EvictionBatch
    ) -> dict[str, WriteOutcome]:
        if not order.beneficiary:
            return await unbind(self._api, pods, sentence(order.cause), self._pace)
        return await evictions.evict_all([(e, self._grace(e, order.grace_s)) for e in pods])

    def _grace(self, ref: PodRef, checkpoint_s: int) -> int | None:
        pod = self._pod_of(ref.uid)
        return grace_of(pod, checkpoint_s) if pod else None

    def _nodes_of(self, order: Evict) -> list[str]:
        pods = (self._pod_of(each.uid) for each in order.pods)
        return list(dict.fromkeys(each.spec.node_name for each in pods if each))

    async def _mark(self, order: Evict) -> None:
        """Mark victims, so that the scheduler that takes over knows for which gang they go."""

        async def write(index: int) -> WriteOutcome:
            mark = partial(mark_victim, self._api, order.pods[index], order.beneficiary, self._pace)
            return await self._until_known(mark)

        await each_of(order.pods, write, MARKS_AT_ONCE)

    async def _suspend(self, order: Evict) -> bool:
        assert order.owner
        seen, rest = self._owner_of(order.owner.uid), (self._pace, self._instance)
        outcome = await suspend_owner(self._api, order.owner, order.beneficiary, *rest, seen=seen)
        return outcome.holds

    async def _spare(self, order: Spare) -> None:
        for pod in order.pods:
            await self._until_known(partial(clear_victim, self._api, pod, self._pace))

    async def _resume(self, order: Unsuspend) -> None:
        seen = self._owner_of(order.owner.uid)
        outcome = await resume_owner(self._api, order.owner, self._pace, self._instance, seen=seen)
        if not outcome.holds:
            log.warning("owner not resumed", owner=order.owner.path, why=outcome.message)

    async def _until_known(self, write: Callable[[], Awaitable[WriteOutcome]]) -> WriteOutcome:
        """Write; while it is unknown what came of it, as in an outage, again."""
        outcome = await write()
        while outcome.verdict is WriteVerdict.UNKNOWN and self._pace.may():
            await self._clock.pause(AGAIN_S)
            outcome = await write()
        return outcome

    async def _say_on(self) -> None:
        while True:
            saying = self._sayings.take()
            if saying is None:
                self._something_to_say.clear()
                await self._something_to_say.wait()
            else:
                await self._may_say(saying)
                self._sayings.end(saying, await self._say(saying))

    async def _may_say(self, saying: Saying) -> None:
        """Wait until one more reason may be written; bindings and victims go before."""
        while not (bucket := self._bucket_of(saying)).take():
            await self._clock.pause(bucket.wait_ms() / 1000)

    def _bucket_of(self, saying: Saying) -> Bucket:
        if self.is_hurried() and not saying.is_first:
            return self._hurried
        return self._quick if saying.is_new and self._binds.empty() else self._usual

    def is_hurried(self) -> bool:
        """Whether many victims leave, or did a moment ago: all other writes give way to theirs."""
        return self._victims.locked() or self._rush.lasts()

    async def _say(self, saying: Saying) -> WrittenReason | None:
        """Write what is to be said by now; returns what came of it, None = it is to be retried."""
        pod, message = self._pod_of(saying.pod.metadata.uid), self._sayings.newest(saying)
        if pod is None:
            return None
        outcome = await say_why(self._api, pod, message, self._pace)
        if outcome.verdict is WriteVerdict.UNCHANGED and outcome.message:
            # It has changed since it was seen, as by a nomination: the change is on its way here.
            await self._clock.pause(SEEN_S)
            return None
        return WrittenReason(message, pod if outcome.verdict is WriteVerdict.DONE else None)

    def _record(self, note: Note) -> None:
        happened = Happened(note.regarding, note.reason, note.action, note.message, note.warning)
        self._recorder.record(happened)


def _has_left(outcome: WriteOutcome) -> bool:
    return outcome.verdict in (WriteVerdict.DONE, WriteVerdict.GONE)


def _keep(tasks: Tasks, gang: str, task: asyncio.Task[None]) -> None:
    """Keep a task of a gang until it is done."""
    tasks.setdefault(gang, set()).add(task)

    def forget(done: asyncio.Task[None]) -> None:
        left = tasks.get(gang, set())
        left.discard(done)
        if not left:
            tasks.pop(gang, None)

    task.add_done_callback(forget)
