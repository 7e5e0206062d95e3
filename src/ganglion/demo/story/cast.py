"""The queues and the workloads of the demo, from the files of `ganglion.demo`."""

from importlib.resources import files
from typing import Any

import yaml

from ganglion.specs.workload.workload import document, parse_workloads

Document = dict[str, Any]


def queues() -> dict[str, Document]:
    """Return the queues by name, parents first."""
    found: dict[str, Document] = yaml.safe_load(_text("queues.yaml"))
    return found


def workloads(file: str = "workloads.yaml") -> dict[str, Document]:
    """Return the workloads of a file by name, as canonical documents."""
    docs = parse_workloads(_text(file), file)
    return {doc.name: document(doc) for doc in docs}


def _text(name: str) -> str:
    return (files("ganglion.demo") / name).read_text("utf-8")
