"""Requests are counted by what they are about, without an unbounded number of names."""

import pytest

from ganglion.worlds.kubernetes.http.tally import RequestTally, resource_of


@pytest.mark.parametrize(
    ("path", "resource"),
    [
        ("/api/v1/nodes", "nodes"),
        ("/api/v1/nodes/n0", "nodes"),
        ("/api/v1/namespaces", "namespaces"),
        ("/api/v1/namespaces/red", "namespaces"),
        ("/api/v1/namespaces/red/pods", "pods"),
        ("/api/v1/namespaces/red/pods/p", "pods"),
        ("/api/v1/namespaces/red/pods/p/binding", "pods/binding"),
        ("/apis/batch/v1/namespaces/red/jobs/j", "jobs"),
        ("/apis/apps/v1/namespaces/red/deployments/d/scale", "deployments/scale"),
        ("/apis/ganglion.dev/v1alpha1/queues/q/status", "queues/status"),
        ("/readyz", "other"),
    ],
)
def test_paths_are_of_resources(path: str, resource: str) -> None:
    assert resource_of(path) == resource


def test_what_is_alike_is_counted_together() -> None:
    tally = RequestTally()
    for name in ("a", "b"):
        tally.add("POST", f"/api/v1/namespaces/red/pods/{name}/binding", "ok")
    tally.add("POST", "/api/v1/namespaces/red/pods/a/binding", "409")
    assert tally.counts() == {
        ("POST", "pods/binding", "ok"): 2,
        ("POST", "pods/binding", "409"): 1,
    }
