"""The cluster file as pydantic models: canonical keys only, values already understood."""

from typing import Annotated

from pydantic import PlainSerializer, WithJsonSchema

from ganglion.model.fleet.levels import Level
from ganglion.model.resources import GpuRequest
from ganglion.specs.grammar.amounts import parse_cordon, parse_holds
from ganglion.specs.grammar.lists import parse_texts
from ganglion.specs.grammar.names import parse_host
from ganglion.specs.grammar.places import parse_levels
from ganglion.specs.policy import queue_schema
from ganglion.specs.policy.queue_schema import QueueFile
from ganglion.specs.policy.schema import ALIASES, KNOB_ALIASES, KNOB_CHILDREN, SECTIONS, Knobs
from ganglion.specs.reading import fields as f
from ganglion.specs.reading.mapping import Mapping, described
from ganglion.specs.reading.renaming import Vocabulary

MAX_NODES = 200_000

Cordon = Annotated[str, f.told(parse_cordon), f.schema("string", "boolean")]
Holds = Annotated[
    dict[str, int],
    f.told(parse_holds),
    f.schema("object", additionalProperties={"type": ["string", "integer"]}),
]
NodeCount = Annotated[int, f.whole(1, MAX_NODES), f.schema("integer", minimum=1)]
Parts = Annotated[int, f.whole(1, 1024), f.schema("integer", minimum=1)]
Hosts = Annotated[
    tuple[str, ...],
    f.told(lambda value: tuple(parse_host(each) for each in parse_texts(value))),
    WithJsonSchema({"type": ["array", "string"]}),
]
Levels = Annotated[tuple[Level, ...], f.told(parse_levels), PlainSerializer(list)]


class MachineShape(Mapping):
    """What pools and single nodes have in common."""

    gpus: f.Gpus = described("its GPUs: `H100:80GB:8`", GpuRequest())
    cpus: f.Cpus = described("CPU cores", 0)
    memory: f.Memory = described("host memory", 0)
    islands: Parts = described("NVLink islands its GPUs fall into: 1 = all linked", 1)
    numa: Parts = described("NUMA nodes its GPUs fall into", 1)
    labels: f.Labels = described("labels that constraints match", {})
    flavor: f.Text = described("what quota calls it; left out = its GPU model, or `cpu`", "")
    cpu_flavor: f.Text = described("what quota calls its CPU and memory; left out = the same", "")
    max_pods: NodeCount = described("pod slots", 1 << 30)
    cordoned: Cordon = described("why nothing new may start there", "")
    holds: Holds = described("models that lie on it: `{DIGEST: 140GiB}`", {})
    cluster: f.HostName = described("domain of that level it lies in", "")
    region: f.HostName = described("domain of that level it lies in", "")
    zone: f.HostName = described("domain of that level it lies in", "")
    block: f.HostName = described("domain of that level it lies in", "")
    rack: f.HostName = described("domain of that level it lies in", "")
    nvlink_domain: f.HostName = described("domain of that level it lies in", "")


class Pool(MachineShape):
    """Equal nodes, numbered from 0."""

    name: f.HostName = described("nodes are called `<name>-<number>`")
    nodes: NodeCount = described("how many")
    per_zone: NodeCount = described("consecutive nodes per zone", 0)
    per_block: NodeCount = described("consecutive nodes per block", 0)
    per_rack: NodeCount = described("consecutive nodes per rack", 0)
    per_nvlink_domain: NodeCount = described("consecutive nodes per NVLink domain", 0)
    racks: Hosts = described("names of racks that the nodes are divided over evenly", ())


class Single(MachineShape):
    """One node."""

    name: f.HostName = described("unique in the fleet")


class Topped(Mapping):
    """The whole file."""

    levels: Levels = described("levels of the topology, widest first; others are errors", ())
    pools: tuple[Pool, ...] = described("equal nodes", ())
    nodes: tuple[Single, ...] = described("single nodes", ())
    queues: tuple[QueueFile, ...] = described("the queue tree", ())
    policy: Knobs = described("how the engine decides: knobs, a preset, or a policy file", Knobs())


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
    **queue_schema.SCOPES,
    "policy": Knobs,
    **SECTIONS,
}
VOCABULARY = Vocabulary(
    keys={scope: tuple(model.model_fields) for scope, model in SCOPES.items()},
    aliases={
        "pools": _MACHINE | {"count": "nodes", "per_nvlink": "per_nvlink_domain"},
        "nodes": _MACHINE,
        **ALIASES,
        "": {},
        "policy": KNOB_ALIASES,
    },
    children={
        "": {name: name for name in ("pools", "nodes", "queues", "policy")},
        "policy": KNOB_CHILDREN,
        **queue_schema.CHILDREN,
    },
    lists=("pools", "nodes", "queues"),
    shorthands={"policy": "preset"},
)
