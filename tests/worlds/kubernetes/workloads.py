"""Objects as users write them, one of every kind that makes pods."""

from typing import Any

Body = dict[str, Any]


def template(
    gpus: int = 8, labels: Body | None = None, annotations: Body | None = None, **spec: Any
) -> Body:
    """A pod template for our scheduler."""
    asks = {"cpu": "1", "memory": "1Gi"} | ({"nvidia.com/gpu": gpus} if gpus else {})
    container = {"name": "main", "image": "img", "resources": {"requests": asks, "limits": asks}}
    body = {"schedulerName": "ganglion", "containers": [container], **spec}
    return {"metadata": {"labels": labels or {}, "annotations": annotations or {}}, "spec": body}


def thing(api_version: str, kind: str, name: str, spec: Body, **meta: Any) -> Body:
    """An object in the namespace `default`, unless `meta` says otherwise."""
    metadata = {"name": name, "namespace": "default", **meta}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec}


def once(body: Body) -> Body:
    """The template of pods that are not restarted."""
    return {**body, "spec": {**body["spec"], "restartPolicy": "Never"}}


def job_spec(pods: int, completions: int | None = None, body: Body | None = None) -> Body:
    return {
        "parallelism": pods,
        "completions": pods if completions is None else completions,
        "completionMode": "Indexed",
        "template": once(body or template()),
    }


def job(name: str = "train", pods: int = 4, completions: int | None = None, **meta: Any) -> Body:
    return thing("batch/v1", "Job", name, job_spec(pods, completions), **meta)


def job_set(name: str = "llm", jobs: list[Body] | None = None, **meta: Any) -> Body:
    """By default one driver and two Jobs of three workers."""
    spec = {"replicatedJobs": jobs or [replicated("driver", 1, 1), replicated("worker", 2, 3)]}
    return thing("jobset.x-k8s.io/v1alpha2", "JobSet", name, spec, **meta)


def replicated(name: str, replicas: int, pods: int, **more: Any) -> Body:
    spec = job_spec(pods)
    return {"name": name, "replicas": replicas, "template": {"spec": spec}, **more}


def train_job(name: str = "tune", nodes: int = 4) -> Body:
    spec = {"runtimeRef": {"name": "torch-distributed"}, "trainer": {"numNodes": nodes}}
    return thing("trainer.kubeflow.org/v1alpha1", "TrainJob", name, spec)


def kubeflow(kind: str, field: str, name: str = "kf", **replicas: int) -> Body:
    spec = {field: {role: {"replicas": n, "template": template()} for role, n in replicas.items()}}
    return thing("kubeflow.org/v1", kind, name, spec)


def mpi_job(name: str = "mpi", workers: int = 2, **spec: Any) -> Body:
    roles = {
        "Launcher": {"replicas": 1, "template": template(gpus=0)},
        "Worker": {"replicas": workers, "template": template()},
    }
    return thing("kubeflow.org/v2beta1", "MPIJob", name, {"mpiReplicaSpecs": roles, **spec})


def ray_spec(*groups: Body, **more: Any) -> Body:
    return {
        "headGroupSpec": {"template": template(gpus=0)},
        "workerGroupSpecs": list(groups) or [ray_group("gpu", 2)],
        **more,
    }


def ray_group(name: str, replicas: int, **more: Any) -> Body:
    return {"groupName": name, "replicas": replicas, "template": template(), **more}


def ray_cluster(name: str = "ray", *groups: Body, **more: Any) -> Body:
    return thing("ray.io/v1", "RayCluster", name, ray_spec(*groups, **more))


def ray_job(name: str = "rjob", *groups: Body, **spec: Any) -> Body:
    spec = {"rayClusterSpec": ray_spec(*groups), "entrypoint": "python a.py", **spec}
    return thing("ray.io/v1", "RayJob", name, spec)


def ray_service(name: str = "rsvc", *groups: Body) -> Body:
    return thing("ray.io/v1", "RayService", name, {"rayClusterConfig": ray_spec(*groups)})


def leader_worker_set(name: str = "vllm", replicas: int = 2, size: int = 3, **more: Any) -> Body:
    spec = {
        "replicas": replicas,
        "leaderWorkerTemplate": {
            "size": size,
            "leaderTemplate": template(gpus=0),
            "workerTemplate": template(),
        },
        **more,
    }
    return thing("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", name, spec)


def stateful_set(name: str = "db", replicas: int = 3, policy: str = "Parallel") -> Body:
    spec = {
        "replicas": replicas,
        "serviceName": name,
        "podManagementPolicy": policy,
        "selector": {"matchLabels": {"app": name}},
        "template": template(labels={"app": name}),
    }
    return thing("apps/v1", "StatefulSet", name, spec)


def deployment(
    name: str = "web", replicas: int = 2, notes: Body | None = None, gpus: int = 8, **meta: Any
) -> Body:
    spec = {
        "replicas": replicas,
        "selector": {"matchLabels": {"app": name}},
        "template": template(gpus, labels={"app": name}, annotations=notes),
    }
    return thing("apps/v1", "Deployment", name, spec, **meta)


def inference_service(name: str = "bert") -> Body:
    spec = {"predictor": {"minReplicas": 2}}
    return thing("serving.kserve.io/v1beta1", "InferenceService", name, spec)


def notebook(name: str = "nb") -> Body:
    return thing("kubeflow.org/v1", "Notebook", name, {"template": template()})


def app_wrapper(*components: Body, name: str = "wrap") -> Body:
    spec = {"components": [{"template": each} for each in components]}
    return thing("workload.codeflare.dev/v1beta2", "AppWrapper", name, spec)


def spark(name: str = "etl", executors: int = 2, **spec: Any) -> Body:
    spec = {
        "driver": {"cores": 1, "memory": "1g"},
        "executor": {"cores": 2, "memory": "4g", "instances": executors},
        **spec,
    }
    return thing("sparkoperator.k8s.io/v1beta2", "SparkApplication", name, spec)


def bare(name: str = "pod", gpus: int = 8, **meta: Any) -> Body:
    body = template(gpus)
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", **meta},
        "spec": body["spec"],
    }
