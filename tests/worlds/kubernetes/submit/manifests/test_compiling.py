"""What a workload file becomes in a cluster, and what is refused by the key it stands under."""

import pytest
from tests.worlds.kubernetes.submit.make import (
    compiled,
    container,
    env,
    kinds,
    only,
    pod_of,
    workload,
)

from ganglion.model.errors import FieldError
from ganglion.worlds.kubernetes.submit.manifests.checks import unheeded

TRAIN = """
name: llama
image: img:1
run: [torchrun, train.py]
nodes: 4
resources: {gpus: "H100:8", cpus: 2, memory: 8Gi, shm_size: 1Gi}
placement: rack
priority: high
time_limit: 90m
preemptible: false
checkpoint: {interval: 30m, grace: 2m, path: "pvc://ck/a/b"}
retry: 2
queue: org/research
"""


SERVICE = "{name: a, image: i, run: [a], kind: service, port: 80"
"""A service; its closing brace is left to those who say more of it."""


def test_a_training_is_an_indexed_job_with_names_for_its_pods() -> None:
    made = compiled(TRAIN)
    assert kinds(made) == ["Job llama", "Service llama", "ConfigMap llama"]
    spec = made[0]["spec"]
    assert (spec["completions"], spec["parallelism"], spec["backoffLimit"]) == (4, 4, 8)
    assert spec["completionMode"] == "Indexed"
    ignored = spec["podFailurePolicy"]["rules"][0]
    assert ignored["action"] == "Ignore"
    assert ignored["onPodConditions"][0]["type"] == "DisruptionTarget"
    assert only(made, "Service")["spec"]["clusterIP"] == "None"
    assert only(made, "Service")["spec"]["publishNotReadyAddresses"] is True
    pod = pod_of(made[0])["spec"]
    assert pod["subdomain"] == only(made, "Service")["metadata"]["name"]
    assert pod["schedulerName"] == "ganglion"


def test_a_limit_counts_from_the_start_of_a_pod_and_not_from_the_submit() -> None:
    job = compiled(TRAIN)[0]
    assert "activeDeadlineSeconds" not in job["spec"]
    assert pod_of(job)["spec"]["activeDeadlineSeconds"] == 5400


def test_pods_find_each_other_as_on_one_machine() -> None:
    found = env(compiled(TRAIN)[0])
    assert found["MASTER_ADDR"] == found["PET_MASTER_ADDR"] == "llama-0.llama"
    assert found["PET_RDZV_ENDPOINT"] == "llama-0.llama:29500"
    assert (found["WORLD_SIZE"], found["PET_NNODES"], found["PET_NPROC_PER_NODE"]) == (
        "4",
        "4",
        "8",
    )
    index = "metadata.annotations['batch.kubernetes.io/job-completion-index']"
    assert found["GANGLION_POD_INDEX"] == {"fieldRef": {"fieldPath": index}}
    assert found["RANK"] == found["PET_NODE_RANK"] == "$(GANGLION_POD_INDEX)"
    config = only(compiled(TRAIN), "ConfigMap")["data"]
    assert config["hostfile-0"].splitlines()[3] == "llama-3.llama slots=8"


def test_variables_that_others_are_made_of_come_before_them() -> None:
    names = [each["name"] for each in container(compiled(TRAIN)[0])["env"]]
    assert names.index("GANGLION_POD_INDEX") < names.index("RANK")


def test_needs_are_limits_of_the_container() -> None:
    job = compiled(TRAIN)[0]
    assert container(job)["resources"] == {
        "requests": {"cpu": "2000m", "memory": "8192Mi", "nvidia.com/gpu": "8"},
        "limits": {"memory": "8192Mi", "nvidia.com/gpu": "8"},
    }
    volumes = {each["name"]: each for each in pod_of(job)["spec"]["volumes"]}
    assert volumes["shm"]["emptyDir"] == {"medium": "Memory", "sizeLimit": "1024Mi"}
    assert volumes["checkpoints"]["persistentVolumeClaim"] == {"claimName": "ck"}
    mounts = {each["name"]: each for each in container(job)["volumeMounts"]}
    assert mounts["checkpoints"]["subPath"] == "a/b"


