"""Objects in which any annotation, label, quantity or owner's field may be anything."""

from functools import cache
from typing import Any

from hypothesis import strategies as st

from ganglion.worlds.kubernetes import markers, names
from ganglion.worlds.kubernetes.workload_kinds.kinds import KINDS
from tests.controlplane import manifests
from tests.worlds.kubernetes.controller.stage import Body

HUGE = 2**40

MARKS = tuple(
    sorted(
        {
            value
            for module in (names, markers)
            for value in vars(module).values()
            if isinstance(value, str) and ("/" in value or "-" in value) and value[0].islower()
        }
    )
)
"""Every label and annotation that is read of pods and of what makes them."""

TEXTS = st.one_of(
    st.sampled_from(
        (
            *("", " ", "0", "-0", "1", "-1", "2", "0.5", "0.0001", "1e-9", "1e9", "1e999999999"),
            *(
                "1e-999999999",
                ".",
                "-",
                "+",
                "NaN",
                "inf",
                "0x10",
                "१",
                "²",
                "½",
                "1_000",
                "9" * 30,
            ),
            *(
                "9" * 5_000,
                "true",
                "false",
                "None",
                "null",
                "[]",
                "{}",
                "a/b",
                "a,b",
                ",,,",
                "1,2,x",
            ),
            *(
                "80Gi",
                "-80Gi",
                "8EiB",
                "16E",
                "1h",
                "1000000000000h",
                "-1h",
                "2000-01-01T00:00:00Z",
            ),
            *(
                "9999-12-31T23:59:59+23:59",
                "0001-01-01T00:00:00Z",
                "friday",
                "rack",
                "zone",
                "node",
            ),
            *("kubernetes.io/hostname", "SIGKILL", "train", "service", "workspace", "sweep", "n0"),
            *(
                "default",
                "x" * 300,
                "\n",
                "\x00",
                "\u202e",
                "\ud7ff",
                "H100,A100",
                "9223372036854775808",
            ),
        )
    ),
    st.text(max_size=12),
    st.integers(-(2**70), 2**70).map(str),
)
NUMBERS: st.SearchStrategy[Any] = st.one_of(
    st.sampled_from(
        (0, 1, 2, -1, 8, 1_000_000, 2**31 - 1, HUGE, -HUGE, None, True, "3", 1.5, [], {})
    ),
    st.integers(-(2**63), 2**63 - 1),
)
QUANTITIES = st.one_of(
    st.sampled_from(
        ("0", "1", "1m", "1n", "0.1", "8", "1Ei", "8E", "1e18", "9223372036854775807", "-1")
    ),
    st.integers(0, 2**63 - 1).map(str),
)
RESOURCES = st.sampled_from(
    ("cpu", "memory", "nvidia.com/gpu", "amd.com/gpu", "nvidia.com/mig-1g.10gb", "rdma/hca", "pods")
)


@cache
def marks() -> st.SearchStrategy[dict[str, str]]:
    """Labels or annotations, a few of those that are read."""
    return st.dictionaries(st.sampled_from(MARKS), TEXTS, max_size=4)


@cache
def amounts(most: int) -> st.SearchStrategy[dict[str, str]]:
    """Amounts of a few resources."""
    return st.dictionaries(RESOURCES, QUANTITIES, max_size=most)


@st.composite
def pods(draw: st.DrawFn, name: str = "odd") -> Body:
    """A pod with anything in its labels, annotations and amounts."""
    body = manifests.pod(
        name,
        gpus=draw(st.sampled_from((0, 1, 1, 2))),
        labels=draw(marks()),
        annotations=draw(marks()),
    )
    resources = body["spec"]["containers"][0]["resources"]
    resources["requests"] |= draw(amounts(2))
    body["spec"]["priority"] = draw(st.sampled_from((0, 0, 100, -(2**31), 2**31 - 1)))
    body["spec"]["nodeName"] = draw(st.sampled_from(("", "", "n0", "odd", "gone")))
    body["status"] = {
        "phase": draw(st.sampled_from(("Pending", "Running"))),
        "nominatedNodeName": draw(st.sampled_from(("", "", "n0", "gone"))),
    }
    if draw(st.booleans()):
        condition = {"type": "DisruptionTarget", "status": "True", "message": draw(TEXTS)}
        body["status"]["conditions"] = [condition | {"reason": "PreemptionByScheduler"}]
    return body


OWNED = tuple(sorted(ident for ident in KINDS if ident != ("", "Pod")))


