"""What the controllers of every kind make of an object, as far as gangs can see it.

`made_by` gives the next generation, `unfold` all of it. Objects without a UID get one made of
their kind and name. Against an API server whose own controllers run, `play` creates what those do
not make.
"""

from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any

from tests.worlds.kubernetes.workloads import deployment, replicated, stateful_set, template

Body = dict[str, Any]

LWS = "leaderworkerset.sigs.k8s.io"
JOBSET = "jobset.sigs.k8s.io"
TRAINING = "training.kubeflow.org"


def uid_of(body: Body) -> str:
    """The UID of an object, or one made of its kind and name."""
    meta = body["metadata"]
    return str(
        meta.get("uid") or f"{body['kind']}-{meta.get('namespace', '')}-{meta['name']}".lower()
    )


def owned(owner: Body, kind: str, api_version: str, name: str, **meta: Any) -> Body:
    """An object of that owner, without a spec."""
    ref = {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": uid_of(owner),
        "controller": True,
    }
    metadata = {
        "name": name,
        "namespace": owner["metadata"]["namespace"],
        "ownerReferences": [ref],
        **meta,
    }
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata}


def pod_of(owner: Body, name: str, body: Body) -> Body:
    """A pod of that owner from a template."""
    given = deepcopy(body)
    said = given.get("metadata", {})
    labels, notes = dict(said.get("labels", {})), dict(said.get("annotations", {}))
    pod = owned(owner, "Pod", "v1", name, labels=labels, annotations=notes)
    return {**pod, "spec": given["spec"]}


def _labelled(pod: Body, labels: dict[str, str]) -> Body:
    pod["metadata"]["labels"].update(labels)
    return pod


def _job(job: Body) -> Iterator[Body]:
    """The first pods of a Job: as many as run at once."""
    spec = job["spec"]
    pods = spec.get("parallelism", 1)
    count = min(pods, spec.get("completions", pods))
    for index in range(count):
        yield job_pod(job, index)


def job_pod(job: Body, index: int, tail: str = "x") -> Body:
    """The pod of a Job for one completion index; `tail` is its name's random part."""
    spec, name = job["spec"], job["metadata"]["name"]
    labels = {"batch.kubernetes.io/job-name": name}
    if spec.get("completionMode") == "Indexed":
        labels["batch.kubernetes.io/job-completion-index"] = str(index)
        tail = f"{index}-{tail}"
    else:
        tail = f"{tail}{chr(97 + index)}"
    return _labelled(pod_of(job, f"{name}-{tail}", spec["template"]), labels)


def _job_set(job_set: Body) -> Iterator[Body]:
    name = job_set["metadata"]["name"]
    for part in job_set["spec"]["replicatedJobs"]:
        for index in range(part.get("replicas", 1)):
            labels = {
                f"{JOBSET}/jobset-name": name,
                f"{JOBSET}/replicatedjob-name": part["name"],
                f"{JOBSET}/job-index": str(index),
            }
            job = owned(job_set, "Job", "batch/v1", f"{name}-{part['name']}-{index}", labels=labels)
            job["spec"] = deepcopy(part["template"]["spec"])
            job["spec"].setdefault("completionMode", "Indexed")
            job["spec"]["template"].setdefault("metadata", {}).setdefault("labels", {}).update(
                labels
            )
            yield job


def _train_job(train_job: Body) -> Iterator[Body]:
    nodes = train_job["spec"]["trainer"]["numNodes"]
    made = owned(train_job, "JobSet", "jobset.x-k8s.io/v1alpha2", train_job["metadata"]["name"])
    yield {**made, "spec": {"replicatedJobs": [replicated("node", 1, nodes)]}}


def _kubeflow(field: str) -> Callable[[Body], Iterator[Body]]:
    def pods(owner: Body) -> Iterator[Body]:
        for role, part in owner["spec"][field].items():
            for index in range(part.get("replicas", 1)):
                labels = {
                    f"{TRAINING}/job-name": owner["metadata"]["name"],
                    f"{TRAINING}/replica-type": role.lower(),
                    f"{TRAINING}/replica-index": str(index),
                }
                name = f"{owner['metadata']['name']}-{role.lower()}-{index}"
                yield _labelled(pod_of(owner, name, part["template"]), labels)

    return pods


