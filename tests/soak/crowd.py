"""Gangs that are made, replaced and taken away by a seed, as users and their controllers do."""

from collections import defaultdict
from random import Random
from typing import Any

from msgspec import Struct

from tests.controlplane import manifests
from tests.controlplane.cluster import Cluster, Refused
from tests.controlplane.kubelet import RUN
from tests.controlplane.manifests import Object
from tests.soak.mirror import FRACTION, gang_of, lives

PODS = "/api/v1/namespaces/default/pods"
JOBS = "/apis/batch/v1/namespaces/default/jobs"
CONFLICT = 409
URGENT = "urgent"
UNFINISHED = 80
"""Most pods that have not ended."""
GIVEN_UP = 0.0005
"""How often work is taken away in one look before it has ended."""
RESIZED = 0.02
"""How often a Job is made larger or smaller in one look."""
KINDS = ("gang", "gang", "gang", "job", "job", "part", "cores")


class Work(Struct):
    """Pods that belong together.

    Attributes:
        name: of the gang or Job.
        pods: that make it up; of a Job none, as its controller makes them.
        late: how many of them are made only after a while.
    """

    name: str
    pods: list[Object]
    late: int = 0


class Crowd:
    """What users do.

    Args:
        cluster: where.
        chance: the seed's.
        most: pods to be made in all.
        usual_s: usual time for which a pod runs, in seconds.
        resized: gets the names of Jobs that are made larger or smaller.

    Attributes:
        made: pods wanted so far.
        replaced: pods made anew because they were evicted or lost.
        failed: gangs that were removed since a pod of theirs had failed.
        live: work that is there, by name.
    """

    def __init__(
        self, cluster: Cluster, chance: Random, most: int, usual_s: float, resized: set[str]
    ) -> None:
        self._cluster, self._chance, self._usual_s = cluster, chance, usual_s
        self._resized = resized
        self.most = most
        self.made = self.replaced = self.failed = self.given_up = 0
        self.live: dict[str, Work] = {}

    def go_on(self, pods: list[Object], wanted: int) -> None:
        """Take away what has ended, replace what was lost, make what is wanted by now.

        Args:
            pods: all there are.
            wanted: how many should have been made by now.
        """
        by_gang: dict[str, dict[str, Object]] = defaultdict(dict)
        for pod in pods:
            by_gang[gang_of(pod) or pod["metadata"]["name"]][pod["metadata"]["name"]] = pod
        for name, work in list(self.live.items()):
            self._tend(work, by_gang.get(name, {}))
        unfinished = sum(map(lives, pods))
        while self.made < min(wanted, self.most) and unfinished < UNFINISHED:
            before = self.made
            self._make()
            unfinished += self.made - before

    def look_after_jobs(self) -> None:
        """Take away Jobs that are over."""
        for job in self._cluster.list(JOBS):
            name = job["metadata"]["name"]
            ends = {each["type"] for each in job["status"].get("conditions", ())}
            if name in self.live and ends & {"Complete", "Failed"}:
                self.failed += "Failed" in ends
                self._remove(self.live[name])

    def end(self) -> None:
        """Take everything away."""
        for work in list(self.live.values()):
            self._remove(work)

    def _tend(self, work: Work, own: dict[str, Object]) -> None:
        if self._chance.random() < GIVEN_UP:
            self.given_up += 1
            self._remove(work)
        elif work.pods:
            self._tend_gang(work, own)
        elif self._chance.random() < RESIZED:
            self._resize(work.name)

    def _tend_gang(self, work: Work, own: dict[str, Object]) -> None:
        phases = [pod["status"].get("phase") for pod in own.values()]
        due = work.pods[: len(work.pods) - work.late]
        missing = [pod for pod in due if pod["metadata"]["name"] not in own]
        # One that was lost and made anew waits for all of its gang, some of which have ended.
        lacks = missing or not all(pod["spec"].get("nodeName") for pod in own.values())
        if "Failed" in phases or (lacks and "Succeeded" in phases):
            self.failed += 1
            self._remove(work)
        elif not work.late and phases.count("Succeeded") == len(work.pods):
            self._remove(work)
        elif missing:
            self.replaced += sum(map(self._create, missing))
        elif work.late and self._chance.random() < 0.3:
            last = work.pods[-work.late :]
            work.late = 0
            for pod in last:
                self._create(pod)

    def _resize(self, job: str) -> None:
        size = self._chance.randint(1, 6)
        self._resized.add(job)
        self._cluster.patch(f"{JOBS}/{job}", {"spec": {"parallelism": size, "completions": size}})

    def _make(self) -> None:
        chance, name = self._chance, f"w{self.made}"
        kind, size = chance.choice(KINDS), chance.randint(1, 6)
        lasts = chance.uniform(0.02, 2.0) * self._usual_s
        more: dict[str, Any] = {
            "cpu": chance.choice(["500m", "1", "2", "3"]),
            "gpus": chance.choice([1, 1, 2, 4]),
            "annotations": {RUN: f"{lasts:.2f}"},
        }
        if chance.random() < 0.2:
            more["priorityClassName"] = URGENT
        if kind == "job":
            self._job(name, size, more)
        elif kind == "gang":
            late = chance.randrange(size) if chance.random() < 0.2 else 0
            self._gang(Work(name, manifests.gang(name, size, **more), late))
        else:
            size, more["gpus"] = 1, 0
            if kind == "part":
                more["annotations"] |= {FRACTION: chance.choice(["0.25", "0.5", "0.75"])}
            self._gang(Work(name, [manifests.pod(name, **more)]))
        self.made += size

    def _gang(self, work: Work) -> None:
        self.live[work.name] = work
        for pod in work.pods[: len(work.pods) - work.late]:
            self._create(pod)

    def _job(self, name: str, size: int, more: dict[str, Any]) -> None:
        job = manifests.job(name, count=size, **more)
        job["spec"]["backoffLimit"] = 1000
        self.live[name] = Work(name, [])
        self._cluster.create(job)

    def _create(self, pod: Object) -> bool:
        try:
            self._cluster.create(pod)
        except Refused as refused:  # it is there already: what we see is older than what is so
            if refused.status != CONFLICT:
                raise
            return False
        return True

    def _remove(self, work: Work) -> None:
        del self.live[work.name]
        if not work.pods:
            self._cluster.delete(f"{JOBS}/{work.name}")
        for pod in work.pods:
            self._cluster.delete(f"{PODS}/{pod['metadata']['name']}")