def test_the_scheduler_is_told_by_labels_and_annotations() -> None:
    job = compiled(TRAIN)[0]
    meta = pod_of(job)["metadata"]
    assert meta["labels"]["ganglion.dev/queue"] == "research"
    assert meta["annotations"] == {
        "ganglion.dev/gpu-types": "H100",
        "ganglion.dev/preemptible": "false",
        "ganglion.dev/time-limit": "1h30m",
        "ganglion.dev/checkpoint-interval": "30m",
        "ganglion.dev/checkpoint-grace": "2m",
        "ganglion.dev/checkpoint-signal": "SIGTERM",
        "ganglion.dev/user": "ada",
        "ganglion.dev/priority": "75",
    }
    assert job["metadata"]["annotations"]["ganglion.dev/topology-required"] == "rack"
    assert pod_of(job)["spec"]["terminationGracePeriodSeconds"] == 120


def test_elastic_gangs_say_their_least_and_end_with_their_first_pod() -> None:
    job = compiled("{name: e, image: i, run: [a], nodes: 2..4, gpus: 1}")[0]
    assert pod_of(job)["metadata"]["annotations"]["ganglion.dev/gang-min"] == "2"
    assert env(job)["PET_NNODES"] == "2:4"
    assert job["spec"]["successPolicy"]["rules"] == [{"succeededIndexes": "0", "succeededCount": 1}]


SETS = """
name: rl
image: i
run: [python, rl.py]
pod_sets:
- {name: learner, nodes: 2, resources: {gpus: 8}, placement: rack}
- {name: actors, nodes: 3, procs_per_node: 4}
"""


def test_pod_sets_are_jobs_that_one_label_joins() -> None:
    made = compiled(SETS)
    assert kinds(made) == ["Job rl-learner", "Job rl-actors", "Service rl", "ConfigMap rl"]
    for job in made[:2]:
        meta = pod_of(job)["metadata"]
        assert meta["labels"]["ganglion.dev/gang"] == "rl"
        assert meta["annotations"]["ganglion.dev/gang-size"] == "5"
    actors = env(made[1])
    assert (actors["GANGLION_FIRST_POD"], actors["GANGLION_FIRST_RANK"]) == ("2", "2")
    assert actors["WORLD_SIZE"] == "14"
    assert actors["MASTER_ADDR"] == "rl-learner-0.rl"
    assert container(made[1])["command"][:2] == ["/bin/sh", "/etc/ganglion/launch"]


def test_a_sweep_is_one_job_whose_indexes_are_its_trials() -> None:
    made = compiled(
        "{name: grid, image: i, run: 'python t.py --lr {lr}', gpus: 1,"
        " params: {lr: [1e-4, 3e-4], seed: 0..2}, parallel: 2}"
    )
    spec = made[0]["spec"]
    assert (spec["completions"], spec["parallelism"], spec["backoffLimitPerIndex"]) == (6, 2, 0)
    assert "backoffLimit" not in spec
    assert pod_of(made[0])["metadata"]["labels"]["ganglion.dev/kind"] == "sweep"
    trials = only(made, "ConfigMap")["data"]
    assert trials["trial-4"].splitlines() == [
        "export GANGLION_PARAM_LR=3e-4",
        "export GANGLION_PARAM_SEED=1",
        "set -- 'python t.py --lr 3e-4'",
    ]
    assert env(made[0])["GANGLION_GANG"] == "grid/$(GANGLION_INDEX)"