def _mpi(owner: Body) -> Iterator[Body]:
    """Version 2 runs the launcher as a Job."""
    if owner["apiVersion"].endswith("/v1"):
        yield from _kubeflow("mpiReplicaSpecs")(owner)
        return
    roles = owner["spec"]["mpiReplicaSpecs"]
    for pod in _kubeflow("mpiReplicaSpecs")(owner):
        if "-worker-" in pod["metadata"]["name"]:
            yield pod
    launcher = owned(owner, "Job", "batch/v1", f"{owner['metadata']['name']}-launcher")
    body = deepcopy(roles["Launcher"]["template"])
    body["metadata"]["labels"] = {f"{TRAINING}/job-role": "launcher"}
    body["spec"]["restartPolicy"] = "OnFailure"
    yield {**launcher, "spec": {"template": body}}


def _ray_cluster(cluster: Body) -> Iterator[Body]:
    spec, name = cluster["spec"], cluster["metadata"]["name"]
    common = {"ray.io/cluster": name}
    head = pod_of(cluster, f"{name}-head", spec["headGroupSpec"]["template"])
    yield _labelled(head, {**common, "ray.io/node-type": "head", "ray.io/group": "headgroup"})
    for group in spec["workerGroupSpecs"]:
        for index in range(group.get("replicas", 0) * group.get("numOfHosts", 1)):
            pod = pod_of(
                cluster, f"{name}-{group['groupName']}-w{chr(97 + index)}", group["template"]
            )
            labels = {"ray.io/node-type": "worker", "ray.io/group": group["groupName"]}
            yield _labelled(pod, {**common, **labels})


def _ray_job(job: Body) -> Iterator[Body]:
    name = job["metadata"]["name"]
    yield {
        **owned(job, "RayCluster", "ray.io/v1", f"{name}-abcde"),
        "spec": deepcopy(job["spec"]["rayClusterSpec"]),
    }
    container = {
        "name": "submit",
        "image": "img",
        "resources": {"requests": {"cpu": "500m", "memory": "200Mi"}},
    }
    body = {"schedulerName": "ganglion", "containers": [container], "restartPolicy": "Never"}
    submitter = owned(job, "Job", "batch/v1", name)
    yield {**submitter, "spec": {"template": {"metadata": {"labels": {}}, "spec": body}}}


def _ray_service(service: Body) -> Iterator[Body]:
    yield {
        **owned(service, "RayCluster", "ray.io/v1", f"{service['metadata']['name']}-vwxyz"),
        "spec": deepcopy(service["spec"]["rayClusterConfig"]),
    }


def _leader_worker_set(owner: Body) -> Iterator[Body]:
    """A StatefulSet of leaders; its controller is played too, for a webhook labels the pods."""
    name = owner["metadata"]["name"]
    body = owner["spec"]["leaderWorkerTemplate"]
    spec = {"replicas": owner["spec"]["replicas"], "size": body["size"], "body": body}
    yield _lws_set(owned(owner, "StatefulSet", "apps/v1", name), spec, {f"{LWS}/name": name})


def _lws_set(made: Body, spec: Body, labels: dict[str, str]) -> Body:
    """A StatefulSet that selects nothing: its pods are made here, with what they need kept."""
    made["metadata"]["labels"] = labels
    nothing = {"matchLabels": {"nothing": made["metadata"]["name"]}}
    unused = deepcopy(spec["body"]["workerTemplate"])
    unused["metadata"]["labels"] = {"nothing": made["metadata"]["name"]}
    made["spec"] = {"replicas": 0, "serviceName": "none", "selector": nothing, "template": unused}
    made["played"] = spec
    return made


def _stateful_set(owner: Body) -> Iterator[Body]:
    if "played" in owner:
        yield from _lws_pods(owner)
        return
    name = owner["metadata"]["name"]
    for index in range(owner["spec"].get("replicas", 1)):
        pod = pod_of(owner, f"{name}-{index}", owner["spec"]["template"])
        yield _labelled(pod, {"apps.kubernetes.io/pod-index": str(index)})


def _lws_pods(owner: Body) -> Iterator[Body]:
    spec, labels = owner["played"], owner["metadata"]["labels"]
    name, body = owner["metadata"]["name"], spec["body"]
    group = labels.get(f"{LWS}/group-index")
    if group is None:
        for index in range(spec["replicas"]):
            pod = pod_of(
                owner, f"{name}-{index}", body.get("leaderTemplate") or body["workerTemplate"]
            )
            mine = {**labels, f"{LWS}/group-index": str(index), f"{LWS}/worker-index": "0"}
            pod["played"] = spec
            yield _labelled(pod, mine)
        return
    for index in range(1, spec["size"]):
        pod = pod_of(owner, f"{name}-{index}", body["workerTemplate"])
        yield _labelled(pod, {**labels, f"{LWS}/worker-index": str(index)})


