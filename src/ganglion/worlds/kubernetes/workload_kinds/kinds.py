"""Kinds of objects that make pods: where they are on the API server and how they are stopped."""

from collections.abc import Mapping

from msgspec import Struct

from ganglion.worlds.kubernetes.types.meta import OwnerReference

Ident = tuple[str, str]
"""(API group, kind), as `("batch", "Job")`; the core group is empty."""

SPEC_SUSPEND = ("spec", "suspend")
RUN_POLICY_SUSPEND = ("spec", "runPolicy", "suspend")


class ApiResource(Struct, frozen=True):
    """One kind.

    Attributes:
        group: its API group; empty = core.
        kind: as `Job`.
        plural: as in paths.
        suspend: names of the fields that lead to its switch; empty = it has none.
        gathers: kinds that may lie between an object of this kind and the pods of its gang.
    """

    group: str
    kind: str
    plural: str
    suspend: tuple[str, ...] = ()
    gathers: frozenset[Ident] = frozenset()

    @property
    def ident(self) -> Ident:
        """(API group, kind)."""
        return (self.group, self.kind)


POD = ("", "Pod")
JOB = ("batch", "Job")
REPLICA_SET = ("apps", "ReplicaSet")
DEPLOYMENT = ("apps", "Deployment")
STATEFUL_SET = ("apps", "StatefulSet")
JOB_SET = ("jobset.x-k8s.io", "JobSet")
TRAIN_JOB = ("trainer.kubeflow.org", "TrainJob")
MPI_JOB = ("kubeflow.org", "MPIJob")
RAY_CLUSTER = ("ray.io", "RayCluster")
RAY_JOB = ("ray.io", "RayJob")
RAY_SERVICE = ("ray.io", "RayService")
LEADER_WORKER_SET = ("leaderworkerset.x-k8s.io", "LeaderWorkerSet")
INFERENCE_SERVICE = ("serving.kserve.io", "InferenceService")
LLM_INFERENCE_SERVICE = ("serving.kserve.io", "LLMInferenceService")
NOTEBOOK = ("kubeflow.org", "Notebook")
APP_WRAPPER = ("workload.codeflare.dev", "AppWrapper")
SPARK_APPLICATION = ("sparkoperator.k8s.io", "SparkApplication")
UPSTREAM_GROUP = ("scheduling.k8s.io", "PodGroup")
UPSTREAM_COMPOSITE = ("scheduling.k8s.io", "CompositePodGroup")
COSCHEDULING_GROUP = ("scheduling.x-k8s.io", "PodGroup")
VOLCANO_GROUP = ("scheduling.volcano.sh", "PodGroup")
KAI_GROUP = ("scheduling.run.ai", "PodGroup")

KUBEFLOW: Mapping[Ident, str] = {
    ("kubeflow.org", "PyTorchJob"): "pytorchReplicaSpecs",
    ("kubeflow.org", "TFJob"): "tfReplicaSpecs",
    ("kubeflow.org", "XGBoostJob"): "xgbReplicaSpecs",
    ("kubeflow.org", "PaddleJob"): "paddleReplicaSpecs",
    ("kubeflow.org", "JAXJob"): "jaxReplicaSpecs",
    MPI_JOB: "mpiReplicaSpecs",
}
"""Kinds of Kubeflow's training operator and where each keeps its replicas."""


def _of(
    ident: Ident, plural: str, suspend: tuple[str, ...] = (), *gathers: Ident
) -> tuple[Ident, ApiResource]:
    return ident, ApiResource(*ident, plural, suspend, frozenset(gathers))


_WRAPPED = (JOB, JOB_SET, TRAIN_JOB, *KUBEFLOW, RAY_CLUSTER, RAY_JOB, STATEFUL_SET)

KINDS: Mapping[Ident, ApiResource] = dict(
    (
        _of(POD, "pods"),
        _of(JOB, "jobs", SPEC_SUSPEND),
        _of(REPLICA_SET, "replicasets"),
        _of(DEPLOYMENT, "deployments", (), REPLICA_SET),
        _of(STATEFUL_SET, "statefulsets"),
        _of(JOB_SET, "jobsets", SPEC_SUSPEND, JOB),
        _of(TRAIN_JOB, "trainjobs", SPEC_SUSPEND, JOB_SET, JOB),
        *(_of(each, f"{each[1].lower()}s", RUN_POLICY_SUSPEND, JOB) for each in KUBEFLOW),
        _of(RAY_CLUSTER, "rayclusters", SPEC_SUSPEND),
        _of(RAY_JOB, "rayjobs", SPEC_SUSPEND, RAY_CLUSTER, JOB),
        _of(RAY_SERVICE, "rayservices"),
        _of(LEADER_WORKER_SET, "leaderworkersets", (), STATEFUL_SET, POD),
        _of(INFERENCE_SERVICE, "inferenceservices", (), DEPLOYMENT, REPLICA_SET),
        _of(LLM_INFERENCE_SERVICE, "llminferenceservices", (), DEPLOYMENT, REPLICA_SET),
        _of(NOTEBOOK, "notebooks", (), STATEFUL_SET),
        _of(APP_WRAPPER, "appwrappers", SPEC_SUSPEND, *_WRAPPED),
        _of(SPARK_APPLICATION, "sparkapplications", SPEC_SUSPEND, POD),
        _of(UPSTREAM_GROUP, "podgroups"),
        _of(UPSTREAM_COMPOSITE, "compositepodgroups"),
        _of(COSCHEDULING_GROUP, "podgroups"),
        _of(VOLCANO_GROUP, "podgroups"),
        _of(KAI_GROUP, "podgroups"),
    )
)
"""Every kind that is understood. Pods of any other are each on their own."""


def ident_of(ref: OwnerReference) -> Ident:
    """(API group, kind) of what a reference points to."""
    group = ref.api_version.rpartition("/")[0]
    return (group, ref.kind)


def resource_of(ref: OwnerReference) -> ApiResource | None:
    """The kind a reference points to; None = it is not understood."""
    return KINDS.get(ident_of(ref))


def collection(api_version: str, plural: str) -> str:
    """Path of all objects of a kind, as `/apis/batch/v1/jobs`."""
    root = "apis" if "/" in api_version else "api"
    return f"/{root}/{api_version}/{plural}"


def path_of(api_version: str, plural: str, namespace: str, name: str) -> str:
    """Path of one object, as `/apis/batch/v1/namespaces/a/jobs/b`."""
    root = "apis" if "/" in api_version else "api"
    return f"/{root}/{api_version}/namespaces/{namespace}/{plural}/{name}"
