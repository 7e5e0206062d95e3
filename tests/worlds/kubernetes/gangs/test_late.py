"""Pods that their controllers make later have their places kept until then."""

from collections.abc import Callable
from typing import Any, NamedTuple

from tests.controlplane.cluster import Cluster
from tests.worlds.kubernetes import workloads as w
from tests.worlds.kubernetes.crds import definitions
from tests.worlds.kubernetes.gangs.played import Space
from tests.worlds.kubernetes.scheduling import scheduling

Body = dict[str, Any]
PLAYED = frozenset[str]()


class Case(NamedTuple):
    """A gang of which `first` pods are made at once and `late` ones when these run.

    With all of them it takes all of `nodes`, and a pod of `rival` GPUs has no place beside it.
    """

    body: Body
    first: int
    late: int
    nodes: int
    words: tuple[str, ...]
    """In the names of what is late."""
    rival: int = 8
    cpu: str = "1"


DEPENDENT = [
    w.replicated("data", 1, 1),
    w.replicated("train", 1, 2, dependsOn=[{"name": "data", "status": "Complete"}]),
]
SPARK: Body = {
    "executor": {"cores": 1, "memory": "1g", "instances": 2},
    "nodeSelector": {"pool": "of-spark"},
}
WAITS = {"launcherCreationPolicy": "WaitForWorkersReady"}
CASES: dict[str, Case] = {
    "jobset": Case(w.job_set("llm", DEPENDENT), 1, 2, 3, ("-train-",)),
    "mpijob": Case(w.mpi_job("mpi", 2, **WAITS), 2, 1, 3, ("-launcher",), rival=0),
    "rayjob": Case(
        w.ray_job("rj", submitterPodTemplate=w.template(0)), 3, 1, 4, ("rj-x",), rival=0
    ),
    "spark": Case(w.spark("etl", **SPARK), 1, 2, 3, ("-exec-",), rival=0),
    "lws": Case(w.leader_worker_set("vllm", 1, 3, startupPolicy="LeaderReady"), 1, 2, 3, ("-0-",)),
}


def test_places_are_kept_for_pods_that_are_made_when_others_run(cluster: Cluster) -> None:
    cluster.define(*definitions())
    spaces = {name: Space(cluster, f"of-{name}", cpu=case.cpu) for name, case in CASES.items()}
    late: dict[str, list[Body]] = {}
    for name, case in CASES.items():
        spaces[name].add_nodes(case.nodes - 1)
    with scheduling(cluster):
        for name, case in CASES.items():
            late[name] = spaces[name].play(case.body, PLAYED, later_than(case))
        for name, case in CASES.items():
            spaces[name].wait_told(case.first)
            spaces[name].add_nodes(1)
        for name, case in CASES.items():
            spaces[name].wait_bound(case.first)
            spaces[name].create(w.bare("rival", case.rival))
        for name in CASES:
            spaces[name].wait_waiting(1)
            for each in late[name]:
                spaces[name].play(each, PLAYED)
        for name, case in CASES.items():
            bound = spaces[name].wait_bound(case.first + case.late)
            assert "rival" not in bound, spaces[name].seen()


def later_than(case: Case) -> Callable[[Body], bool]:
    """Whether something is made only when the first pods run."""
    return lambda made: any(word in made["metadata"]["name"] for word in case.words)
