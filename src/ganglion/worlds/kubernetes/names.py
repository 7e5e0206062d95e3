"""Names by which Ganglion is known in a cluster."""

SCHEDULER = "ganglion"
"""`schedulerName` of pods that are ours to place."""

GROUP = "ganglion.dev"
VERSION = "v1alpha1"

_PREFIX = f"{GROUP}/"

GATE = _PREFIX + "gate"
"""Scheduling gate of pods that another scheduler binds where we say."""

QUEUE = _PREFIX + "queue"
GANG = _PREFIX + "gang"
GANG_SIZE = _PREFIX + "gang-size"
GANG_MIN = _PREFIX + "gang-min"
POD_SET = _PREFIX + "pod-set"
INDEX = _PREFIX + "index"
DEVICES = _PREFIX + "devices"
GPU_FRACTION = _PREFIX + "gpu-fraction"
GPU_MEMORY = _PREFIX + "gpu-memory"
GPU_TYPES = _PREFIX + "gpu-types"
PRIORITY = _PREFIX + "priority"
TOPOLOGY_REQUIRED = _PREFIX + "topology-required"
TOPOLOGY_PREFERRED = _PREFIX + "topology-preferred"
PREEMPTIBLE = _PREFIX + "preemptible"
CHECKPOINT_INTERVAL = _PREFIX + "checkpoint-interval"
CHECKPOINT_GRACE = _PREFIX + "checkpoint-grace"
CHECKPOINT_SIGNAL = _PREFIX + "checkpoint-signal"
CHECKPOINTED_AT = _PREFIX + "checkpointed-at"
TIME_LIMIT = _PREFIX + "time-limit"
EXPECTED = _PREFIX + "expected"

KUEUE_QUEUE = "kueue.x-k8s.io/queue-name"
HOSTNAME = "kubernetes.io/hostname"

DISRUPTION_TARGET = "DisruptionTarget"
PREEMPTED = "PreemptionByScheduler"