def _pod(pod: Body) -> Iterator[Body]:
    """Leaders have a StatefulSet of workers, drivers have executors."""
    if "executors" in pod:
        for index, executor in enumerate(pod["executors"]):
            made = pod_of(pod, f"{pod['metadata']['name']}-exec-{index + 1}", executor)
            yield _labelled(made, {"spark-role": "executor", "spark-exec-id": str(index + 1)})
    elif "played" in pod:
        keep = (f"{LWS}/name", f"{LWS}/group-index")
        labels = {key: pod["metadata"]["labels"][key] for key in keep}
        made = owned(pod, "StatefulSet", "apps/v1", pod["metadata"]["name"])
        yield _lws_set(made, pod["played"], labels)


def _deployment(owner: Body) -> Iterator[Body]:
    made = owned(owner, "ReplicaSet", "apps/v1", f"{owner['metadata']['name']}-6d5f")
    yield {**made, "spec": deepcopy(owner["spec"])}


def _replica_set(owner: Body) -> Iterator[Body]:
    for index in range(owner["spec"].get("replicas", 1)):
        name = f"{owner['metadata']['name']}-{chr(97 + index)}bcde"
        yield pod_of(owner, name, owner["spec"]["template"])


def _inference_service(owner: Body) -> Iterator[Body]:
    name = f"{owner['metadata']['name']}-predictor"
    made = owned(owner, "Deployment", "apps/v1", name)
    yield {**made, "spec": deployment(name)["spec"]}


def _notebook(owner: Body) -> Iterator[Body]:
    name = owner["metadata"]["name"]
    made = owned(owner, "StatefulSet", "apps/v1", name)
    yield {**made, "spec": stateful_set(name, 1, "OrderedReady")["spec"]}


def _app_wrapper(owner: Body) -> Iterator[Body]:
    for component in owner["spec"]["components"]:
        given = deepcopy(component["template"])
        made = owned(owner, given["kind"], given["apiVersion"], given["metadata"]["name"])
        made["metadata"] = {**given["metadata"], **made["metadata"]}
        yield {**given, "metadata": made["metadata"]}


def _spark(owner: Body) -> Iterator[Body]:
    body = template(gpus=0, labels={"spark-role": "driver"})
    driver = pod_of(owner, f"{owner['metadata']['name']}-driver", body)
    driver["executors"] = [template(gpus=0)] * owner["spec"]["executor"]["instances"]
    yield driver


MAKERS: dict[str, Callable[[Body], Iterator[Body]]] = {
    "Job": _job,
    "JobSet": _job_set,
    "TrainJob": _train_job,
    "PyTorchJob": _kubeflow("pytorchReplicaSpecs"),
    "TFJob": _kubeflow("tfReplicaSpecs"),
    "XGBoostJob": _kubeflow("xgbReplicaSpecs"),
    "PaddleJob": _kubeflow("paddleReplicaSpecs"),
    "JAXJob": _kubeflow("jaxReplicaSpecs"),
    "MPIJob": _mpi,
    "RayCluster": _ray_cluster,
    "RayJob": _ray_job,
    "RayService": _ray_service,
    "LeaderWorkerSet": _leader_worker_set,
    "StatefulSet": _stateful_set,
    "Pod": _pod,
    "Deployment": _deployment,
    "ReplicaSet": _replica_set,
    "InferenceService": _inference_service,
    "Notebook": _notebook,
    "AppWrapper": _app_wrapper,
    "SparkApplication": _spark,
}


def _nothing(_: Body) -> Iterator[Body]:
    return iter(())


HELPERS = ("played", "executors")
"""Keys by which makers pass on what an API server would not keep."""


def made_by(body: Body) -> list[Body]:
    """What the controller of an object's kind makes of it; nothing for unknown kinds."""
    return list(MAKERS.get(body["kind"], _nothing)(body))


def unfold(body: Body) -> list[Body]:
    """An object and all that comes of it, each with a UID."""
    body["metadata"]["uid"] = uid_of(body)
    return [body, *(each for made in made_by(body) for each in unfold(made))]


REAL = frozenset({"Job", "StatefulSet", "Deployment", "ReplicaSet"})
"""Kinds that kube-controller-manager takes care of."""


def play(create: Callable[[Body], Body], body: Body, real: frozenset[str] = REAL) -> Body:
    """Create an object, and what comes of it that no real controller makes.

    A LeaderWorkerSet needs an API server without kube-controller-manager, which would let go of
    pods that its webhook, and not the StatefulSet, has labelled.

    Args:
        create: creates one object and returns it as the API server keeps it.
        body: the object.
        real: kinds whose controllers run.
    """
    helpers = {key: body[key] for key in HELPERS if key in body}
    kept = create({key: value for key, value in body.items() if key not in HELPERS})
    if body["kind"] not in real:
        for made in made_by({**kept, **helpers}):
            play(create, made, real)
    return kept
