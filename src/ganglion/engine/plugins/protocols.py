"""The four extension points: Filter, Score, Permit and Preempt.

A plugin is a class without constructor arguments, registered under one of the entry point
groups `ganglion.filters`, `ganglion.scores`, `ganglion.permits`, `ganglion.preempts`.
Plugins live inside the pure engine: same input, same answer; no clock, I/O or randomness.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol, runtime_checkable

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from ganglion.model.placement import Placement
from ganglion.model.reasons import Reason
from ganglion.model.resources import PodRequest
from ganglion.model.workload import Gang, PodSet

Ints = NDArray[np.int64]


class NodeClass(Struct, frozen=True):
    """Everything about a node that never changes while pods come and go.

    Nodes of one class differ by name and place only.

    Attributes:
        cpu_milli: allocatable CPU in thousandths of a core.
        memory_mib: allocatable host memory.
        max_pods: pod slots.
        devices: per device (type, memory_mib, numa, island).
        labels: sorted (label, value) pairs.
        flavor: the flavor that quota is charged in.
        region: name of its region; empty = none.
        cpu_flavor: the flavor that quota of CPU and memory is charged in.
        extras: sorted (resource, allocatable amount) of what is only counted.
    """

    cpu_milli: int
    memory_mib: int
    max_pods: int
    devices: tuple[tuple[str, int, int, int], ...]
    labels: tuple[tuple[str, str], ...]
    flavor: str
    region: str
    cpu_flavor: str = ""
    extras: tuple[tuple[str, int], ...] = ()


class Rows(Struct):
    """R ways to put one pod on a node, column by column; arrays are read-only.

    A row is a node condition and, for a shared GPU, the device tried. D is the largest number
    of devices of any node; missing and sick devices have 0 free.

    Attributes:
        classes: all node classes; `class_of` points into it.
        class_of: int64[R], class of the node.
        node: int64[R], rank of the node by name; -1 where the row is about every node in
            this condition (always so for cacheable scores).
        cpu_free: int64[R], thousandths of a core free before the pod.
        memory_free: int64[R], MiB free before the pod.
        gpu_free: int64[R, D], thousandths free of each device before the pod.
        cpu_after, memory_after, gpu_after: the same after it.
        device: int64[R], device tried by a pod that shares one; -1 otherwise.
        supply: how many devices of each type the fleet has, used or not.
    """

    classes: Sequence[NodeClass]
    class_of: Ints
    node: Ints
    cpu_free: Ints
    memory_free: Ints
    gpu_free: Ints
    cpu_after: Ints
    memory_after: Ints
    gpu_after: Ints
    device: Ints
    supply: Mapping[str, int] = field(default_factory=dict)


Typical = tuple[tuple[PodRequest, int], ...]
"""The target workload of fragmentation scores: (request, how many)."""


@runtime_checkable
class Filter(Protocol):
    """Rules out nodes."""

    name: str

    def key(self, gang: Gang, pod_set: PodSet) -> Hashable:
        """What of the pods the answer depends on; equal keys share one cached answer."""

    def allows(self, key: Hashable, node: NodeClass) -> bool:
        """Whether pods with this key may use nodes of this class."""


@runtime_checkable
class Telling(Protocol):
    """A Filter that can say why."""

    def why_not(self, key: Hashable, node: NodeClass) -> str:
        """What keeps pods with this key off nodes of this class; empty = nothing."""


@runtime_checkable
class Foreseeing(Protocol):
    """A Filter some of whose obstacles pass while neither pods nor nodes are made differently."""

    def may_pass(self, key: Hashable, node: NodeClass) -> bool:
        """Whether what keeps pods with this key off nodes of this class may end by itself."""


Rank = tuple[int, ...]
"""How well a node suits what pods merely prefer, a number for each sort of preference."""


@runtime_checkable
class Preferring(Protocol):
    """A Filter by which pods prefer some of the nodes that they may use to others."""

    def prefers(self, key: Hashable) -> bool:
        """Whether pods with this key may prefer some nodes."""

    def rank(self, key: Hashable, node: NodeClass) -> Rank:
        """How well nodes of this class suit pods with this key."""

    def points(self, ranks: Sequence[Rank]) -> Sequence[int]:
        """What nodes of these ranks are worth where there are no others; the most is the best."""


@runtime_checkable
class Score(Protocol):
    """Ranks the ways to place a pod; the highest sum of weighted scores wins.

    Attributes:
        cacheable: True when the score depends on nothing but the request, the row, the typical
            pods and the supply; such scores are computed once per node condition.
    """

    name: str
    cacheable: bool

    def score(self, pod: PodRequest, rows: Rows, typical: Typical, turn: int) -> Ints:
        """Return int64[R]. `turn` counts the decisions so far (0 for cacheable scores)."""


Choice = tuple[int, tuple[int, ...], int]
"""Devices that a pod may take of a node: the one it would share (-1: none), all of them, and the
thousandths it takes of each."""


Best = Callable[[int, int], tuple[int, int]]
"""(score, position) of the best choice, the first of equals, by thousandths of a core that the node
has free before and after the pod. The score is that of the row in `Score.score`."""


class Appraisal(Protocol):
    """A cacheable score, one node condition at a time."""

    def ways(self, node_class: int, free: tuple[int, ...], choices: Sequence[Choice]) -> Best:
        """The best of these choices on a node of a class with `free` thousandths per device."""

    @property
    def size(self) -> int:
        """How much it remembers."""


@runtime_checkable
class Appraising(Protocol):
    """A Score that can rate few conditions faster than by rows."""

    def appraisal(
        self, typical: Typical, classes: Sequence[NodeClass], supply: Mapping[str, int]
    ) -> Appraisal | None:
        """The same score for this workload and fleet; None where it depends on host memory."""


@runtime_checkable
class Permit(Protocol):
    """Has the last word on a start."""

    name: str

    def permit(self, gang: Gang, placement: Placement, now: int) -> Reason | None:
        """None to let the gang start at `now` (ms), or why it must wait."""


class PodFilter(Protocol):
    """Rules among pods while one gang is placed pod by pod: those that are placed count."""

    def opened(self, pod_set: str) -> Callable[[str], bool]:
        """Whether a node, by name, is open to the next pod of a set; holds until one is placed."""

    def put(self, pod_set: str, node: str) -> None:
        """The next pod of a set is placed on a node."""

    def take_back(self) -> None:
        """The pod that was placed last is not."""

    def holds(self) -> bool:
        """Whether all pods may be where they are placed, whatever the order."""

    def alike(self, node: str) -> Hashable:
        """Nodes with equal answers are in the same domains of all these rules."""

    @property
    def prefers(self) -> bool:
        """Whether nodes have to be put in order by what the pods prefer."""

    def order(self, pod_set: str, nodes: Iterable[str]) -> Iterator[str]:
        """Nodes, the one that the next pod of a set prefers first; equals stay as they are."""


@runtime_checkable
class PodByPod(Protocol):
    """A Permit that can say beforehand where the pods of a gang may go, one after the other."""

    def filtering(self, gang: Gang) -> AbstractContextManager[PodFilter] | None:
        """The rules of a gang of which no pod is placed yet; None = there are none."""

    def preferring(self, gang: Gang) -> AbstractContextManager[PodFilter] | None:
        """The same with what its pods prefer for what else runs; None = they prefer nothing."""


@runtime_checkable
class Preempt(Protocol):
    """Has a veto on victims."""

    name: str

    def may_stop(self, victim: Gang, favoured: Gang, now: int) -> bool:
        """Whether `victim` may be stopped at `now` (ms) for the sake of `favoured`."""


@runtime_checkable
class Equivalence(Protocol):
    """A Permit or Preempt whose answer for one gang holds for all that wait as its equals.

    Equals are alike in queue, priority, pods, placement and time limit. Without this, gangs that
    ask are asked for one by one.
    """

    def gang_key(self, gang: Gang) -> Hashable:
        """What else of a gang that asks the answer depends on."""


@runtime_checkable
class Budgeted(Protocol):
    """A Preempt plugin with budgets that all victims of one plan draw on together."""

    def takes(self, victim: Gang) -> Sequence[tuple[str, int]]:
        """Budgets that a victim draws on, each with how much it takes of it."""

    def left(self, budget: str) -> int:
        """How much of a budget is left at the beginning of a cycle."""


class Plugins(Struct, frozen=True):
    """Plugin instances in the order and with the weights of the policy.

    Attributes:
        scores, filters, permits, preempts: those that hold for every gang.
        of_kinds: Score plugins that only rules of kinds name, by name; built-in ones need not
            be among them.
    """

    scores: tuple[tuple[Score, int], ...]
    filters: tuple[Filter, ...] = ()
    permits: tuple[Permit, ...] = ()
    preempts: tuple[Preempt, ...] = ()
    of_kinds: Mapping[str, Score] = field(default_factory=dict)

    def every(self) -> tuple[object, ...]:
        """Each plugin."""
        scores = (score for score, _ in self.scores)
        others = (*self.filters, *self.permits, *self.preempts)
        return (*scores, *others, *self.of_kinds.values())
