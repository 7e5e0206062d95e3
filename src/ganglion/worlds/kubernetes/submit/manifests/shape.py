"""A workload as controllers and their pods: which one makes which pods, and their numbers."""

from itertools import accumulate

from msgspec import Struct

from ganglion.lifecycle.expand import gang_count, run_of
from ganglion.model.workload import Kind, PodSet, Run, Workload


class ControllerPods(Struct, frozen=True):
    """The pods that one controller makes.

    Attributes:
        name: of the controller; its pods are called `<name>-<index>`.
        pods: what they are; `count` of them, in each gang.
        run: what they execute.
        index: number of the gang; -1 = each pod of the controller is a gang of its own.
        first_pod: number of its first pod within the gang.
        first_rank: rank of its first process.
    """

    name: str
    pods: PodSet
    run: Run
    index: int = 0
    first_pod: int = 0
    first_rank: int = 0

    @property
    def alone(self) -> bool:
        """Whether each pod is a gang of its own."""
        return self.index < 0


class ManifestGang(Struct, frozen=True):
    """Pods that start together, or many gangs of one pod each made by one controller.

    Attributes:
        name: `<workload>/<index>`, or the workload's where pods are gangs of their own.
        crews: its controllers, by rank.
        group: name that joins the pods of several controllers.
        domain: headless service in which its pods have names; empty = a pod needs none.
    """

    name: str
    crews: tuple[ControllerPods, ...]
    group: str = ""
    domain: str = ""

    @property
    def pods(self) -> int:
        """Most pods of the gang."""
        return 1 if self.crews[0].alone else sum(crew.pods.count for crew in self.crews)

    @property
    def least(self) -> int:
        """Fewest pods of the gang."""
        return 1 if self.crews[0].alone else sum(crew.pods.least for crew in self.crews)

    @property
    def ranks(self) -> int:
        """Most processes of the gang."""
        if self.crews[0].alone:
            return self.crews[0].pods.procs
        return sum(crew.pods.count * crew.pods.procs for crew in self.crews)

    @property
    def hosts(self) -> tuple[str, ...]:
        """DNS name of every pod, by node rank; names that the namespace completes."""
        if self.pods == 1:
            return ("127.0.0.1",)
        return tuple(
            f"{crew.name}-{pod}.{self.domain}"
            for crew in self.crews
            for pod in range(crew.pods.count)
        )


def gangs(workload: Workload) -> tuple[ManifestGang, ...]:
    """How a workload is made.

    Trials and replicas of one pod come from one controller, which numbers them; anything of
    several pods has a controller for each pod set of each gang.
    """
    if workload.kind in (Kind.SWEEP, Kind.SERVICE) and _pods(workload) == 1:
        crew = ControllerPods(workload.name, workload.pod_sets[0], workload.run, index=-1)
        return (ManifestGang(workload.name, (crew,)),)
    return tuple(_gang(workload, index) for index in range(gang_count(workload)))


def _pods(workload: Workload) -> int:
    return sum(pods.count for pods in workload.pod_sets)


def _gang(workload: Workload, index: int) -> ManifestGang:
    many = workload.kind in (Kind.SERVICE, Kind.SWEEP)
    stem = f"{workload.name}-{index}" if many else workload.name
    sets = workload.pod_sets
    pods = accumulate((each.count for each in sets), initial=0)
    ranks = accumulate((each.count * each.procs for each in sets), initial=0)
    run = run_of(workload, index)
    crews = tuple(
        ControllerPods(
            f"{stem}-{each.name}" if len(sets) > 1 else stem, each, run, index, pod, rank
        )
        for each, pod, rank in zip(sets, pods, ranks, strict=False)
    )
    named = _pods(workload) > 1 or workload.kind is Kind.WORKSPACE
    return ManifestGang(f"{workload.name}/{index}", crews, stem, domain_of(stem) if named else "")


def domain_of(stem: str) -> str:
    """Name of a headless service; services must begin with a letter."""
    return stem if stem[0].isalpha() else f"g-{stem}"
