"""The controller: what the clusters show goes in, what is to be written comes out.

It does no I/O and reads no clock. Given the same changes at the same times it orders the same
writes, so all of it can be tested without a cluster.
"""

from collections.abc import Iterable, Sequence
from functools import partial
from heapq import heappop, heappush

from msgspec.structs import replace

from ganglion.engine.cycle import cycle
from ganglion.engine.plugins.protocols import Plugins
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.lifecycle.failures.quarantine import Quarantine
from ganglion.model.events import PolicySet, QueueRemoved, QueueSet
from ganglion.model.plan import Plan
from ganglion.model.policy import Policy
from ganglion.model.queue import Queue
from ganglion.worlds.kubernetes.attempts.admit import COMING_MS, admit, forget, is_being_made
from ganglion.worlds.kubernetes.attempts.images import look_at, look_at_all
from ganglion.worlds.kubernetes.attempts.lifecycle import answered, lost, tend
from ganglion.worlds.kubernetes.attempts.plan_to_orders import carry
from ganglion.worlds.kubernetes.attempts.readiness import next_look
from ganglion.worlds.kubernetes.attempts.recover import adopt, claim_everything
from ganglion.worlds.kubernetes.attempts.resume import SuspendedOwners
from ganglion.worlds.kubernetes.attempts.spent_budgets import SpentBudgets
from ganglion.worlds.kubernetes.attempts.undo_blocked_evictions import revive_blocked
from ganglion.worlds.kubernetes.cluster_view.attempt import Attempt, AttemptStage
from ganglion.worlds.kubernetes.cluster_view.cluster_view import ClusterView
from ganglion.worlds.kubernetes.cluster_view.orders import (
    Answer,
    BindDone,
    Describe,
    EvictBlocked,
    EvictDone,
    Note,
    ObjectChanged,
    Order,
    Unsuspend,
)
from ganglion.worlds.kubernetes.cluster_view.quarantine import is_refusal
from ganglion.worlds.kubernetes.cluster_view.settings import Settings
from ganglion.worlds.kubernetes.controller_state.controller_state import ControllerState
from ganglion.worlds.kubernetes.feasibility_plugin.plugin import (
    FeasibilityPlugin,
    FeasibilityTurn,
)
from ganglion.worlds.kubernetes.reasons.noting import note
from ganglion.worlds.kubernetes.reasons.pod_reasons import Teller
from ganglion.worlds.kubernetes.types.pod import Pod
from ganglion.worlds.kubernetes.workload_discovery.found import FoundGang
from ganglion.worlds.kubernetes.workload_kinds.owners import WantedOwner

News = ObjectChanged | Answer

FEW_ADMITTED, MOST_ADMITTED = 250, 2_000
"""Waiting gangs looked at in one turn: few at first, so that binding begins early, then twice as
many each time, as long as there are more."""


