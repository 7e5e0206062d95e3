"""The scheduler of one or more clusters: three threads that share as little as they can.

One follows the clusters and writes to them, one decides, one holds the Lease. Nothing is kept
on disk: the clusters are the only truth, and a scheduler that starts finds in them whatever
another had begun.
"""

import asyncio
import gc
import queue
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import structlog
from msgspec.structs import replace

from ganglion.engine.plugins.protocols import Plugins
from ganglion.lifecycle.budgets import MoneyWord
from ganglion.model.policy import Policy
from ganglion.seams.effects import SYSTEM, Effects
from ganglion.worlds.kubernetes.cluster_view.orders import Order
from ganglion.worlds.kubernetes.cluster_view.settings import Settings
from ganglion.worlds.kubernetes.config.read import Configuration
from ganglion.worlds.kubernetes.connection import Connection
from ganglion.worlds.kubernetes.controller import ClusterController, News
from ganglion.worlds.kubernetes.http.client import SILENCE_S
from ganglion.worlds.kubernetes.http.tally import Call
from ganglion.worlds.kubernetes.queue_config import QueueObjects, named_plugins, plugin_check
from ganglion.worlds.kubernetes.reporting.reports import (
    Reporter,
    figures_of,
    notes_on,
    reserved,
    unsettled,
)
from ganglion.worlds.kubernetes.sign_in.config import ApiEndpoint

PAUSE_S = 0.5
"""Longest time between two turns."""
CALM_S = 0.1
"""The same at the start, until what was found then is decided and written."""
GATHER_S, GATHER_CROWD_S = 0.002, 0.02
"""How long news is gathered before the next turn: longer after one with much of it, so that a
burst is decided at once."""
CROWD = 20
MOST_NEWS = 20_000

Turned = Callable[[ClusterController, Sequence[Order], float], None]
"""(the controller, its orders, seconds that the turn took)."""

log = structlog.get_logger(__name__)

OF_ALL = ("topology", "devices")
"""Troubles of a cluster that concern more than one object; they are logged."""


