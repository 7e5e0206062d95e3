"""Whose gang goes next where queues are compared by what they deserve."""

from collections.abc import Iterable

from ganglion.engine.gangs.record import GangRecord
from ganglion.engine.queues.decayed_usage import PastUse
from ganglion.engine.queues.fair_share import Deserved, Scene
from ganglion.engine.search.quota import asked
from ganglion.model.policy import Order
from ganglion.model.queue import ANY_FLAVOR
from ganglion.model.resources import Usage
from ganglion.model.workload import PodSet

Rank = tuple[int, ...]
"""Smaller goes first; compared before the gang's priority where the rules say so."""

_ENDLESS = 1 << 40
_NOTHING = Usage()


class ShareStanding:
    """Ours: gangs within what their queue deserves first, then priority, then the smaller share.

    Level by level from the root, a queue that stays within what it deserves with this gang
    goes before one that does not. Shares are use relative to what is deserved; where use
    decays, past use counts like present use.

    Args:
        scene: the state.
        deserved: what queues are entitled to.
        past: decayed use.
        now: the time in ms.
    """

    def __init__(self, scene: Scene, deserved: Deserved, past: PastUse, now: int) -> None:
        self._shares, self._deserved = scene.queues.shares, deserved
        self._totals = scene.fleet.totals
        self._compares = scene.config.policy.order is Order.FAIR and deserved.divided
        levels = scene.config.policy.usage.levels if past.half_life_ms else ()
        self._past, self._now = past if "queue" in levels else None, now
        self._by_user = past if "user" in levels else None
        self._accounts = deserved.all_accounts()
        self._asked: dict[tuple[PodSet, ...], tuple[tuple[str, ...], int]] = {}

    @property
    def remembers(self) -> bool:
        """Whether queues are compared by what they have used, too."""
        return self._compares and self._past is not None

    def rank(self, record: GangRecord) -> Rank:
        """The rank of a gang as things stand, its priority included, its age not.

        Spare ones go after all others, whatever their queues deserve.
        """
        return (int(record.gang.spare), *self._among_alike(record))

    def _among_alike(self, record: GangRecord) -> Rank:
        gang = record.gang
        if self._compares:
            return self._by_deserved(record)
        return (-gang.priority,)

    def of_user(self, record: GangRecord) -> int:
        """Use of the gang's user in its queue; among equal priorities small goes first.

        In thousandths of GPUs; 0 for all where the policy does not compare users.
        """
        if not self._by_user:
            return 0
        gang = record.gang
        held = self._shares.of_user(gang.queue, gang.user).gpu_milli
        return held + self._by_user.mean(gang.queue, self._now, gang.user)

    def _by_deserved(self, record: GangRecord) -> Rank:
        gang = record.gang
        path = self._shares.path(gang.queue)[::-1]
        wants = self._asked.get(gang.pod_sets)
        if wants is None:
            wants = self._flavors(record), asked(record).gpu_milli
            self._asked[gang.pod_sets] = wants
        flavors, more = wants
        over = [int(self._passes(name, flavors, more)) for name in path]
        # Gangs of shallow queues compare with those of deep ones as if they lay as deep.
        over += [0] * (self._shares.tree.depth - len(path))
        return (*over, -gang.priority, *map(self.share, path))

    def _flavors(self, record: GangRecord) -> tuple[str, ...]:
        if self._accounts == (ANY_FLAVOR,):
            return (ANY_FLAVOR,)
        gpus = (each.request.gpu for each in record.gang.pod_sets if each.request.gpu.count)
        first = next(gpus, None)
        found = self._totals.flavors_with(first.types) if first else ()
        return found or (ANY_FLAVOR,)

    def _passes(self, queue: str, flavors: tuple[str, ...], more: int) -> bool:
        """Whether the queue would use more than it deserves in whichever flavor it got."""
        return all(self._deserved.is_over(queue, flavor, more) for flavor in flavors)

    def share(self, queue: str) -> int:
        """Use in thousandths of what the queue deserves, in the account where that is most."""
        past = self._past.mean(queue, self._now) if self._past else 0
        usage, most = self._shares.usage[queue], 0
        for account in self._accounts:
            used = usage.get(account, _NOTHING).gpu_milli + past
            if used:
                bound = self._deserved.bounds(queue, account)[0][1]
                most = max(most, used * 1000 // bound if bound else _ENDLESS)
        return most


class KaiStanding:
    """KAI-Scheduler's: queues are compared before gangs, level by level from the root.

    A queue goes first that is below its fair share; that stays within its quota with this
    gang; that has the higher priority; that uses nothing of which it has no share; whose
    dominant share is smaller with the gang, then without it; that deserves less; that is
    older. Within a queue: priority, then gangs that do not run yet.

    Source: the documented order of KAI-Scheduler. As there, a queue counts as above its fair
    share only when it is so in GPUs, CPU and memory, and without a quota of CPU it never is.
    """

    def __init__(self, scene: Scene, deserved: Deserved) -> None:
        self._shares, self._deserved = scene.queues.shares, deserved

    def rank(self, record: GangRecord) -> Rank:
        """The rank of a gang as things stand, its priority included, its age not."""
        more = asked(record)
        path = self._shares.path(record.gang.queue)[::-1]
        levels = [part for name in path for part in self._level(name, more)]
        return (int(record.gang.spare), *levels, *_within(record))

    def choose(self, records: Iterable[GangRecord]) -> GangRecord:
        """The gang to look at next among the first ones of their queues (at least one).

        Every queue is represented by the gang of that one of its children which goes first;
        `rank` judges an upper queue by each gang's own size instead, which may differ.
        """
        best: dict[str, GangRecord] = {}
        firsts = list(records)
        for record in [each for each in firsts if not each.gang.spare] or firsts:
            queue = record.gang.queue
            if queue not in best or _within(record) < _within(best[queue]):
                best[queue] = record
        busy = {above for leaf in best for above in self._shares.path(leaf)}
        return self._first("", best, busy)

    def _first(self, queue: str, best: dict[str, GangRecord], busy: set[str]) -> GangRecord:
        if queue in best:
            return best[queue]
        children = [name for name in self._shares.tree.children[queue] if name in busy]
        found = [(name, self._first(name, best, busy)) for name in children]
        return min(found, key=lambda each: self._level(each[0], asked(each[1])))[1]

    def _level(self, name: str, more: Usage) -> Rank:
        quota_kept = all(
            used + getattr(more, kind) <= quota
            for kind, used, quota in self._uses(name)
            if quota is not None
        )
        used, good = self._deserved.used(name), self._allocatable(name)
        wanted = used + more.gpu_milli
        return (
            int(self._is_over(name)),
            int(not quota_kept),
            -self._shares.queues[name].priority,
            int(wanted > 0 and not good),
            _part(wanted, good),
            _part(used, good),
            good,
            self._shares.tree.order[name],
        )

    def _is_over(self, name: str) -> bool:
        return self._deserved.used(name) > self._deserved.milli(name) and all(
            quota is not None and used > quota
            for kind, used, quota in self._uses(name)
            if kind != "gpu_milli"
        )

    def _uses(self, name: str) -> Iterable[tuple[str, int, int | None]]:
        quota = self._shares.queues[name].quota.get(ANY_FLAVOR)
        used = self._shares.usage[name].get(ANY_FLAVOR, _NOTHING)
        yield "gpu_milli", used.gpu_milli, (quota.gpu_milli if quota else None) or 0
        yield "cpu_milli", used.cpu_milli, quota.cpu_milli if quota else None
        yield "memory_mib", used.memory_mib, quota.memory_mib if quota else None

    def _allocatable(self, name: str) -> int:
        limit = self._shares.queues[name].limit.get(ANY_FLAVOR)
        good = self._deserved.bound(name)
        return good if limit is None or limit.gpu_milli is None else min(good, limit.gpu_milli)


def _within(record: GangRecord) -> Rank:
    return (-record.gang.priority, int(record.placement is not None))


def _part(used: int, good: int) -> int:
    return used * _ENDLESS // good if good else used and _ENDLESS * used
