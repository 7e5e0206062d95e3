"""Labels and annotations that other systems put on pods and their owners."""

from typing import Final

from ganglion.worlds.kubernetes import names

KIND: Final = f"{names.GROUP}/kind"
"""Label: what sort of workload it is, where the kind of its owner does not say it."""

JOB_INDEX: Final = "batch.kubernetes.io/job-completion-index"

JOBSET_JOB: Final = "jobset.sigs.k8s.io/replicatedjob-name"
JOBSET_JOB_INDEX: Final = "jobset.sigs.k8s.io/job-index"
JOBSET_EXCLUSIVE: Final = "alpha.jobset.sigs.k8s.io/exclusive-topology"
JOBSET_BY_SELECTOR: Final = "alpha.jobset.sigs.k8s.io/node-selector"

KUBEFLOW_ROLE: Final = "training.kubeflow.org/job-role"
KUBEFLOW_TYPE: Final = "training.kubeflow.org/replica-type"
KUBEFLOW_INDEX: Final = "training.kubeflow.org/replica-index"

RAY_NODE: Final = "ray.io/node-type"
RAY_GROUP: Final = "ray.io/group"
RAY_REPLICA_INDEX: Final = "ray.io/worker-group-replica-index"
RAY_HOST_INDEX: Final = "ray.io/replica-host-index"

LWS_GROUP: Final = "leaderworkerset.sigs.k8s.io/group-index"
LWS_WORKER: Final = "leaderworkerset.sigs.k8s.io/worker-index"
LWS_SIZE: Final = "leaderworkerset.sigs.k8s.io/size"
LWS_EXCLUSIVE: Final = "leaderworkerset.sigs.k8s.io/exclusive-topology"
LWS_SUBGROUP_EXCLUSIVE: Final = "leaderworkerset.sigs.k8s.io/subgroup-exclusive-topology"

SPARK_ROLE: Final = "spark-role"
SPARK_EXECUTOR: Final = "spark-exec-id"

POD_INDEX: Final = "apps.kubernetes.io/pod-index"

KUEUE_GROUP: Final = "kueue.x-k8s.io/pod-group-name"
KUEUE_TOTAL: Final = "kueue.x-k8s.io/pod-group-total-count"
KUEUE_INDEX: Final = "kueue.x-k8s.io/pod-group-pod-index"
KUEUE_INDEX_LABEL: Final = "kueue.x-k8s.io/pod-group-pod-index-label"
KUEUE_MIN: Final = "kueue.x-k8s.io/job-min-parallelism"
KUEUE_LIMIT: Final = "kueue.x-k8s.io/max-exec-time-seconds"
KUEUE_REQUIRED: Final = "kueue.x-k8s.io/podset-required-topology"
KUEUE_PREFERRED: Final = "kueue.x-k8s.io/podset-preferred-topology"
KUEUE_SLICE: Final = "kueue.x-k8s.io/podset-slice-required-topology"
KUEUE_SLICE_SIZE: Final = "kueue.x-k8s.io/podset-slice-size"
KUEUE_TOGETHER: Final = "kueue.x-k8s.io/podset-group-name"

COSCHEDULING: Final = "scheduling.x-k8s.io/pod-group"

VOLCANO: Final = "scheduling.k8s.io/group-name"
VOLCANO_TASK: Final = "volcano.sh/task-spec"
VOLCANO_INDEX: Final = "volcano.sh/task-index"
VOLCANO_QUEUE: Final = "scheduling.volcano.sh/queue-name"

KAI: Final = "pod-group-name"
KAI_SUBGROUP: Final = "kai.scheduler/subgroup-name"
KAI_QUEUE: Final = "kai.scheduler/queue"
KAI_REQUIRED: Final = "kai.scheduler/topology-required-placement"
KAI_PREFERRED: Final = "kai.scheduler/topology-preferred-placement"

QUEUES: Final = (names.QUEUE, names.KUEUE_QUEUE, KAI_QUEUE, VOLCANO_QUEUE)
"""Where the queue is named; an earlier one overrides."""

UPSTREAM_LEVEL: Final = "spec.schedulingConstraints.topology"
"""Field of a PodGroup, passed on as if it were an annotation of that name."""

REQUIRED: Final = (
    names.TOPOLOGY_REQUIRED,
    KUEUE_REQUIRED,
    KAI_REQUIRED,
    LWS_EXCLUSIVE,
    UPSTREAM_LEVEL,
)
PREFERRED: Final = (names.TOPOLOGY_PREFERRED, KUEUE_PREFERRED, KAI_PREFERRED)
