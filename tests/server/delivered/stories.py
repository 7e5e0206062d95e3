"""Made-up turns of schedulers of a cluster."""

from collections.abc import Iterator
from random import Random

from ganglion.model.events import (
    Delivered,
    DeliveryRecord,
    GangEnded,
    GangPlaced,
    GangStarted,
    GangSubmitted,
    ImagesReported,
    NodeAdded,
    Outcome,
    PolicySet,
    QueueSet,
    ReportedImage,
    SchedulerEnded,
    SchedulerSettled,
    SchedulerStarted,
)
from ganglion.model.fleet.node import Device, Node
from ganglion.model.placement import Placement, PodPlacement
from ganglion.model.policy import Policy
from ganglion.model.queue import Queue
from ganglion.model.workload import Gang

IMAGE = "registry.example/train@sha256:0a"


def gang(name: str, queue: str = "team") -> Gang:
    key = f"lab/Job/{name}/uid-{name}"
    return Gang(key, key, queue, "lab", name=f"lab/{name}")


def place(*nodes: str) -> Placement:
    return Placement(
        tuple(PodPlacement("main", n, node, (n,), 1000) for n, node in enumerate(nodes))
    )


def node(name: str, region: str = "eu") -> Node:
    return Node(name, 64_000, 1 << 20, (Device("H100"),) * 8, labels={"region": region})


def begun(at: int, follows: tuple[str, ...] = ()) -> list[Delivered]:
    """What every scheduler says first."""
    return [
        SchedulerStarted(at, "1.2.3", "pod-a", follows),
        PolicySet(at, Policy(), 4),
        QueueSet(at, Queue("org")),
        QueueSet(at, Queue("team", "org")),
        NodeAdded(at, node("n0")),
        NodeAdded(at, node("n1", "us")),
    ]


def submitted(at: int, name: str, queue: str = "team") -> GangSubmitted:
    return GangSubmitted(at, gang(name, queue), IMAGE, owner=f"Job {name}")


def placed(at: int, name: str, *nodes: str, attempt: int = 1) -> GangPlaced:
    return GangPlaced(at, gang(name).id, attempt, place(*nodes))


def started(at: int, name: str) -> GangStarted:
    return GangStarted(at, gang(name).id, 1)


def pulled(at: int, name: str, digest: str = "sha256:0a") -> ImagesReported:
    image = ReportedImage("main", "train", "registry.example/train:3", f"train@{digest}")
    return ImagesReported(at, gang(name).id, 1, (image,))


def ended(
    at: int, name: str, outcome: Outcome = Outcome.SUCCEEDED, *, attempt: int = 1, **more: object
) -> GangEnded:
    return GangEnded(at, gang(name).id, attempt, outcome, **more)  # type: ignore[arg-type]


def turns(
    *each: tuple[list[Delivered], list[Delivered]], first: int = 1
) -> tuple[DeliveryRecord, ...]:
    """Records of turns, each of facts and decisions."""
    return tuple(
        DeliveryRecord(number, number * 1_000, tuple(facts), tuple(decisions))
        for number, (facts, decisions) in enumerate(each, first)
    )


def story(
    dice: Random, turns_of: int, at: int, follows: tuple[str, ...] = ()
) -> Iterator[tuple[list[Delivered], list[Delivered]]]:
    """Turns of a scheduler in which gangs come, run and end."""
    live, number = list[str](), 0
    yield [*begun(at, follows), SchedulerSettled(at)], []
    for turn in range(turns_of):
        now = at + (turn + 1) * 1_000
        facts, decisions = list[Delivered](), list[Delivered]()
        if live and dice.random() < 0.5:
            name = live.pop(dice.randrange(len(live)))
            facts += [pulled(now, name), started(now, name), ended(now, name)]
        for _ in range(dice.randrange(3)):
            number += 1
            name = f"job-{at}-{number}"
            facts.append(submitted(now, name))
            decisions.append(placed(now, name, dice.choice(["n0", "n1"])))
            live.append(name)
        if facts or decisions:
            yield facts, decisions
    rest: list[Delivered] = [ended(at + 10**6, name) for name in live]
    yield [*rest, SchedulerEnded(at + 10**6)], []
