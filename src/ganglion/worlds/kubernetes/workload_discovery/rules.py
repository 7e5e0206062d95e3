"""The rule for a pod, by its owner's kind and its own labels."""

from collections.abc import Mapping

from ganglion.model.workload import Kind
from ganglion.worlds.kubernetes import markers
from ganglion.worlds.kubernetes.types.pod import Pod
from ganglion.worlds.kubernetes.workload_kinds import batch, kinds, serving, wrapper
from ganglion.worlds.kubernetes.workload_kinds.families import FAMILIES
from ganglion.worlds.kubernetes.workload_kinds.kinds import Ident
from ganglion.worlds.kubernetes.workload_kinds.shape import Family

_ALL: Mapping[Ident, Family] = {**FAMILIES, kinds.APP_WRAPPER: wrapper.FAMILY}


def family_of(owner: Ident | None, pod: Pod) -> Family:
    """The rule for a pod; without an owner that is understood, it is alone."""
    if owner == kinds.JOB and pod.metadata.labels.get(markers.KIND) == Kind.SWEEP:
        return batch.TRIAL_FAMILY
    return _ALL.get(owner, serving.ALONE_FAMILY) if owner else serving.ALONE_FAMILY