class ClusterController:
    """Decides for one or more clusters.

    Args:
        clusters: their names; one that is empty where there is only one.
        settings: timeouts, rates and limits of the controller.
        policy: how the engine decides.
        plugins: those of the policy, to which those of Kubernetes are added.

    Attributes:
        scene: everything that is known.
        sites: all clusters, with those that are set aside.
        plan: of the last turn.
        feasibility: which nodes pods may use.
        budgets: what becomes of gangs once budgets are spent.
    """

    def __init__(
        self, clusters: Sequence[str], settings: Settings, policy: Policy, plugins: Plugins
    ) -> None:
        self.sites = {
            name: ClusterView(name, settings.sources, settings.instance) for name in clusters
        }
        self.feasibility = FeasibilityPlugin(self.sites)
        state = ClusterState(policy, self.feasibility.plugins(plugins))
        quarantine = Quarantine(settings.refusals, settings.quarantine_ms)
        self.scene = ControllerState(settings, state, self.sites, quarantine)
        for site in self.sites.values():
            site.grouping.failed = partial(self._not_understood, site)
        self.plan = Plan(0)
        self._teller, self._suspended = Teller(), SuspendedOwners()
        self.budgets = SpentBudgets()
        self._timers: list[tuple[int, str]] = []
        self._answers: list[Answer] = []
        self._adopted: set[str] = set()
        self._most = FEW_ADMITTED
        self._is_open = False

    def equip(self, policy: Policy, plugins: Plugins) -> None:
        """Decide by other plugins; only before the first turn, while the engine knows nothing."""
        self.scene.use(ClusterState(policy, self.feasibility.plugins(plugins)))

    def configure(
        self, queues: Sequence[Queue], policy: Policy, now: int, version: int = 0
    ) -> None:
        """Have other queues and another policy, of a generation; parents before their children."""
        scene, state = self.scene, self.scene.state
        self._open()
        scene.facts.apply(PolicySet(now, policy, version))
        for queue in queues:
            scene.facts.apply(QueueSet(now, queue))
        wanted = {queue.name for queue in queues}
        for name in [each for each in reversed(list(state.queues.by_name)) if each not in wanted]:
            scene.facts.apply(QueueRemoved(now, name))
        scene.gangs.touched.update(
            gang for gang in scene.gangs.founds if gang not in scene.attempts.by_gang
        )

    def observe(self, news: Iterable[News]) -> None:
        """Take news in without deciding anything, as one that does not lead does."""
        for each in news:
            if isinstance(each, ObjectChanged):
                self._take(each)
            else:
                self._answers.append(each)

    def _take(self, change: ObjectChanged) -> None:
        site = self.sites[change.cluster]
        name = f"{site.prefix}{change.uid}"
        try:
            site.take(change)
        except Exception as error:
            self.scene.facts.failed(change.kind, name, error)
        else:
            self.scene.facts.understood(change.kind, name)

    def settle(self) -> None:
        """Work out what is known so far of clusters that are still being listed."""
        for site in self.sites.values():
            site.settle()

    def stand_by(self) -> None:
        """Keep no news that only the leader needs: another may lead for weeks."""
        for site in self.sites.values():
            site.news, site.gone_pods, site.over = [], [], []
        self._answers = []

    def set_aside(self, clusters: Iterable[str]) -> None:
        """Decide without some clusters; those that took part before cannot be set aside.

        What is observed of them is kept, and taken over as it is once they take part.
        """
        aside = set(clusters) - self._adopted
        self.scene.sites = {name: site for name, site in self.sites.items() if name not in aside}

    def wanted_owners(self, cluster: str) -> set[WantedOwner]:
        """Objects that have to be known before some gang can be understood."""
        return self.sites[cluster].grouping.wanted_owners()

    def cluster_of(self, order: Order) -> str:
        """The cluster to which an order is to be written."""
        if isinstance(order, Note | Unsuspend | Describe):
            return order.cluster
        return self.scene.site_of(order.gang).name

    def validate(self) -> None:
        """Check every invariant, between turns. Raises InvariantBroken."""
        self.scene.state.validate()
        self.scene.validate()
        self._suspended.check(self.scene)

    def turn(self, news: Iterable[News], now: int) -> list[Order]:
        """Take news in, decide, and say what is to be written, in that order."""
        scene = self.scene
        scene.orders = []
        self._open()
        self.observe(news)
        answers, self._answers = self._answers, []
        self._follow_pods(now)
        newcomers, settled = self._newcomers(), set[str]()
        if newcomers:
            claim_everything(newcomers)
        feasible = self.feasibility.refresh(scene, newcomers, now)
        if newcomers:
            adopt(newcomers, feasible, now)
            begun = newcomers.attempts.by_gang
            scene.attempts.take_over(newcomers.attempts)
            look_at_all(scene, begun.values(), now)
            self._adopted.update(newcomers.sites)
            settled = {gang for gang, each in begun.items() if _sits(scene, each)}
            scene.gangs.touched -= settled  # those that wait come first
        self._hear(answers, now)
        self._ring(now)
        self._attend(now)
        self._admit(feasible, now)
        self._suspended.resume(scene, now, knows_budgets=self.budgets.is_told)
        self.budgets.look(scene, now)
        isolate = scene.settings.isolate
        self.plan = feasible.decide(lambda: cycle(scene.state, [], now, isolate=isolate))
        scene.facts.report(self.plan)
        carry(scene, self.feasibility, self.plan)
        for start in self.plan.starts:
            self._teller.heed(scene, start.gang.id)
        for resize in self.plan.resizes:
            self._teller.heed(scene, resize.gang.id)
        self._attend(now)
        scene.gangs.touched |= settled
        self._teller.tell(scene, now)
        self._is_open = False
        return scene.orders

    def _open(self) -> None:
        """Begin a turn, of which what was set before it is a part, and a turn that failed."""
        if not self._is_open:
            self.scene.facts.open()
            self._is_open = True

    def _newcomers(self) -> ControllerState | None:
        """The part of the scene that shows clusters which take part for the first time."""
        scene = self.scene
        sites = {name: site for name, site in scene.sites.items() if name not in self._adopted}
        return scene.among(sites) if sites else None

    def next_wake(self, now: int) -> int | None:
        """When the time alone makes a difference next, in ms; None = never."""
        times = [
            self.scene.state.next_wake(),
            self.scene.quarantine.next_end(),
            self._timers[0][0] if self._timers else None,
            self.budgets.due,
            None if self._teller.is_done() and not self.scene.unsure else now,
            now if self.scene.gangs.touched else None,
        ]
        return min((each for each in times if each is not None), default=None)

    def _follow_pods(self, now: int) -> None:
        """Find out which gangs the pods' changes concern."""
        scene = self.scene
        for site in scene.sites.values():
            site.settle()
            for pod in site.news:
                self._follow(pod.metadata.uid, pod.spec.node_name)
            look_at(scene, (*site.news, *site.over), now)
            for pod in filter(is_refusal, site.over):
                self._refused(site, pod, now)
            for uid, ended in site.gone_pods:
                if (attempt := scene.attempts.of_pod(uid)) is not None:
                    lost(scene, attempt, uid, ended, now)
                    scene.gangs.touched.add(attempt.gang)
            if site.restock():
                self._restocked(site)
            site.news, site.gone_pods, site.over = [], [], []
            for key in sorted(site.grouping.take_dirty()):
                gang = site.prefix + key
                found = site.grouping.found(key)
                if found is None:
                    scene.gangs.founds.pop(gang, None)
                    scene.facts.understood("gang", gang)
                else:
                    scene.gangs.founds[gang] = self._divided(site, gang, found)
                scene.gangs.touched.add(gang)

    def _not_understood(self, site: ClusterView, key: str, error: Exception) -> str:
        return self.scene.facts.failed("gang", site.prefix + key, error)

    def _divided(self, site: ClusterView, gang: str, found: FoundGang) -> FoundGang:
        try:
            is_fixed = gang in self.scene.attempts.by_gang
            return self.feasibility.divided(site, gang, found, is_fixed=is_fixed)
        except Exception as error:
            return replace(found, refused=self.scene.facts.failed("gang", gang, error))

    def _restocked(self, site: ClusterView) -> None:
        """Claims or volumes have changed: gangs may wait for them."""
        for attempt in self.scene.attempts.by_gang.values():
            if attempt.claims and attempt.cluster == site.name:
                self.scene.gangs.touched.add(attempt.gang)

    def _follow(self, uid: str, node: str) -> None:
        """A seated pod that is seen bound is bound, whatever its order's answer is."""
        if (attempt := self.scene.attempts.of_pod(uid)) is None:
            return
        if node and uid not in attempt.bound:
            attempt.asked.discard(uid)
            attempt.bound.add(uid)
        self.scene.gangs.touched.add(attempt.gang)

    def _refused(self, site: ClusterView, pod: Pod, now: int) -> None:
        """A kubelet did not admit a pod."""
        scene, node, why = self.scene, pod.spec.node_name, f"it refused pods: {pod.status.reason}"
        if (attempt := scene.attempts.of_pod(pod.metadata.uid)) is not None:
            attempt.turn_away(pod.metadata.uid)
        if scene.quarantine.strike(site.prefix + node, why, now):
            site.changed_nodes.add(node)
            scene.tell_quarantine(site, node, now)

    def _hear(self, answers: Sequence[Answer], now: int) -> None:
        scene = self.scene
        for answer in answers:
            attempt = scene.attempts.by_gang.get(answer.gang)
            if attempt is None or attempt.number != answer.attempt:
                continue
            if isinstance(answer, BindDone):
                self._bound(attempt, answer, now)
            elif isinstance(answer, EvictBlocked):
                self._blocked(attempt, answer, now)
            elif isinstance(answer, EvictDone):
                scene.evictions.blocked.pop(answer.gang, None)
            scene.gangs.touched.add(answer.gang)

    def _bound(self, attempt: Attempt, answer: BindDone, now: int) -> None:
        try:
            answered(self.scene, self.feasibility, attempt, answer, now)
        except Exception as error:
            self.scene.facts.failed("gang", attempt.gang, error)

    def _blocked(self, attempt: Attempt, answer: EvictBlocked, now: int) -> None:
        """A budget keeps victims where they are."""
        since = self.scene.evictions.blocked.setdefault(attempt.gang, now)
        if since == now:
            told, gang = ("EvictionBlocked", "Evicting", answer.message), attempt.gang
            note(self.scene, gang, *told, warning=True)

    def _ring(self, now: int) -> None:
        """Look at whatever only the time has changed."""
        scene = self.scene
        while self._timers and self._timers[0][0] <= now:
            _, gang = heappop(self._timers)
            scene.gangs.touched.add(gang)
        for site in scene.sites.values():
            site.volumes.try_again(now - scene.settings.quarantine_ms)
        for node in scene.quarantine.over(now):
            site, name = scene.site_of_node(node)
            site.changed_nodes.add(name)
        revive_blocked(scene, now)
        for gang, since in list(scene.gangs.awaited.items()):
            if now - since >= scene.settings.assemble_ms:
                del scene.gangs.awaited[gang]
                if gang not in scene.gangs.founds:
                    forget(scene, self.feasibility, gang, now)

    def _attend(self, now: int) -> None:
        """Look at placed gangs that something happened to; those without a place are left."""
        scene, waiting = self.scene, set[str]()
        while scene.gangs.touched:
            touched, scene.gangs.touched = sorted(scene.gangs.touched), set()
            for gang in touched:
                attempt = scene.attempts.by_gang.get(gang)
                if attempt:
                    self._tend(attempt, now)
                self._teller.heed(scene, gang)
                if gang not in scene.attempts.by_gang:
                    waiting.add(gang)
        scene.gangs.touched = waiting

    def _tend(self, attempt: Attempt, now: int) -> None:
        try:
            tend(self.scene, self.feasibility, attempt, now)
            self._set_timer(attempt, now)
        except Exception as error:
            self.scene.facts.failed("gang", attempt.gang, error)

    def _admit(self, feasible: FeasibilityTurn, now: int) -> None:
        """Look at the first of the gangs without a place; at others in the next turns."""
        scene = self.scene
        for gang in sorted(scene.gangs.touched, key=self._rank)[: self._most]:
            admit(scene, feasible, scene.site_of(gang), gang, now)
            scene.gangs.touched.discard(gang)
            found = scene.gangs.founds.get(gang)
            if found and is_being_made(found, now):
                heappush(self._timers, (now + COMING_MS, gang))
        self._most = min(2 * self._most, MOST_ADMITTED) if scene.gangs.touched else FEW_ADMITTED

    def _rank(self, gang: str) -> tuple[int, int, str]:
        """Gangs that are gone first, then the most important, then the oldest."""
        found = self.scene.gangs.founds.get(gang)
        return (-found.priority, found.created_ms, gang) if found else (-(1 << 32), 0, gang)

    def _set_timer(self, attempt: Attempt, now: int) -> None:
        settings = self.scene.settings
        if attempt.gang not in self.scene.attempts.by_gang:
            return
        if attempt.stage is AttemptStage.ASSEMBLING:
            heappush(self._timers, (attempt.since + settings.assemble_ms, attempt.gang))
        elif attempt.claims:
            heappush(self._timers, (now + settings.provision_ms, attempt.gang))
        elif look := next_look(self.scene, attempt):
            heappush(self._timers, (look, attempt.gang))
        elif attempt.vacant and not attempt.pods:
            heappush(self._timers, (now + settings.replace_ms, attempt.gang))


def _sits(scene: ControllerState, attempt: Attempt) -> bool:
    """Whether all pods of a gang have their places, so that nothing about it is urgent."""
    members = scene.gangs.founds[attempt.gang].members if attempt.gang in scene.gangs.founds else ()
    is_whole = len(members) == len(attempt.pods) == len(attempt.places)
    return is_whole and attempt.stage is AttemptStage.BINDING
