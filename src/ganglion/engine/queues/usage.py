"""What the queues use, and what they may: usage along the queue tree.

Usage of a leaf counts in every queue above it.
"""

from collections.abc import Callable, Iterator

from ganglion.engine.queues.lending import NOTHING, Lending
from ganglion.engine.queues.limits import AdditionalUse, Passed, QueueBound, QueueLimits
from ganglion.engine.queues.tree import QueueTree
from ganglion.model.errors import Conflict
from ganglion.model.queue import ANY_FLAVOR, Queue
from ganglion.model.resources import Usage


class Shares:
    """The queue tree with what each queue uses.

    Attributes:
        tree: the queues and which of them lies under which.
        queues: by name.
        usage: queue -> flavor (and `*`) -> in use, subtree included; nothing of zeros.
        fixed: the same, of gangs that may not be preempted.
        users: leaf -> user -> flavor (and `*`) -> in use; users without use are left out.
        version: grows whenever a queue or its use changes.
        charged: queues that have changed, and leaves whose use has, for the one reader that
            follows them and empties this.
    """

    def __init__(self) -> None:
        self.tree = QueueTree()
        self.queues: dict[str, Queue] = self.tree.queues
        self.usage: dict[str, dict[str, Usage]] = {}
        self.fixed: dict[str, dict[str, Usage]] = {}
        self.users: dict[str, dict[str, dict[str, Usage]]] = {}
        self.version = 0
        self.charged: dict[str, None] = {}
        self._lending = Lending(self.tree, self.usage)
        self._bounds = QueueLimits(self.tree, self.usage, self.fixed, self.of_user, self._lending)

    def put(self, queue: Queue) -> None:
        """Make or change a queue.

        Raises:
            FieldError: a negative amount or weight.
            NotFound: there is no such parent.
            Conflict: it would lie under itself, or move while gangs run in it.
        """
        name, old = queue.name, self.queues.get(queue.name)
        if old and old.parent != queue.parent and self.usage[name]:
            raise Conflict(f"queue {name} cannot move while gangs run in it")
        self.tree.put(queue)
        for table in (self.usage, self.fixed):
            table.setdefault(name, {})
        self.users.setdefault(name, {})
        self.charged[name] = None
        self._changed()

    def remove(self, name: str) -> None:
        """Remove a queue without children. Raises NotFound, Conflict."""
        self.tree.remove(name)
        del self.usage[name], self.fixed[name], self.users[name]
        self.charged.pop(name, None)
        self._changed()

    def path(self, name: str) -> tuple[str, ...]:
        """The queue and all above it, the root last. Raises NotFound."""
        return self.tree.path(name)

    def is_leaf(self, name: str) -> bool:
        """Whether gangs may be charged to the queue."""
        return self.tree.is_leaf(name)

    def is_governed(self, queue: str, preemptible: bool = False) -> bool:
        """Whether anything but capacity bounds what the queue may start."""
        return self.tree.lends or bool(self.tree.binding(queue, preemptible))

    def charge(
        self, queue: str, flavor: str, usage: Usage, preemptible: bool, sign: int, user: str = ""
    ) -> None:
        """Add (`sign` 1) or take back (-1) what a gang uses of a flavor."""
        path = self.tree.path(queue)
        self.version += 1
        self.charged[queue] = None
        tables = [self.usage[name] for name in path]
        if not preemptible:
            tables += [self.fixed[name] for name in path]
        users = self.users[queue]
        mine = users.get(user)
        if mine is None:
            mine = users[user] = {}
        for table in (*tables, mine):
            for key in (flavor, ANY_FLAVOR):
                table[key] = total = table.get(key, NOTHING).plus(usage, sign)
                if total == NOTHING:
                    del table[key]
        if not mine:
            del users[user]
        if self.tree.lends:
            for key in (flavor, ANY_FLAVOR):
                self._lending.changed(path, key)

    def of_user(self, queue: str, user: str, flavor: str = ANY_FLAVOR) -> Usage:
        """What one user uses of a flavor in a queue and all under it."""
        total = NOTHING
        for leaf in self.tree.leaves(queue):
            used = self.users[leaf].get(user)
            if used:
                total = total.plus(used.get(flavor, NOTHING))
        return total

    def passed(
        self,
        queue: str,
        flavor: str,
        asked: Usage,
        preemptible: bool,
        free: Callable[[str], int],
        user: str = "",
    ) -> Passed | None:
        """The bound that keeps the queue from using that much more of a flavor; None = none does.

        Args:
            queue: leaf queue.
            flavor: flavor, or `*` for all of them together.
            asked: what would be added.
            preemptible: whether others may stop it.
            free: thousandths of GPUs free of a flavor in the fleet.
            user: whose it is.
        """
        if not self.is_governed(queue, preemptible):
            return None
        ask = AdditionalUse(self.tree.path(queue), flavor, asked, preemptible, user)
        return self._bounds.passed(ask, free)

    def bounds(self, queue: str) -> Iterator[QueueBound]:
        """Bounds of a queue and of all above it, its own first."""
        return self._bounds.bounds(queue)

    def beyond_user(self, queue: str, flavor: str, more: Usage, user: str) -> Passed | None:
        """The limit of a user that `more` would pass here or above; None = none."""
        return self._bounds.beyond_user(
            AdditionalUse(self.tree.path(queue), flavor, more, True, user)
        )

    def beyond(self, queue: str, flavor: str, more: Usage, user: str) -> bool:
        """Whether `more` that may not be preempted would pass a bound of a queue or one above."""
        ask = AdditionalUse(self.tree.path(queue), flavor, more, False, user)
        return self._bounds.beyond(ask) is not None

    def _changed(self) -> None:
        self.version += 1
        self._lending.rebuild()