class Scheduler:
    """Schedules the GPU pods of clusters.

    Args:
        endpoints: by name of the cluster; the name is empty where there is only one.
        identity: of this process, for events.
        may: whether we lead.
        load: makes the plugins of a policy.
        settings: timeouts, rates and limits of the controller.
        turned: called after every turn, in the deciding thread.
        policy_name: name of the `Policy` object that decides.
        decided: called after every turn before anything is written to clusters, with its time in
            ms; it must not raise.
        money: prices and budgets, as a server said last; None = nothing is known of any.
        outdated: called in the deciding thread when the policy names other plugins than before:
            a process that starts anew has them.
        clock: the time in ms since 1970; only waits and reports depend on it. None = of `effects`.
        silence_s: silence after which a watch is taken for dead, in seconds.
        effects: clocks and chance.

    Attributes:
        controller: decides; looked at through `read`.
        ready: set once the clusters are known.
        calm: set once what was found in them at the start has been decided and written.
        turns: how many were taken.
        instance: which of several schedulers of the clusters it is.
    """

    def __init__(
        self,
        endpoints: Mapping[str, ApiEndpoint],
        identity: str,
        *,
        may: Callable[[], bool],
        load: Callable[[Policy], Plugins],
        settings: Settings | None = None,
        turned: Turned = lambda _brain, _orders, _seconds: None,
        policy_name: str = "default",
        decided: Callable[[ClusterController, int], None] = lambda _brain, _now: None,
        money: Callable[[], MoneyWord | None] = lambda: None,
        outdated: Callable[[], None] = lambda: None,
        clock: Callable[[], int] | None = None,
        silence_s: float = SILENCE_S,
        effects: Effects = SYSTEM,
    ) -> None:
        policy = replace(Policy(), repair=True)
        self.controller = ClusterController(
            list(endpoints), settings or Settings(), policy, load(policy)
        )
        own = settings or Settings()
        default, instance = own.default_queue, own.instance
        self.instance = instance
        self._tree = QueueObjects(policy_name, plugin_check(load), default, instance)
        self._reporter = Reporter()
        self._load, self._outdated, self._plugins = load, outdated, named_plugins(policy)
        self._may, self._turned, self._decided = may, turned, decided
        self._money: Callable[[], MoneyWord | None] = money
        self._heard: MoneyWord | None = None
        self._has_new_queues = False
        self._steady, self._clock = effects.clock, clock or effects.clock.now_ms
        self._inbox: queue.SimpleQueue[Sequence[News]] = queue.SimpleQueue()
        self._lock = threading.RLock()
        self._stopping = threading.Event()
        self._connections = {
            name: Connection(
                name,
                endpoint,
                identity,
                may=may,
                news=self._inbox.put,
                pod_of=self.controller.sites[name].pods.get,
                owner_of=self.controller.sites[name].owners.get,
                silence_s=silence_s,
                instance=instance,
                effects=effects,
            )
            for name, endpoint in endpoints.items()
        }
        self._loop: asyncio.AbstractEventLoop | None = None
        self._fatal = self._failed = ""
        self.ready, self.calm = threading.Event(), threading.Event()
        self._crowded = False
        self._logged: dict[str, dict[str, tuple[str, ...]]] = {}
        self.turns = 0

    # --- for other threads ------------------------------------------------------------------

    @contextmanager
    def read(self) -> Iterator[ClusterController]:
        """Look at what is known between turns; it must be left as it is."""
        with self._lock:
            yield self.controller

    @property
    def trouble(self) -> str:
        """Why it does not work and has to be started anew, or turns fail; empty = all is well."""
        return self._fatal or self._failed

    def leads(self) -> bool:
        """Whether it decides."""
        return self._may()

    def troubles(self) -> dict[str, str]:
        """What cannot be followed at present, and why; clusters that are set aside by name."""
        found = {
            f"{name}{path}": why
            for name, each in self._connections.items()
            for path, why in each.troubles().items()
        }
        return {name: f"cluster {name} is set aside: {why}" for name, why in self.aside()} | found

    def aside(self) -> list[tuple[str, str]]:
        """Clusters that could not be reached so far, and why: the others are decided for."""
        return [
            (name, each.stuck())
            for name, each in self._connections.items()
            if name not in self.controller.scene.sites
        ]

    def oddities(self) -> dict[str, tuple[str, ...]]:
        """What is wrong with objects of the clusters: object -> in plain words."""
        with self.read() as controller:
            return {
                f"{site.prefix}{about}": told
                for site in controller.scene.sites.values()
                for about, told in sorted(site.troubles.items())
            }

    def calls(self) -> dict[Call, int]:
        """Requests sent to API servers so far, by what they were about."""
        found: Counter[Call] = Counter()
        for each in self._connections.values():
            found.update(each.calls())
        return dict(found)

    def unwritten(self) -> int:
        """Events that did not fit their budget."""
        return sum(each.unwritten() for each in self._connections.values())

    def start(self) -> None:
        """Begin to follow the clusters and, with the lead, to decide."""
        self._until = self._steady.monotonic() + self.controller.scene.settings.reach_ms / 1000
        self._io = threading.Thread(target=self._follow, name="clusters", daemon=True)
        self._mind = threading.Thread(target=self._decide, name="controller", daemon=True)
        self._io.start()
        self._mind.start()

    def stop(self) -> None:
        """Finish the present turn and write no more."""
        self._stopping.set()
        self._inbox.put(())
        self._mind.join()
        if self._loop:
            self._loop.call_soon_threadsafe(self._cancel)
            self._io.join(timeout=10)

    # --- the thread of the clusters ----------------------------------------------------------

    def _follow(self) -> None:
        try:
            asyncio.run(self._connect())
        except asyncio.CancelledError:
            pass
        except BaseException as error:
            log.exception("the connection to the clusters failed")
            self._fatal = f"the connection to the clusters failed: {error}"
            self._stopping.set()

    async def _connect(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._main = asyncio.current_task()
        async with asyncio.TaskGroup() as group:
            for each in self._connections.values():
                group.create_task(each.run())

    def _cancel(self) -> None:
        if self._main:
            self._main.cancel()

    # --- the deciding thread -----------------------------------------------------------------

    def _decide(self) -> None:
        gc.disable()  # hundreds of thousands of young objects that stay
        try:
            while not self._stopping.is_set():
                self._try_turn(self._gather())
        finally:
            gc.enable()  # it may have ended before its first turn

    def _try_turn(self, news: Sequence[News]) -> None:
        try:
            self._turn(news)
            self._failed = ""
        except Exception as error:
            # Only this thread can decide: it must outlive a bug in one turn, and says so.
            log.exception("turn failed")
            self._failed = f"the last turn failed: {error}"

    def _turn(self, news: Sequence[News]) -> None:
        controller = self.controller
        with self._lock:
            controller.observe(self._tree.sift(news))
            if not self.ready.is_set():
                # Gangs are understood while the rest is listed, and anew if levels change.
                controller.settle()
            if not self._is_ready():
                return
            if not self._may():
                controller.stand_by()
                gc.enable()  # its first turn may be weeks away
                return
            began, now = self._steady.monotonic(), self._clock()
            self._configure(now)
            self._hear_money(now)
            orders = controller.turn((), now)
            orders += notes_on(self._tree.subjects(), controller.budgets.news)
            if not self.turns:
                gc.freeze()
                gc.enable()
            self.turns += 1
            self._decided(controller, now)
            for name, connection in self._connections.items():
                mine = [each for each in orders if controller.cluster_of(each) == name]
                if mine:
                    connection.give(mine)
            self._report(now)
            self._log(controller)
            self._turned(controller, orders, self._steady.monotonic() - began)

    def _log(self, controller: ClusterController) -> None:
        """Write down what the turn could not make sense of; the controller itself does no I/O."""
        for rejection in controller.plan.rejected:
            log.warning("fact set apart", fact=str(rejection.event), error=rejection.message)
        for defect in controller.plan.defects:
            log.error("the engine failed", stage=defect.stage, gang=defect.gang, error=defect.error)
        for site in controller.scene.sites.values():
            odd = {about: site.troubles[about] for about in OF_ALL if about in site.troubles}
            if odd != self._logged.get(site.name, {}):
                self._logged[site.name] = odd
                log.warning("odd", cluster=site.name, **odd)

    def _is_ready(self) -> bool:
        """Whether everything was listed; kinds of owners are found out on the way."""
        more = False
        for name, connection in self._connections.items():
            wanted = {each.collection for each in self.controller.wanted_owners(name)}
            more |= connection.follow_owners(wanted)
        # What was listed last may still lie in the inbox.
        if not more and self._inbox.empty() and self._set_aside():
            self.ready.set()
        return self.ready.is_set()

    def _set_aside(self) -> bool:
        """Decide for clusters that are known; whether none is missing that may yet be.

        After a while unreachable ones are not waited for, as long as there is another;
        they take part from the moment on in which they are known.
        """
        missing = [name for name, each in self._connections.items() if not each.is_synced()]
        aside = [each for each in missing if each not in self.controller.scene.sites]
        if missing != aside:
            stuck = [each for each in missing if self._connections[each].stuck()]
            is_late = self._steady.monotonic() >= self._until and len(stuck) < len(
                self._connections
            )
            if self.ready.is_set() or stuck != missing or not is_late:
                return False
            log.warning("clusters set aside", clusters=stuck)
        self.controller.set_aside(missing)
        return True

    def _configure(self, now: int) -> None:
        found = self._tree.changed(self.controller.scene.state.fleet.totals.flavors())
        if found:
            self._reporter.hurry()
            self._apply(found, now)

    def _apply(self, found: Configuration, now: int) -> None:
        policy = replace(found.policy, repair=True)
        if named_plugins(policy) != self._plugins:
            self._equip(policy)
        self.controller.scene.tenancy = found.tenancy
        self.controller.configure(found.queues, policy, now, self._tree.policy_version)
        self._has_new_queues = True

    def _hear_money(self, now: int) -> None:
        """Go by the budgets that a server said last; those of new queues as well."""
        heard = self._money()
        again = heard is self._heard
        if heard is None or (again and not self._has_new_queues):
            return
        self._heard, self._has_new_queues = heard, False
        try:
            self.controller.scene.state.hear_money(heard.said, now, again=again)
            self.controller.budgets.hear(heard)
        except Exception:
            # What a server says must not keep a scheduler from its work.
            log.exception("budgets of the server set apart")

    def _equip(self, policy: Policy) -> None:
        """Take the plugins that a policy names, as long as nothing was decided by others."""
        if self.turns:
            log.warning("the policy names other plugins, which one that starts anew has")
            self._outdated()
        else:
            self.controller.equip(policy, self._load(policy))
            self._plugins = named_plugins(policy)

    def _report(self, now: int) -> None:
        """Have written what became of queues and policies, where it is time to."""
        found, subjects = self._tree.latest, self._tree.subjects()
        if found is None or not self._reporter.is_due(now):
            return
        state = self.controller.scene.state
        waits = unsettled(state, found.queues)
        if waits:
            self._apply(found, now)
            waits = unsettled(state, found.queues)
        verdicts = reserved(found.verdicts, waits)
        due = self._reporter.due(subjects, verdicts, figures_of(state), now)
        for cluster, statuses in due.items():
            self._connections[cluster].write_statuses(statuses)

    def _gather(self) -> list[News]:
        """Wait for news, at most until something is due, then take all there is."""
        found: list[News] = []
        now = self._clock()
        due = self.controller.next_wake(now) if self.ready.is_set() else None
        pause = PAUSE_S if self.calm.is_set() else CALM_S
        wait = pause if due is None else min(pause, max(0.0, (due - now) / 1000))
        try:
            found.extend(self._inbox.get(timeout=max(wait, 0.001)))
            self._steady.sleep(GATHER_CROWD_S if self._crowded else GATHER_S)
            while len(found) < MOST_NEWS:
                found.extend(self._inbox.get_nowait())
        except queue.Empty:
            if not found and self.ready.is_set() and wait == pause:
                self.calm.set()
        self._crowded = len(found) >= CROWD
        return found
