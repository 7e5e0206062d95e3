"""The cluster file as pydantic models: canonical keys only, values already understood."""

from typing import Annotated

from pydantic import PlainSerializer, WithJsonSchema

from ganglion.files import fields as f
from ganglion.files.grammar.amounts import parse_amounts, parse_cordon, parse_scores
from ganglion.files.grammar.lists import parse_texts
from ganglion.files.grammar.names import parse_host
from ganglion.files.grammar.places import parse_levels
from ganglion.files.grammar.words import one_of
from ganglion.files.renaming import Vocabulary
from ganglion.files.schema import Mapping, described
from ganglion.model.levels import Level
from ganglion.model.policy import Order, Weighted
from ganglion.model.resources import Amount, GpuRequest

MAX_NODES = 200_000

Amounts = Annotated[dict[str, Amount], f.told(parse_amounts), PlainSerializer(str)]
Cordon = Annotated[str, f.told(parse_cordon), f.schema("string", "boolean")]
Scores = Annotated[tuple[Weighted, ...], f.told(parse_scores), PlainSerializer(str)]
OrderName = Annotated[str, f.told(one_of(tuple(Order), {})), f.schema("string")]
NodeCount = Annotated[int, f.whole(1, MAX_NODES), f.schema("integer", minimum=1)]
Parts = Annotated[int, f.whole(1, 1024), f.schema("integer", minimum=1)]
Rank = Annotated[int, f.whole(-1_000_000, 1_000_000), f.schema("integer")]
Weight = Annotated[int, f.whole(0, 1_000_000), f.schema("integer", minimum=0)]
Hosts = Annotated[
    tuple[str, ...],
    f.told(lambda value: tuple(parse_host(each) for each in parse_texts(value))),
    WithJsonSchema({"type": ["array", "string"]}),
]
Levels = Annotated[tuple[Level, ...], f.told(parse_levels), PlainSerializer(list)]


class Machine(Mapping):
    """What pools and single nodes have in common."""

    gpus: f.Gpus = described("its GPUs: `H100:80GB:8`", GpuRequest())
    cpus: f.Cpus = described("CPU cores", 0)
    memory: f.Memory = described("host memory", 0)
    islands: Parts = described("NVLink islands its GPUs fall into: 1 = all linked", 1)
    numa: Parts = described("NUMA nodes its GPUs fall into", 1)
    labels: f.Labels = described("labels that constraints match", {})
    flavor: f.Text = described("what quota calls it; left out = its GPU model, or `cpu`", "")
    max_pods: NodeCount = described("pod slots", 1 << 30)
    cordoned: Cordon = described("why nothing new may start there", "")
    cluster: f.HostName = described("domain of that level it lies in", "")
    region: f.HostName = described("domain of that level it lies in", "")
    zone: f.HostName = described("domain of that level it lies in", "")
    block: f.HostName = described("domain of that level it lies in", "")
    rack: f.HostName = described("domain of that level it lies in", "")
    nvlink_domain: f.HostName = described("domain of that level it lies in", "")


class Pool(Machine):
    """Equal nodes, numbered from 0."""

    name: f.HostName = described("nodes are called `<name>-<number>`")
    nodes: NodeCount = described("how many")
    per_zone: NodeCount = described("consecutive nodes per zone", 0)
    per_block: NodeCount = described("consecutive nodes per block", 0)
    per_rack: NodeCount = described("consecutive nodes per rack", 0)
    per_nvlink_domain: NodeCount = described("consecutive nodes per NVLink domain", 0)
    racks: Hosts = described("names of racks that the nodes are divided over evenly", ())


class Single(Machine):
    """One node."""

    name: f.HostName = described("unique in the fleet")


class QueueFile(Mapping):
    """A queue of the tree."""

    name: f.Name = described("unique in the whole tree")
    parent: f.Name = described("queue it belongs to; left out = a root", "")
    quota: Amounts = described("guaranteed, by flavor or `*`: `{H100: 16}`", {})
    limit: Amounts = described("most it may ever use, by flavor or `*`", {})
    lend_limit: Amounts = described("most of its unused quota that others may use", {})
    weight: Weight = described("part of what nobody is guaranteed", 1)
    priority: Rank = described("who is first in dividing that; higher first", 100)
    max_pending: f.Amount = described("most workloads that may wait; 0 = no bound", 0)


class PolicyFile(Mapping):
    """How the engine decides."""

    order: OrderName = described("fair, fifo, shortest or smallest", Order.FAIR.value)
    strict: f.Flag = described(
        "a gang that cannot start holds up all later ones of its queue", False
    )
    scores: Scores = described("Score plugins: a list, or name -> weight", (Weighted("ganglion"),))
    filters: f.Texts = described("Filter plugins", ())
    permits: f.Texts = described("Permit plugins", ())
    preempts: f.Texts = described("Preempt plugins", ())
    tries: Parts = described("most domains tried for a gang before it waits", 8)


class Topped(Mapping):
    """The whole file."""

    levels: Levels = described("levels of the topology, widest first; others are errors", ())
    pools: tuple[Pool, ...] = described("equal nodes", ())
    nodes: tuple[Single, ...] = described("single nodes", ())
    queues: tuple[QueueFile, ...] = described("the queue tree", ())
    policy: PolicyFile = described("how the engine decides", PolicyFile())


_MACHINE = {
    "gpu": "gpus",
    "accelerators": "gpus",
    "cpu": "cpus",
    "mem": "memory",
    "nvlink": "nvlink_domain",
    "cordon": "cordoned",
}
SCOPES: dict[str, type[Mapping]] = {
    "": Topped,
    "pools": Pool,
    "nodes": Single,
    "queues": QueueFile,
    "policy": PolicyFile,
}
VOCABULARY = Vocabulary(
    keys={scope: tuple(model.model_fields) for scope, model in SCOPES.items()},
    aliases={
        "pools": _MACHINE | {"count": "nodes", "per_nvlink": "per_nvlink_domain"},
        "nodes": _MACHINE,
        "queues": {"over_quota_weight": "weight", "cohort": "parent", "limits": "limit"},
        "policy": {"score": "scores"},
    },
    children={"": {name: name for name in ("pools", "nodes", "queues", "policy")}},
    lists=("pools", "nodes", "queues"),
)
