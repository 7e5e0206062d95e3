"""Which rule understands which kind of owner."""

from collections.abc import Mapping

from ganglion.worlds.kubernetes.workload_kinds import batch, kinds, kubeflow, ray, serving, spark
from ganglion.worlds.kubernetes.workload_kinds.kinds import Ident
from ganglion.worlds.kubernetes.workload_kinds.shape import Family

FAMILIES: Mapping[Ident, Family] = {
    kinds.JOB: batch.JOB_FAMILY,
    kinds.JOB_SET: batch.JOB_SET_FAMILY,
    kinds.TRAIN_JOB: batch.TRAIN_JOB_FAMILY,
    **dict.fromkeys(kinds.KUBEFLOW, kubeflow.FAMILY),
    kinds.RAY_CLUSTER: ray.CLUSTER_FAMILY,
    kinds.RAY_JOB: ray.JOB_FAMILY,
    kinds.LEADER_WORKER_SET: serving.LEADER_WORKER_FAMILY,
    kinds.STATEFUL_SET: serving.STATEFUL_FAMILY,
    kinds.NOTEBOOK: serving.NOTEBOOK_FAMILY,
    kinds.SPARK_APPLICATION: spark.FAMILY,
    kinds.DEPLOYMENT: serving.REPLICA_FAMILY,
    kinds.REPLICA_SET: serving.REPLICA_FAMILY,
    kinds.INFERENCE_SERVICE: serving.REPLICA_FAMILY,
    kinds.LLM_INFERENCE_SERVICE: serving.REPLICA_FAMILY,
}
"""Kinds whose pods are more than a crowd, and that do not hold others of these."""