def test_a_sweep_that_gives_trials_up_fails_their_index_and_names_those_of_its_own() -> None:
    job = compiled(
        "{name: s, image: i, run: [a, '{x}'], params: {x: 0..9}, search: {trials: 6, seed: 1},"
        " parallel: 2..4, early_stop: {metric: loss}}"
    )[0]
    spec = job["spec"]
    assert (spec["completions"], spec["parallelism"]) == (6, 4)
    early, interrupted = spec["podFailurePolicy"]["rules"]
    assert early["action"] == "FailIndex"
    assert early["onPodConditions"] == [{"type": "ganglion.dev/given-up", "status": "True"}]
    assert interrupted["action"] == "Ignore"
    assert job["metadata"]["annotations"]["ganglion.dev/own-trials"] == "0-1"


def test_a_list_of_trials_is_run_as_it_was_written() -> None:
    made = compiled("{name: s, image: i, run: [a, '{x}'], trials: [{x: 7}, {x: 9}]}")
    assert made[0]["spec"]["completions"] == 2
    assert "set -- a 9" in only(made, "ConfigMap")["data"]["trial-1"]


@pytest.mark.parametrize(
    "refused",
    [
        "nodes: 2, params: {x: [1, 2]}, early_stop: {metric: loss}",
        "params: {x: 0..2000}, early_stop: {metric: loss}",
    ],
)
def test_trials_that_cannot_be_compared_in_a_cluster_are_refused(refused: str) -> None:
    with pytest.raises(FieldError) as error:
        compiled(f"{{name: s, image: i, run: [a, '{{x}}'], {refused}}}")
    assert error.value.key == "early_stop"


def test_trials_of_several_nodes_are_jobs_and_gangs_of_their_own() -> None:
    made = compiled("{name: grid, image: i, run: [a, '{x}'], nodes: 2, params: {x: [1, 2]}}")
    assert kinds(made)[:2] == ["Job grid-0", "Job grid-1"]
    assert container(made[1])["command"] == ["a", "2"]
    assert pod_of(made[1])["metadata"]["labels"]["ganglion.dev/kind"] == "train"
    assert env(made[1])["MASTER_ADDR"] == "grid-1-0.grid-1"


def test_a_service_is_a_deployment_behind_a_service() -> None:
    made = compiled("{name: chat, image: i, run: [serve], port: 80, replicas: 3, gpus: 1}")
    assert kinds(made) == ["Deployment chat", "Service chat"]
    spec = made[0]["spec"]
    assert spec["replicas"] == 3
    assert spec["strategy"]["rollingUpdate"] == {"maxSurge": 0, "maxUnavailable": 1}
    assert container(made[0])["readinessProbe"]["tcpSocket"] == {"port": 80}
    assert "activeDeadlineSeconds" not in pod_of(made[0])["spec"]


def test_replicas_of_several_nodes_are_stateful_sets_found_by_their_first_pods() -> None:
    made = compiled(
        "{name: chat, kind: service, image: i, run: [serve], port: 80, replicas: 2,"
        " nodes: 2, gpus: 8}"
    )
    assert kinds(made)[:2] == ["StatefulSet chat-0", "StatefulSet chat-1"]
    assert made[0]["spec"]["podManagementPolicy"] == "Parallel"
    front = next(each for each in made if each["metadata"]["name"] == "chat")
    assert front["spec"]["selector"]["apps.kubernetes.io/pod-index"] == "0"
    assert env(made[1])["MASTER_ADDR"] == "chat-1-0.chat-1"


def test_a_workspace_is_a_stateful_set_of_one() -> None:
    made = compiled("{name: lab, image: i, run: [jupyter], port: 8888, idle_timeout: 2h}")
    assert kinds(made) == ["StatefulSet lab", "Service lab"]
    assert made[0]["spec"]["replicas"] == 1
    assert pod_of(made[0])["metadata"]["annotations"]["ganglion.dev/idle-timeout"] == "2h"


def test_a_workspace_saves_before_it_is_stopped() -> None:
    made = compiled("{name: lab, kind: workspace, image: i, run: [vi], idle: {save: ./save.sh}}")
    hook = {"exec": {"command": ["/bin/sh", "-c", "./save.sh"]}}
    assert container(made[0])["lifecycle"] == {"preStop": hook}


