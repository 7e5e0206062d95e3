"""Who deserves what: usage, quota and limits along the queue tree.

Usage of a leaf counts in every queue above it. A start is within its means when at every
queue on the way up: no limit is passed; work that nobody may stop stays within quota; and
what others keep back from lending stays free.
"""

from collections.abc import Callable, Iterator

from ganglion.model.errors import Conflict, NotFound
from ganglion.model.queue import ANY_FLAVOR, Queue
from ganglion.model.reasons import Reason, Remedy, Token
from ganglion.model.resources import Amount, Usage, decimal

_KINDS = ("gpu_milli", "cpu_milli", "memory_mib")
_WORDS = {"gpu_milli": "GPUs", "cpu_milli": "CPUs", "memory_mib": "MiB of memory"}
NOTHING = Usage()


class Shares:
    """The queue tree with what each queue uses.

    Attributes:
        queues: by name.
        usage: queue -> flavor (and `*`) -> in use, subtree included.
        fixed: the same, of gangs that nobody may stop.
    """

    def __init__(self) -> None:
        self.queues: dict[str, Queue] = {}
        self.usage: dict[str, dict[str, Usage]] = {}
        self.fixed: dict[str, dict[str, Usage]] = {}
        self._paths: dict[str, tuple[str, ...]] = {}
        self._children: dict[str, list[str]] = {}
        self._lenders: list[str] = []
        self._known_shares: dict[str, int] = {}
        self._governed: set[str] = set()

    def put(self, queue: Queue) -> None:
        """Make or change a queue. Raises NotFound for its parent, Conflict for a cycle."""
        if queue.parent and queue.parent not in self.queues:
            raise NotFound(f"queue {queue.name}: there is no queue {queue.parent} to be its parent")
        if queue.parent and queue.name in self.path(queue.parent):
            raise Conflict(f"queue {queue.name} cannot lie under itself")
        old = self.queues.get(queue.name)
        if old and old.parent != queue.parent and any(self.usage[queue.name].values()):
            raise Conflict(f"queue {queue.name} cannot move while gangs run in it")
        self.queues[queue.name] = queue
        self.usage.setdefault(queue.name, {})
        self.fixed.setdefault(queue.name, {})
        self._index()

    def remove(self, name: str) -> None:
        """Remove a queue without children. Raises NotFound, Conflict."""
        if name not in self.queues:
            raise NotFound(f"there is no queue {name}")
        if self._children.get(name):
            raise Conflict(f"queue {name} still has queues under it", "remove those first")
        del self.queues[name], self.usage[name], self.fixed[name]
        self._index()

    def path(self, name: str) -> tuple[str, ...]:
        """The queue and all above it, the root last. Raises NotFound."""
        found = self._paths.get(name)
        if found is None:
            raise NotFound(f"there is no queue {name}")
        return found

    def is_leaf(self, name: str) -> bool:
        """Whether gangs may be charged to the queue."""
        return not self._children.get(name)

    def charge(self, queue: str, flavor: str, usage: Usage, preemptible: bool, sign: int) -> None:
        """Add (`sign` 1) or take back (-1) what a gang uses of a flavor."""
        for name in self.path(queue):
            self._known_shares.pop(name, None)
            for key in (flavor, ANY_FLAVOR):
                _add(self.usage[name], key, usage, sign)
                if not preemptible:
                    _add(self.fixed[name], key, usage, sign)

    def is_governed(self, queue: str) -> bool:
        """Whether anything but capacity bounds the queue."""
        return queue in self._governed

    def refusal(
        self,
        queue: str,
        flavor: str,
        asked: Usage,
        preemptible: bool,
        free: Callable[[str], int],
    ) -> Reason | None:
        """Why the queue may not use that much more of a flavor; None = it may.

        Args:
            queue: leaf queue.
            flavor: flavor, or `*` for all of them together.
            asked: what would be added.
            preemptible: whether others may stop it.
            free: thousandths of GPUs free of a flavor in the fleet.
        """
        for name in self.path(queue):
            bound = self.queues[name].limit.get(flavor)
            reason = bound and _over(
                name, "limit", flavor, bound, self.usage[name].get(flavor, NOTHING), asked
            )
            if not reason and not preemptible:
                bound = self.queues[name].quota.get(flavor)
                reason = bound and _over(
                    name, "quota", flavor, bound, self.fixed[name].get(flavor, NOTHING), asked
                )
            if reason:
                return reason
        return self._kept_back(queue, flavor, asked, free)

    def share(self, queue: str) -> tuple[int, ...]:
        """Use relative to what is deserved, root first, in thousandths; small goes first."""
        known = self._known_shares
        shares = []
        for name in self.path(queue)[::-1]:
            if name not in known:
                known[name] = self._share(name)
            shares.append(known[name])
        return tuple(shares)

    def _share(self, name: str) -> int:
        queue = self.queues[name]
        used = self.usage[name]
        shares = [
            used.get(flavor, NOTHING).gpu_milli * 1000 // amount.gpu_milli
            for flavor, amount in queue.quota.items()
            if amount.gpu_milli
        ]
        if shares:
            return max(shares)
        # Without quota everything is over quota: the weight divides it.
        return used.get(ANY_FLAVOR, NOTHING).gpu_milli // max(queue.over_quota_weight, 1)

    def _kept_back(
        self, queue: str, flavor: str, asked: Usage, free: Callable[[str], int]
    ) -> Reason | None:
        kept = 0
        path = self.path(queue)
        for name in self._lenders:
            if name not in path:
                kept += self._unlent(self.queues[name], flavor)
        if kept and asked.gpu_milli > free(flavor) - kept:
            return Reason(
                Token.QUOTA,
                f"{_number('gpu_milli', kept)} free GPUs are kept back by queues that do not"
                f" lend them; {_number('gpu_milli', asked.gpu_milli)} more would touch those",
                evidence={"asked_milli": asked.gpu_milli, "kept_milli": kept},
            )
        return None

    def _unlent(self, queue: Queue, flavor: str) -> int:
        quota, lend = queue.quota.get(flavor), queue.lend_limit.get(flavor)
        if not quota or not lend or not quota.gpu_milli or lend.gpu_milli is None:
            return 0
        used = self.usage[queue.name].get(flavor, NOTHING).gpu_milli
        return max(0, quota.gpu_milli - used - lend.gpu_milli)

    def _index(self) -> None:
        self._children, self._paths, self._known_shares = {}, {}, {}
        for name, queue in self.queues.items():
            self._children.setdefault(queue.parent, []).append(name)
            self._paths[name] = tuple(self._up(name))
        self._lenders = sorted(name for name, queue in self.queues.items() if queue.lend_limit)
        self._governed = {name for name in self.queues if self._is_bounded(name)}

    def _is_bounded(self, queue: str) -> bool:
        above = (self.queues[name] for name in self._paths[queue])
        return bool(self._lenders) or any(each.limit or each.quota for each in above)

    def _up(self, name: str) -> Iterator[str]:
        while name:
            yield name
            name = self.queues[name].parent


def _add(table: dict[str, Usage], key: str, usage: Usage, sign: int) -> None:
    table[key] = table.get(key, NOTHING).plus(usage, sign)


def _over(
    name: str, word: str, flavor: str, bound: Amount, used: Usage, asked: Usage
) -> Reason | None:
    for kind in _KINDS:
        most = getattr(bound, kind)
        now, more = getattr(used, kind), getattr(asked, kind)
        if most is None or not more or now + more <= most:
            continue
        numbers, unit = {"used": now, word: most, "asked": more}, kind.partition("_")[2]
        what = _WORDS[kind] if flavor == ANY_FLAVOR else f"{flavor} {_WORDS[kind]}"
        return Reason(
            Token.QUOTA,
            f"queue {name} uses {_number(kind, now)} of its {word} of"
            f" {_number(kind, most)} {what}; {_number(kind, more)} more would pass it",
            never=more > most,
            evidence={f"{key}_{unit}": value for key, value in numbers.items()},
            remedy=Remedy.ADMIN if more > most else Remedy.WAIT,
        )
    return None


def _number(kind: str, value: int) -> str:
    return str(value) if kind == "memory_mib" else decimal(value)
