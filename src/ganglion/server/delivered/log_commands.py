"""How to read the log of a gang of a cluster: the server does not reach there."""

import shlex
from collections.abc import Callable, Mapping
from types import MappingProxyType

from ganglion.lifecycle.cluster_gangs import DeliveredGang

RANK = "RANK"
"""In a command, the place of the number of the pod."""

_INDEXED = "batch.kubernetes.io/job-name={},batch.kubernetes.io/job-completion-index={}"
_PODS: Mapping[str, Callable[[str, int], str]] = MappingProxyType(
    {
        "Pod": lambda name, _count: name,
        "StatefulSet": lambda name, _count: f"{name}-{RANK}",
        "Job": lambda name, count: (
            f"--tail=-1 --selector {_INDEXED.format(name, RANK)}" if count > 1 else f"job/{name}"
        ),
        "Deployment": lambda name, count: f"deployment/{name}" if count == 1 else "",
        "ReplicaSet": lambda name, count: f"replicaset/{name}" if count == 1 else "",
    }
)
"""Kind of an owner -> what kubectl asks for the pod of a rank; empty = it names pods at will."""


def log_command(found: DeliveredGang) -> str:
    """The command that prints the log of a rank, with `CONTEXT` and `RANK` in it.

    Empty = the pods of its owner have names that do not follow from what was delivered.
    """
    kind, _, name = found.owner.partition(" ")
    count = sum(each.count for each in found.gang.pod_sets)
    which = _PODS[kind](shlex.quote(name), count) if kind in _PODS and name else ""
    return f"{_asked(found)} logs {which} {_container(found)}" if which else ""


def pods_command(found: DeliveredGang) -> str:
    """The command that lists the pods among which those of the gang are."""
    return f"{_asked(found)} get pods --output wide"


def own_command(found: DeliveredGang, rank: int) -> str:
    """The command that prints the log of a rank of what `ganglion submit` made."""
    name, namespace = shlex.quote(found.own_name), shlex.quote(found.namespace)
    more = f" --rank {rank}" if rank else ""
    return f"ganglion logs {name}{more} --namespace {namespace} --context CONTEXT"


def _asked(found: DeliveredGang) -> str:
    return f"kubectl --context CONTEXT --namespace {shlex.quote(found.namespace)}"


def _container(found: DeliveredGang) -> str:
    """The container, where the kubelet has named one alone."""
    names = {each.container for each in found.images}
    only = f"--container {shlex.quote(min(names))}" if len(names) == 1 else ""
    return only or "--all-containers --prefix"