def test_a_replica_listens_on_before_it_is_stopped() -> None:
    made = compiled(
        f"{SERVICE}, replicas: 1..4, scale: {{requests: 4, source: metrics, drain: 1m}}}}"
    )
    assert container(made[0])["lifecycle"] == {"preStop": {"sleep": {"seconds": 5}}}
    assert pod_of(made[0])["spec"]["terminationGracePeriodSeconds"] >= 60


def test_parts_of_a_gpu_are_annotations() -> None:
    half = compiled("{name: a, image: i, run: [a], gpus: 0.5}")[0]
    assert pod_of(half)["metadata"]["annotations"]["ganglion.dev/gpu-fraction"] == "0.5"
    assert "resources" not in container(half)
    some = compiled("{name: a, image: i, run: [a], gpus: {memory: 10GB}}")[0]
    assert pod_of(some)["metadata"]["annotations"]["ganglion.dev/gpu-memory"] == "9537Mi"


def test_constraints_are_affinities() -> None:
    job = compiled(
        "{name: a, image: i, run: [a], gpus: 'A100:80GB:1', queue: q, constraints: {labels:"
        " {disk: ssd}, avoid: {pool: old}, residency: [eu], isolation: queue}, nodes: 2,"
        " placement: {forbidden: node}}"
    )[0]
    affinity = pod_of(job)["spec"]["affinity"]
    (term,) = affinity["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][
        "nodeSelectorTerms"
    ]
    assert term["matchExpressions"] == [
        {"key": "disk", "operator": "In", "values": ["ssd"]},
        {"key": "pool", "operator": "NotIn", "values": ["old"]},
        {"key": "topology.kubernetes.io/region", "operator": "In", "values": ["eu"]},
        {"key": "nvidia.com/gpu.memory", "operator": "Gt", "values": ["76293"]},
    ]
    apart, own = affinity["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert apart["labelSelector"]["matchExpressions"][1]["values"] == ["q"]
    assert own["labelSelector"]["matchLabels"] == {"ganglion.dev/workload": "a"}


def test_priority_classes_of_the_cluster_are_named() -> None:
    job = compiled("{name: a, image: i, run: [a], priority: gold}")[0]
    assert pod_of(job)["spec"]["priorityClassName"] == "gold"
    assert "ganglion.dev/priority" not in pod_of(job)["metadata"]["annotations"]


def test_values_from_the_persons_shell_are_kept_in_a_secret() -> None:
    made = compiled(
        "{name: a, image: i, run: [a], env: [TOKEN=s3cret, B=1]}",
        secrets=frozenset({"TOKEN"}),
        document={"name": "a", "env": {"TOKEN": "s3cret", "B": "1"}},
    )
    assert only(made, "Secret")["stringData"] == {"TOKEN": "s3cret"}
    assert env(made[0])["TOKEN"] == {"secretKeyRef": {"name": "a", "key": "TOKEN"}}
    assert "s3cret" not in str([each for each in made if each["kind"] != "Secret"])


def test_what_the_cluster_would_replace_is_escaped() -> None:
    job = compiled("{name: a, image: i, run: [echo, '$(RANK) $$'], env: ['A=$(B)', 'C=$D']}")[0]
    assert container(job)["command"] == ["echo", "$$(RANK) $$$$"]
    assert (env(job)["A"], env(job)["C"]) == ("$$(B)", "$D")


def test_one_process_needs_no_shell_in_the_image() -> None:
    job = compiled("{name: a, image: i, run: [python, t.py]}")[0]
    assert container(job)["command"] == ["python", "t.py"]
    assert "volumes" not in pod_of(job)["spec"]


def test_each_process_has_its_part_of_the_gpus() -> None:
    job = compiled("{name: a, image: i, run: [a], gpus: 4, procs_per_node: 2}")[0]
    assert env(job)["GANGLION_GPU_SPLIT"] == "0,1;2,3"
    assert env(job)["PET_NPROC_PER_NODE"] == "2"


def test_held_jobs_are_suspended() -> None:
    assert compiled("{name: a, image: i, run: [a], hold: true}")[0]["spec"]["suspend"] is True


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("{name: a, run: [a]}", "image"),
        ("{name: a, image: i, run: [a], after: [b]}", "after"),
        ("{name: a, image: i, run: [a], singleton: true}", "singleton"),
        ("{name: a, image: i, run: [a], schedule: '@daily'}", "schedule"),
        ("{name: a, image: i, run: [a], notify: {mail: a@example.org}}", "notify"),
        (f"{SERVICE}, replicas: 1..4, scale: {{requests: 4, source: router}}}}", "scale.source"),
        (f"{SERVICE}, replicas: 0..4, scale: {{requests: 4, source: metrics}}}}", "replicas"),
        (
            f"{SERVICE}, replicas: 1..4, scale: {{requests: 4, source: metrics, standby: 1}}}}",
            "scale.standby",
        ),
        ("{name: a, image: i, run: [a], workdir: here}", "workdir"),
        ("{name: a, image: i, run: [a], labels: {'a b': c}}", "labels"),
        ("{name: a, image: i, run: [a], checkpoint: {signal: SIGINT}}", "checkpoint.signal"),
        ("{name: a, image: i, run: [a], checkpoint: {path: here}}", "checkpoint.path"),
        ("{name: a, image: i, run: [a], checkpoint: {path: 'pvc://A/..'}}", "checkpoint.path"),
        (
            "{name: a, image: i, run: [a], nodes: 2, placement: {forbidden: rack}}",
            "placement.forbidden",
        ),
        ("{name: a, image: i, run: [a], kind: service, hold: true}", "hold"),
        ("{name: a, image: i, run: [a], nodes: 2, params: {x: [1, 2]}, parallel: 1}", "parallel"),
        ("{name: a, image: i, run: [a], params: {x: 0..90000}}", "params"),
        (f"{{name: {'a' * 62}, image: i, run: [a], nodes: 2}}", "name"),
    ],
)
def test_what_a_cluster_cannot_do_is_refused_by_its_key(text: str, key: str) -> None:
    with pytest.raises(FieldError) as refused:
        compiled(text)
    assert refused.value.key == key


