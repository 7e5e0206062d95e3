"""What `deep-queues` needs of an API server beyond pods: queues, a class for heads, its metrics."""

import asyncio
import re
from collections.abc import Mapping
from typing import Any

from benchmarks.kubernetes.deep_queues_work import URGENT
from benchmarks.kubernetes.field import PODS
from ganglion.worlds.kubernetes.http.client import Api
from ganglion.worlds.kubernetes.http.errors import Absent
from ganglion.worlds.kubernetes.names import GROUP, VERSION
from ganglion.worlds.kubernetes.types.meta import Anything
from ganglion.worlds.kubernetes.types.pod import Pod

_CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"
_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_QUEUES = f"/apis/{GROUP}/{VERSION}/queues"
_ANY = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
_TRIES = 300
_PAUSE_S = 0.1
_REQUESTS = re.compile(r"^apiserver_request_total\{(?P<labels>.*)\} (?P<count>\S+)$", re.M)
_CHANGES = ("POST", "PUT", "PATCH", "DELETE")


async def add_queues(api: Api, specs: Mapping[str, Mapping[str, Any]]) -> None:
    """Define the kinds, and create queues and the class of gangs that go first.

    Args:
        api: the cluster.
        specs: of the queues, by name.
    """
    for kind, plural in (("Queue", "queues"), ("Policy", "policies")):
        await api.create(_DEFINITIONS, _definition(kind, plural))
    await _served(api)
    never = {"value": 1000, "preemptionPolicy": "Never"}
    await api.create(_CLASSES, _head("scheduling.k8s.io/v1", "PriorityClass", URGENT) | never)
    for name, spec in specs.items():
        await api.create(_QUEUES, _head(f"{GROUP}/{VERSION}", "Queue", name) | {"spec": spec})


async def writes(api: Api) -> float:
    """How many requests that change something the API server has answered so far."""
    text = (await api.call("GET", "/metrics")).decode()
    return sum(
        float(found["count"])
        for found in _REQUESTS.finditer(text)
        if any(f'verb="{verb}"' in found["labels"] for verb in _CHANGES)
    )


async def leaving(api: Api, names: set[str]) -> int:
    """How many of these pods are gone, or are being deleted."""
    listed = (await api.list(PODS, Pod)).items
    return len(names - {each.metadata.name for each in listed if not each.is_leaving})


async def _served(api: Api) -> None:
    """Wait until queues can be listed: kinds are served some time after they were defined."""
    for _ in range(_TRIES):
        try:
            await api.list(_QUEUES, Anything)
        except Absent:
            await asyncio.sleep(_PAUSE_S)
        else:
            return
    await api.list(_QUEUES, Anything)


def _head(version: str, kind: str, name: str) -> dict[str, Any]:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}}


def _definition(kind: str, plural: str) -> dict[str, Any]:
    """The kind without a schema: what is written here needs no check."""
    version = {
        "name": VERSION,
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": _ANY},
    }
    return _head("apiextensions.k8s.io/v1", "CustomResourceDefinition", f"{plural}.{GROUP}") | {
        "spec": {
            "group": GROUP,
            "scope": "Cluster",
            "names": {"kind": kind, "plural": plural, "singular": kind.lower()},
            "versions": [version],
        }
    }
