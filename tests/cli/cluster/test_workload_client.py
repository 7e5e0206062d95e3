"""The server's client and the cluster's answer the same calls, or say what to do instead."""

import inspect
from collections.abc import Callable
from typing import Any

import pytest

from ganglion.cli.cluster.client import ClusterClient
from ganglion.cli.cluster.one_by_one import OneByOne
from ganglion.client import Client
from ganglion.client.calls.bulk import Bulk
from ganglion.client.workload_client import LocalOnly, ManyWorkloads, WorkloadClient

ENDS = ((WorkloadClient, (Client, ClusterClient)), (ManyWorkloads, (Bulk, OneByOne)))
CALLS = [
    (protocol, kind, name)
    for protocol, kinds in ENDS
    for kind in kinds
    for base in protocol.__mro__
    for name, call in vars(base).items()
    if inspect.isfunction(call) and call.__module__ == protocol.__module__
]


@pytest.mark.parametrize(("protocol", "kind", "name"), CALLS)
def test_a_call_takes_the_same_arguments_at_either_end(
    protocol: type[Any], kind: type[Any], name: str
) -> None:
    wanted = inspect.signature(getattr(protocol, name)).parameters
    given = inspect.signature(getattr(kind, name)).parameters
    assert [(each.name, each.kind, each.default) for each in given.values()] == [
        (each.name, each.kind, each.default) for each in wanted.values()
    ]


def test_all_calls_are_compared() -> None:
    names = {name for protocol, _, name in CALLS if protocol is WorkloadClient}
    assert names >= {"submit", "verdict", "workloads", "workload", "why", "events", "logs"}


@pytest.mark.parametrize(
    ("call", "instead"),
    [
        (lambda client: client.events(), "kubectl get events"),
        (lambda client: client.terminals, "kubectl exec"),
    ],
)
def test_what_a_cluster_cannot_do_is_one_error_that_says_what_does_it(
    call: Callable[[ClusterClient], object], instead: str
) -> None:
    client = ClusterClient.__new__(ClusterClient)  # none of these asks the cluster
    with pytest.raises(LocalOnly) as refused:
        call(client)
    assert refused.value.code == "state.local_only"
    assert instead in refused.value.hint