def test_all_that_a_cluster_cannot_do_is_told_at_once() -> None:
    text = """
name: a
run: [a]
image: ""
workdir: here
kind: service
replicas: 1..4
port: 80
hold: true
after: [b]
singleton: true
notify: {mail: a@example.org}
scale: {requests: 4, source: router}
labels: {"a b": c, d: "e f"}
checkpoint: {signal: SIGINT, path: data}
"""
    with pytest.raises(FieldError) as refused:
        compiled(text)
    assert [each.key for each in refused.value.errors] == [
        *("image", "workdir", "after", "singleton", "notify", "hold", "scale.source"),
        *("labels", "labels", "checkpoint.signal", "checkpoint.path"),
    ]


def test_what_a_cluster_leaves_out_is_told() -> None:
    told = list(
        unheeded(workload("{name: a, run: [a], idle_timeout: 1h, time_limit: 2h, checkpoint: 5m}"))
    )
    assert [each.partition(":")[0] for each in told] == ["time_limit", "idle_timeout", "checkpoint"]
    limits = "{name: a, run: [a], retry: {limit: 2, limits: {node_failure: 1}}}"
    assert [each.partition(":")[0] for each in unheeded(workload(limits))] == ["retry.limits"]
    access = "{name: a, run: [a], kind: service, port: 80, access: anyone}"
    assert [each.partition(":")[0] for each in unheeded(workload(access))] == ["access"]
    assert not list(unheeded(workload("{name: a, run: [a]}")))
    assert not list(unheeded(workload("{name: a, run: [a], port: 80, idle_timeout: 1h}")))
