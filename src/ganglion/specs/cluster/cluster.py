"""Cluster files: pools of nodes, their topology, queues and policy.

cluster = load_cluster("cluster.yaml")
cluster.nodes, cluster.queues, cluster.policy
"""

from collections.abc import Collection
from pathlib import Path

from msgspec import Struct, structs

from ganglion.model.errors import FileError
from ganglion.model.fleet.node import Node
from ganglion.model.policy import Policy
from ganglion.model.queue import Queue
from ganglion.specs.cluster.nodes import nodes_of
from ganglion.specs.cluster.schema import VOCABULARY, Topped
from ganglion.specs.policy.policy import (
    PolicyFile,
    expanded,
    heads_beside,
    is_path,
    parse_policy,
    policy_of,
    source_of,
)
from ganglion.specs.policy.printing import policy_document, yaml_text
from ganglion.specs.policy.queues import queues_of
from ganglion.specs.reading.renaming import Renaming
from ganglion.specs.reading.text import read
from ganglion.specs.reading.validate import readable
from ganglion.specs.reading.yaml import Document, parse_document
from ganglion.specs.wording import first_of


class Cluster(Struct, frozen=True):
    """A cluster as described.

    Attributes:
        nodes: all nodes; pools first, in the order of the file.
        queues: the queue tree.
        policy: how the engine decides.
        policy_file: the policy as it was written; None = the file has none.
    """

    nodes: tuple[Node, ...] = ()
    queues: tuple[Queue, ...] = ()
    policy: Policy = Policy()
    policy_file: PolicyFile | None = None


def load_cluster(source: str | Path) -> Cluster:
    """Read a cluster file, or the standard input for `-`.

    Raises:
        FileError: it cannot be read as text.
        FieldError: a key or value is wrong.
    """
    return parse_cluster(*read(source))


def parse_cluster(text: str | bytes, name: str = "") -> Cluster:
    """Read a cluster from YAML or JSON; `name` is what messages call it.

    Raises:
        FileError: it is not text of that sort.
        FieldError: a key or value is wrong.
    """
    return cluster_of(parse_document(text, name, "cluster"))


def cluster_of(document: Document) -> Cluster:
    """The cluster that a document describes. Raises FieldError with all that is wrong."""
    document, path = _without_path(document)
    renaming = Renaming(document, VOCABULARY)
    file = readable(Topped, expanded(renaming.known()), renaming)
    nodes = renaming.noted(lambda: nodes_of(file, renaming.wrong)) or ()
    flavors = {name for node in nodes for name in (node.kind, node.cpu_kind)}
    given = renaming.noted(lambda: _policy(file, path, flavors, renaming))
    policy = given.policy if given else Policy()
    queues = renaming.noted(
        lambda: queues_of(file.queues, flavors, policy.preemption, renaming.wrong)
    )
    if vars(file).get("queues") and given and given.queues is not None:
        problem = f"the policy {given.name} says what the queues are too"
        renaming.problems.append(renaming.wrong(problem, ("queues",), "keep one of them"))
    renaming.settle()
    return Cluster(nodes, (given and given.queues) or queues or (), policy, given)


def _without_path(document: Document) -> tuple[Document, str]:
    """The document, and the path of a policy file where it names one."""
    value = document.data.get("policy")
    if not isinstance(value, str) or not is_path(value):
        return document, ""
    rest = {key: each for key, each in document.data.items() if key != "policy"}
    return structs.replace(document, data=rest), value


def _policy(
    file: Topped, path: str, flavors: Collection[str], renaming: Renaming
) -> PolicyFile | None:
    if path:
        try:
            text, name = source_of(str(Path(renaming.document.file).parent / path))
        except FileError as error:
            raise renaming.wrong(error.message, ("policy",), error.hint) from error
        found = parse_policy(text, name, flavors)
        if found.unknown:
            raise first_of(found.unknown)
        return found
    if "policy" not in file.model_fields_set:
        return None
    renaming.note(heads_beside(file.policy, ("policy",), renaming.wrong))
    policy = policy_of(file.policy)
    preset = vars(file.policy).get("preset", "")
    return PolicyFile(policy, preset=preset, text=yaml_text(policy_document(policy)))
