"""Which namespaces may submit to which queue, and what may be claimed there.

Any user who may create pods in a namespace may write any label on them, so what a label claims
is judged by what only administrators write: `Queue` objects, and labels of namespaces.
"""

from collections.abc import Mapping, Sequence

from msgspec import Struct, field

from ganglion.model.queue import Queue
from ganglion.model.workload import Gang
from ganglion.worlds.kubernetes import names
from ganglion.worlds.kubernetes.selectors import Selector
from ganglion.worlds.kubernetes.workload_discovery.found import FoundGang

Labels = Mapping[str, str]


class Admits(Struct, frozen=True):
    """Namespaces whose pods a queue takes: those named, and those selected.

    Attributes:
        names: of namespaces.
        selector: over the labels of namespaces; nothing by default.
    """

    names: tuple[str, ...] = ()
    selector: Selector = Selector(nothing=True)

    def takes(self, namespace: str, labels: Labels) -> bool:
        """Whether pods of a namespace may name the queue."""
        return namespace in self.names or self.selector.selects(labels)


class TenancyTerms(Struct, frozen=True):
    """What a queue, or the nearest one above it that says so, asks of its gangs.

    Attributes:
        admits: namespaces that may submit; None = all.
        max_priority: highest priority of a gang; None = a PriorityClass may give any, an
            annotation none.
    """

    admits: Admits | None = None
    max_priority: int | None = None


class Tenancy(Struct, frozen=True):
    """The terms of all queues.

    Attributes:
        terms: by queue; queues without are open to all.
        shared: whether any `Queue` object exists: without one, nothing is divided.
    """

    terms: Mapping[str, TenancyTerms] = field(default_factory=dict)
    shared: bool = False

    def of(self, queue: str) -> TenancyTerms:
        """The terms of a queue."""
        return self.terms.get(queue, TenancyTerms())


OPEN = Tenancy()


def home_queue(found: FoundGang, labels: Labels, otherwise: str) -> str:
    """The queue of a gang: the one it names, else its namespace's, else the scheduler's default.

    Args:
        found: the gang.
        labels: of its namespace.
        otherwise: the scheduler's default; empty = it has none.
    """
    return found.queue or labels.get(names.QUEUE, "") or otherwise


def trespass(tenancy: Tenancy, found: FoundGang, queue: str, labels: Labels) -> str:
    """Why a gang may not be in a queue as it is; empty = it may."""
    terms = tenancy.of(queue)
    if terms.admits and not terms.admits.takes(found.namespace, labels):
        return f"queue {queue} takes no pods of namespace {found.namespace}: see its namespaces"
    most = terms.max_priority
    if most is not None and found.priority > most:
        return f"priority {found.priority} is above {most}, the highest in queue {queue}"
    if most is None and tenancy.shared and found.claimed > 0:
        return (
            f"{names.PRIORITY} claims {found.claimed}, and queue {queue} sets no max_priority: "
            "only a PriorityClass gives priority there"
        )
    return ""


def unguaranteed(tenancy: Tenancy, gang: Gang, path: Sequence[Queue]) -> str:
    """Why a gang may not be unstoppable; empty = it may, or does not ask to be.

    Unstoppable work has to fit in quota, which the engine sees to where there is any.

    Args:
        tenancy: the terms.
        gang: as the engine has it.
        path: its queue and all above it.
    """
    if gang.preemptible or not tenancy.shared:
        return ""
    needs_gpus = any(each.request.gpu.count for each in gang.pod_sets)
    amounts = [amount for queue in path for amount in queue.quota.values()]
    if any(not needs_gpus or amount.gpu_milli is not None for amount in amounts):
        return ""
    what = "GPUs" if needs_gpus else "anything"
    return (
        f"it may not be stopped for others ({names.PREEMPTIBLE}), which is granted within quota "
        f"alone, and queue {gang.queue} has no quota of {what}"
    )
