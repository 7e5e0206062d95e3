"""One cluster's side of the scheduler: what is watched and what is written, in one event loop."""

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence

from ganglion.seams.effects import SYSTEM, Effects
from ganglion.worlds.kubernetes.cluster_view.orders import Answer, Describe, ObjectChanged, Order
from ganglion.worlds.kubernetes.http.client import SILENCE_S, Api
from ganglion.worlds.kubernetes.http.tally import Call
from ganglion.worlds.kubernetes.instance import FIRST, Instance
from ganglion.worlds.kubernetes.order_writer import Hands
from ganglion.worlds.kubernetes.reporting.events import Recorder
from ganglion.worlds.kubernetes.reporting.statuses import SetStatus, StatusWriter
from ganglion.worlds.kubernetes.sign_in.config import ApiEndpoint
from ganglion.worlds.kubernetes.types.meta import Anything
from ganglion.worlds.kubernetes.types.pod import Pod
from ganglion.worlds.kubernetes.watches import ALWAYS, SWITCHED, Watching

IN_FLIGHT = 64
WRITE_S = 5.0
"""No write lasts longer than the Lease is ours after it was last confirmed."""


class Connection:
    """Follows one cluster and writes to it.

    Args:
        name: of the cluster; empty where there is only one.
        endpoint: how to reach it.
        identity: of this process, for events.
        may: whether we lead.
        news: called in the event loop with what happened.
        pod_of: a pod as it was last seen, by UID.
        owner_of: what makes pods, likewise.
        silence_s: silence after which a watch is taken for dead, in seconds.
        instance: which of several schedulers of the cluster we are.
        effects: clock and chance of all that follows and writes.
    """

    def __init__(
        self,
        name: str,
        endpoint: ApiEndpoint,
        identity: str,
        *,
        may: Callable[[], bool],
        news: Callable[[Sequence[ObjectChanged | Answer]], None],
        pod_of: Callable[[str], Pod | None],
        owner_of: Callable[[str], Anything | None],
        silence_s: float = SILENCE_S,
        instance: Instance = FIRST,
        effects: Effects = SYSTEM,
    ) -> None:
        self._effects = effects
        self.name, self._instance = name, instance
        self._silence_s = silence_s
        self._endpoint, self._identity, self._may = endpoint, identity, may
        self._news, self._pod_of = news, pod_of
        self._owner_of = owner_of
        self._loop: asyncio.AbstractEventLoop | None = None
        self._group: asyncio.TaskGroup | None = None
        self._watching: Watching | None = None
        self._hands: Hands | None = None
        self._clients: tuple[Api, ...] = ()
        self._recorder: Recorder | None = None
        self._statuses: StatusWriter | None = None

    async def run(self) -> None:
        """Follow and write until cancelled."""
        reading = Api(self._endpoint, in_flight=8, timeout_s=60.0, effects=self._effects)
        writing = Api(self._endpoint, in_flight=IN_FLIGHT, timeout_s=WRITE_S, effects=self._effects)
        self._loop = asyncio.get_running_loop()
        self._clients = (reading, writing)
        recorder = self._recorder = Recorder(
            writing, self._identity, may=self._may, controller=self._instance.controller
        )
        try:
            async with asyncio.TaskGroup() as group:
                self._group = group
                self._watching = Watching(reading, self.name, self._news, self._silence_s)
                self._hands = Hands(
                    writing,
                    self._may,
                    lambda a: self._news([a]),
                    recorder,
                    self._pod_of,
                    self._owner_of,
                    IN_FLIGHT,
                    self._instance,
                )
                recorder.is_hurried = self._hands.is_hurried
                self._statuses = StatusWriter(writing, self._may)
                owners = self._watching.owner_kinds(set(SWITCHED))
                for reflector in [*owners, *self._watching.reflectors(ALWAYS)]:
                    group.create_task(reflector.run())
                group.create_task(self._hands.run())
                group.create_task(self._statuses.run())
        finally:
            await reading.close()
            await writing.close()

    def is_synced(self) -> bool:
        """Whether everything was listed once."""
        return self._watching is not None and self._watching.is_synced()

    def stuck(self) -> str:
        """Why not everything that is needed was listed yet; empty = it was, or may be soon."""
        return self._watching.stuck() if self._watching else ""

    def troubles(self) -> dict[str, str]:
        """Path -> why it cannot be followed at present."""
        return self._watching.troubles() if self._watching else {}

    def calls(self) -> dict[Call, int]:
        """Requests sent so far, by what they were about; from any thread."""
        found: Counter[Call] = Counter()
        for each in self._clients:
            found.update(each.tally.counts())
        return dict(found)

    def unwritten(self) -> int:
        """Events that were never written."""
        return self._recorder.dropped if self._recorder else 0

    def give(self, orders: Sequence[Order]) -> None:
        """Have orders carried out; from any thread."""
        assert self._hands
        told = [each for each in orders if isinstance(each, Describe)]
        self.write_statuses([SetStatus(each.path, each.version, each.patch) for each in told])
        self._hands.give([each for each in orders if not isinstance(each, Describe)])

    def write_statuses(self, wanted: Sequence[SetStatus]) -> None:
        """Have the status of objects written; from any thread."""
        assert self._statuses
        self._statuses.give(wanted)

    def follow_owners(self, paths: set[str]) -> bool:
        """Watch more kinds of owners, from any thread; returns whether any is new."""
        watching, loop = self._watching, self._loop
        if watching is None or loop is None or paths <= watching.owners:
            return False

        def follow() -> None:
            assert self._group and self._watching
            for reflector in self._watching.owner_kinds(paths):
                self._group.create_task(reflector.run())

        loop.call_soon_threadsafe(follow)
        return True
