"""One of several schedulers of a cluster: whose pods it places, and on which nodes."""

from msgspec import Struct

from ganglion.worlds.kubernetes import names
from ganglion.worlds.kubernetes.selectors import Selector
from ganglion.worlds.kubernetes.types.meta import Meta
from ganglion.worlds.kubernetes.types.pod import Pod


class Instance(Struct, frozen=True):
    """A scheduler among others of its cluster.

    Attributes:
        name: `schedulerName` of its pods.
        nodes: over the labels of nodes: those on which it places pods.
        namespaces: whose pods it places; none = all.
    """

    name: str = names.SCHEDULER
    nodes: Selector = Selector()
    namespaces: frozenset[str] = frozenset()

    @property
    def is_first(self) -> bool:
        """Whether it has the usual name: what names no scheduler belongs to it."""
        return self.name == names.SCHEDULER

    @property
    def gate(self) -> str:
        """Scheduling gate of pods that another scheduler binds where this one says."""
        return names.GATE if self.is_first else f"{names.GATE}-{self.name}"

    @property
    def controller(self) -> str:
        """Its name in events."""
        return f"{names.GROUP}/{self.name}"

    @property
    def mark(self) -> dict[str, str]:
        """Annotation that separates its writes from those of other instances."""
        return {} if self.is_first else {names.INSTANCE: self.name}

    def places(self, pod: Pod) -> bool:
        """Whether it is asked to place a pod, and may: by its scheduler's name or by the gate.

        A pod that was let through the gate carries the index it was given.
        """
        if self.namespaces and pod.metadata.namespace not in self.namespaces:
            return False
        if pod.spec.scheduler_name == self.name:
            return True
        if any(gate.name == self.gate for gate in pod.spec.scheduling_gates):
            return True
        notes = pod.metadata.annotations
        is_bound_for_us = names.INDEX in notes and pod.spec.scheduler_name == names.KUBERNETES
        return is_bound_for_us and notes.get(names.INSTANCE, names.SCHEDULER) == self.name

    def wrote(self, meta: Meta) -> bool:
        """Whether it is the one that has suspended an object."""
        return meta.annotations.get(names.INSTANCE, names.SCHEDULER) == self.name

    def reads(self, meta: Meta) -> bool:
        """Whether a `Queue` or `Policy` is for it: by its label, without one for the first."""
        return meta.labels.get(names.INSTANCE, names.SCHEDULER) == self.name

    def keeps(self, scheduler: str, namespace: str) -> bool:
        """Whether it manages services and workspaces whose pods name this scheduler."""
        if self.namespaces and namespace not in self.namespaces:
            return False
        return scheduler == self.name or (self.is_first and scheduler in ("", names.KUBERNETES))


FIRST = Instance()