@st.composite
def owned(draw: st.DrawFn) -> list[Body]:
    """An owner of any known kind with anything in its fields, and pods that it made."""
    group, kind = draw(st.sampled_from(OWNED))
    version = f"{group}/v1" if group else "v1"
    owner = {
        "apiVersion": version,
        "kind": kind,
        "metadata": {
            "name": "odd",
            "namespace": "default",
            "uid": "odd-owner",
            "annotations": draw(marks()),
            "labels": draw(marks()),
            "creationTimestamp": "2026-11-01T08:00:00Z",
        },
        "spec": draw(specs(kind)),
        "status": draw(fields(2)),
    }
    reference = {"apiVersion": version, "kind": kind, "name": "odd", "uid": "odd-owner"}
    made = [draw(pods(f"odd-{index}")) for index in range(draw(st.integers(1, 3)))]
    for each in made:
        each["metadata"]["ownerReferences"] = [reference | {"controller": True}]
    return [owner, *made]


FIELDS = (
    *("parallelism", "completions", "replicas", "size", "backoffLimit", "activeDeadlineSeconds"),
    *("suspend", "completionMode", "template", "spec", "metadata", "minMember", "minAvailable"),
    *("numOfHosts", "workerGroupSpecs", "headGroupSpec", "rayClusterSpec", "leaderWorkerTemplate"),
    *(
        "replicatedJobs",
        "replicatedJobsStatus",
        "components",
        "subGroups",
        "minTaskMember",
        "queue",
    ),
    *(
        "runPolicy",
        "elasticPolicy",
        "minReplicas",
        "maxReplicas",
        "executor",
        "instances",
        "driver",
    ),
    *("succeeded", "active", "failedIndexes", "schedulingPolicy", "gang", "minCount", "ordinals"),
    *("topologyConstraint", "dependsOn", "startupPolicy", "name", "workerTemplate", "start"),
)


@cache
def fields(depth: int) -> st.SearchStrategy[dict[str, Any]]:
    """Known fields at any place, with anything in them."""
    leaves: st.SearchStrategy[Any] = st.one_of(NUMBERS, TEXTS)
    if depth:
        leaves = st.one_of(leaves, fields(depth - 1), st.lists(fields(depth - 1), max_size=2))
    return st.dictionaries(st.sampled_from(FIELDS), leaves, max_size=3)


@cache
def specs(kind: str) -> st.SearchStrategy[dict[str, Any]]:
    """A spec that is well formed but for its numbers, or is not at all."""
    template = {"spec": {"containers": [{"name": "main"}]}}
    job = st.fixed_dictionaries(
        {"parallelism": NUMBERS, "completions": NUMBERS, "template": st.just(template)}
    )
    replicas = st.dictionaries(
        st.sampled_from(("Master", "Worker", "Launcher")),
        st.fixed_dictionaries({"replicas": NUMBERS, "template": st.just(template)}),
        max_size=3,
    )
    several = st.lists(
        st.fixed_dictionaries(
            {
                "name": st.sampled_from(("a", "b")),
                "replicas": NUMBERS,
                "template": job.map(lambda spec: {"spec": spec}),
            }
        ),
        max_size=2,
    )
    known: dict[str, st.SearchStrategy[dict[str, Any]]] = {
        "Job": job,
        "JobSet": several.map(lambda jobs: {"replicatedJobs": jobs}),
        "LeaderWorkerSet": st.fixed_dictionaries(
            {
                "replicas": NUMBERS,
                "leaderWorkerTemplate": st.fixed_dictionaries(
                    {"size": NUMBERS, "workerTemplate": st.just(template)}
                ),
            }
        ),
    }
    for name in ("PyTorchJob", "TFJob", "XGBoostJob", "PaddleJob", "JAXJob", "MPIJob"):
        prefix = name.removesuffix("Job").lower().replace("pytorch", "pytorch")
        known[name] = replicas.map(lambda found, p=prefix: {f"{p}ReplicaSpecs": found})
    usual = known.get(kind, fields(3))
    return st.one_of(usual, usual, fields(2))


@st.composite
def nodes(draw: st.DrawFn) -> Body:
    """A node that claims anything."""
    body = manifests.node(
        "odd",
        gpus=draw(st.sampled_from((0, 1, 8))),
        labels=draw(st.dictionaries(st.sampled_from(NODE_LABELS), TEXTS, max_size=4)),
        annotations=draw(marks()),
    )
    for half in ("capacity", "allocatable"):
        body["status"][half] = body["status"][half] | draw(amounts(3))
    return body


NODE_LABELS = (
    *("nvidia.com/gpu.count", "nvidia.com/gpu.product", "nvidia.com/gpu.memory"),
    *("nvidia.com/gpu.replicas", "nvidia.com/gpu.sharing-strategy", "nvidia.com/mig.config.state"),
    *("nvidia.com/mig-1g.10gb.count", "topology.kubernetes.io/zone", "ganglion.dev/rack"),
    *("nvidia.com/gpu.clique", "cloud.google.com/gke-max-shared-clients-per-gpu"),
)
