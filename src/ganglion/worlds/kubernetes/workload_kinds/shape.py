"""The shape of a gang: what its owner says it consists of."""

from collections.abc import Callable, Sequence

from msgspec import Struct, structs

from ganglion.model.workload import Kind
from ganglion.worlds.kubernetes import names
from ganglion.worlds.kubernetes.types.meta import Anything
from ganglion.worlds.kubernetes.types.pod import Pod

MAIN = "main"
"""Name of the set of gangs that have only one."""

ANYWHERE = -1
"""Index of pods that are as good as each other."""


class ClaimedSeat(Struct, frozen=True):
    """Where a pod says it belongs.

    Attributes:
        pod_set: name of its set.
        index: its number within its block; `ANYWHERE` = it has none.
        block: number of its block, in sets of equal blocks as the Jobs of a JobSet.
    """

    pod_set: str
    index: int = ANYWHERE
    block: int = 0


class SetShape(Struct, frozen=True):
    """Equal pods as their owner describes them.

    Attributes:
        name: unique within the gang.
        count: pods wanted now.
        least: fewest that are useful.
        template: what each pod looks like.
        seats: indexes lie below this.
        upfront: pods that exist before anything of the gang runs.
        block: pods per block.
        first: index of the first pod.
        strict: whether the index of a pod is its seat; else it may take any free one.
        each_block: level or node label of one domain for each block; empty = none named.
        required: level or node label of one domain that holds the set; empty = none named.
        preferred: the same, where possible.
    """

    name: str
    count: int
    least: int
    template: Pod
    seats: int
    upfront: int
    block: int = 1
    first: int = 0
    strict: bool = True
    each_block: str = ""
    required: str = ""
    preferred: str = ""


def set_name(pod: Pod) -> str:
    """The name that a pod, or its template, gives the set of a kind that has only one."""
    meta = pod.metadata
    return meta.labels.get(names.POD_SET) or meta.annotations.get(names.POD_SET) or MAIN


def of_count(name: str, count: int, template: Pod, least: int | None = None) -> SetShape:
    """A set of which all pods exist at once."""
    low = count if least is None else min(least, count)
    return SetShape(name, count, low, template, count, count)


def less(shape: SetShape, done: int) -> SetShape:
    """The set when some of its pods have succeeded and are not made again."""
    count = max(shape.count - done, 0)
    return structs.replace(
        shape, count=count, least=min(shape.least, count), upfront=min(shape.upfront, count)
    )


class KindView(Struct, frozen=True):
    """What a kind's rule may look at.

    Attributes:
        owner: the object whose gang it is.
        below: objects of it that made some of the pods, by name.
        pods: living pods of the gang, by name.
    """

    owner: Anything
    below: tuple[Anything, ...]
    pods: tuple[Pod, ...]


class Family(Struct, frozen=True):
    """How gangs of one kind of owner are understood.

    Attributes:
        kind: what sort of workload it is.
        sets: what the gang consists of. Raises InputError.
        seat: where a pod belongs, given what lies between it and the owner.
        part: which gang of its owner a pod belongs to; empty = there is only one.
        ranked: whether the seat distinguishes the pods of the owner.
    """

    kind: Kind
    sets: Callable[[KindView], Sequence[SetShape]]
    seat: Callable[[Pod, tuple[Anything, ...]], ClaimedSeat]
    part: Callable[[Pod], str] = lambda _: ""
    ranked: bool = True


def label_index(pod: Pod, label: str) -> int:
    """A number from a label, or `ANYWHERE`."""
    text = pod.metadata.labels.get(label) or pod.metadata.annotations.get(label, "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else ANYWHERE


def ordinal(pod: Pod) -> int:
    """The number at the end of a pod's name, or `ANYWHERE`."""
    text = pod.metadata.name.rpartition("-")[2]
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 7 else ANYWHERE
