"""Workloads of tests, from the text of a file."""

from typing import Any

from msgspec.structs import replace

from ganglion.model.policy import PriorityClass
from ganglion.model.workload import Workload
from ganglion.specs.workload.workload import parse_workloads, references, to_workload
from ganglion.worlds.kubernetes.submit import compile_workload

Manifest = dict[str, Any]


def workload(text: str) -> Workload:
    (doc,) = parse_workloads(text)
    classes = {"gold": PriorityClass(0)}
    made = to_workload(doc, user="ada", default_queue="", classes=classes)
    # As the command line has it, which knows the values of secrets.
    given = {name: value for name, value in references(doc).items() if value is not None}
    return replace(made, run=replace(made.run, env=made.run.env | given))


def compiled(text: str, **more: Any) -> tuple[Manifest, ...]:
    return compile_workload(workload(text), namespace="team-a", **more)


def kinds(manifests: tuple[Manifest, ...]) -> list[str]:
    return [f"{each['kind']} {each['metadata']['name']}" for each in manifests]


def only(manifests: tuple[Manifest, ...], kind: str) -> Manifest:
    (found,) = (each for each in manifests if each["kind"] == kind)
    return found


def pod_of(manifest: Manifest) -> Manifest:
    found: Manifest = manifest["spec"]["template"]
    return found


def container(manifest: Manifest) -> Manifest:
    found: Manifest = pod_of(manifest)["spec"]["containers"][0]
    return found


def env(manifest: Manifest) -> dict[str, Any]:
    """Variables by name: their value, or where it comes from."""
    return {
        each["name"]: each.get("value", each.get("valueFrom"))
        for each in container(manifest)["env"]
    }
