"""Definitions of the kinds that API servers do not bring: they take any spec and status."""

from typing import Any

Body = dict[str, Any]

KINDS = (
    ("jobset.x-k8s.io", "v1alpha2", "JobSet"),
    ("trainer.kubeflow.org", "v1alpha1", "TrainJob"),
    ("kubeflow.org", "v1", "PyTorchJob"),
    ("kubeflow.org", "v1", "TFJob"),
    ("kubeflow.org", "v1", "XGBoostJob"),
    ("kubeflow.org", "v1", "PaddleJob"),
    ("kubeflow.org", "v1", "JAXJob"),
    ("kubeflow.org", "v2beta1", "MPIJob"),
    ("kubeflow.org", "v1", "Notebook"),
    ("ray.io", "v1", "RayCluster"),
    ("ray.io", "v1", "RayJob"),
    ("ray.io", "v1", "RayService"),
    ("leaderworkerset.x-k8s.io", "v1", "LeaderWorkerSet"),
    ("serving.kserve.io", "v1beta1", "InferenceService"),
    ("workload.codeflare.dev", "v1beta2", "AppWrapper"),
    ("sparkoperator.k8s.io", "v1beta2", "SparkApplication"),
    ("scheduling.x-k8s.io", "v1alpha1", "PodGroup"),
    ("scheduling.volcano.sh", "v1beta1", "PodGroup"),
    ("scheduling.run.ai", "v2alpha2", "PodGroup"),
)
"""(group, version, kind) of all of them."""


def definition(group: str, version: str, kind: str, *, scale: bool = False) -> Body:
    """The definition of one kind; with `scale`, its replicas can be set as those of others."""
    open_ended = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {"type": "object", "properties": {"spec": open_ended, "status": open_ended}}
    plural = f"{kind.lower()}s"
    meta: Body = {"name": f"{plural}.{group}"}
    if group.endswith(".k8s.io") or group.endswith("x-k8s.io"):
        url = "https://github.com/kubernetes/kubernetes/pull/1"
        meta["annotations"] = {"api-approved.kubernetes.io": url}
    served: Body = {
        "name": version,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}},
    }
    if scale:
        paths = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
        served["subresources"]["scale"] = paths
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": meta,
        "spec": {
            "group": group,
            "names": {"kind": kind, "plural": plural, "singular": kind.lower()},
            "scope": "Namespaced",
            "versions": [served],
        },
    }


def definitions() -> list[Body]:
    """Definitions of all kinds."""
    return [definition(*each) for each in KINDS]
