"""Cluster files: pools of nodes, their topology, queues and policy.

cluster = load_cluster("cluster.yaml")
cluster.nodes, cluster.queues, cluster.policy
"""

from pathlib import Path

from msgspec import Struct

from ganglion.files.cluster_nodes import nodes_of
from ganglion.files.cluster_queues import queues_of
from ganglion.files.cluster_schema import VOCABULARY, Topped
from ganglion.files.policy import expanded, policy_of
from ganglion.files.renaming import Renaming
from ganglion.files.text import read
from ganglion.files.validate import validate
from ganglion.files.yaml import parse_documents
from ganglion.model.errors import FieldError
from ganglion.model.node import Node
from ganglion.model.policy import Policy
from ganglion.model.queue import Queue


class Cluster(Struct, frozen=True):
    """A cluster as described.

    Attributes:
        nodes: all nodes; pools first, in the order of the file.
        queues: the queue tree.
        policy: how the engine decides.
    """

    nodes: tuple[Node, ...] = ()
    queues: tuple[Queue, ...] = ()
    policy: Policy = Policy()


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
    documents = parse_documents(text, name)
    if len(documents) > 1:
        line = documents[1].top
        raise FieldError("a cluster file holds one document", file=name, line=line)
    renaming = Renaming(documents[0], VOCABULARY)
    file = validate(Topped, expanded(renaming.all()), renaming.wrong)
    nodes = nodes_of(file, renaming.wrong)
    policy = policy_of(file.policy)
    flavors = {node.kind for node in nodes}
    queues = queues_of(file.queues, flavors, policy.preemption, renaming.wrong)
    return Cluster(nodes, queues, policy)
