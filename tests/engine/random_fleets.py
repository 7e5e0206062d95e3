"""Random fleets, queues and gangs, each drawn from one seed so that failures shrink fast."""

from random import Random

from msgspec.structs import replace

from ganglion.model.fleet.levels import Level
from ganglion.model.fleet.node import Device, Node
from ganglion.model.queue import Queue
from ganglion.model.resources import Amount, GpuRequest, PodRequest
from ganglion.model.workload import Checkpoint, Constraints, Gang, Kind, PodSet, Slice, Topology

GIB = 1024
LEAVES = ("red", "blue", "green")
NIC, PORTS = "rdma/hca", "switch/port"
IMAGE = "docker.io/team/train:1"


def node(rng: Random, name: str, *, cards: bool = False) -> Node:
    """A node; with `cards` it has resources that are only counted."""
    kind = rng.choice(("H100", "T4"))
    island = rng.choice((1, 2, 8))
    devices = tuple(
        Device(kind, 80 * GIB if kind == "H100" else 16 * GIB, index // 4, index // island)
        for index in range(rng.choice((0, 1, 2, 4, 8)))
    )
    rack = rng.randrange(3)
    return Node(
        name,
        cpu_milli=rng.choice((8_000, 32_000)),
        memory_mib=rng.choice((32, 128)) * GIB,
        devices=devices,
        domains={Level.BLOCK: f"b{rack // 2}", Level.RACK: f"r{rack}"},
        labels={"pool": rng.choice("ab")},
        max_pods=rng.choice((4, 1 << 30)),
        extras={NIC: rng.randrange(9), PORTS: rng.randrange(4)} if cards else {},
        holds={IMAGE: len(devices) * GIB} if rack else {},
    )


def gpu_request(rng: Random) -> GpuRequest:
    types = rng.choice(((), (), ("H100",), ("T4",), ("T4", "H100")))
    form = rng.randrange(4)
    if form == 0:
        return GpuRequest(1, milli=rng.choice((100, 250, 500, 700)), types=types)
    if form == 1:
        return GpuRequest(1, share_mib=rng.choice((4_096, 20_480)), types=types)
    return GpuRequest(rng.choice((0, 1, 1, 2, 4, 8)), types=types)


def counted(rng: Random) -> tuple[tuple[str, int], ...]:
    """What a pod asks for of resources that are only counted."""
    wanted = {NIC: rng.choice((0, 0, 1, 2, 4)), PORTS: rng.choice((0, 0, 0, 1))}
    return tuple((name, amount) for name, amount in wanted.items() if amount)


def pod_set(rng: Random, name: str = "main", *, cards: bool = False) -> PodSet:
    count = rng.choice((1, 1, 1, 2, 3, 4, 6))
    gpu = gpu_request(rng)
    slices: tuple[Slice, ...] = ()
    if count % 2 == 0 and rng.random() < 0.5:
        levels = [Level.NODE, Level.RACK]
        if gpu.count and gpu.milli == 1000 and not gpu.share_mib:
            levels.append(Level.ISLAND)
        slices = (Slice(2, **{rng.choice(("required", "preferred")): rng.choice(levels)}),)
    least = 0 if slices else rng.randint(0, count)
    request = PodRequest(rng.choice((0, 500, 4_000)), rng.choice((0, 1, 16)) * GIB, gpu)
    if cards:
        request = replace(request, extras=counted(rng))
    return PodSet(name, count=count, min_count=least, request=request, slices=slices)


def gang(rng: Random, number: int, now: int = 0, *, cards: bool = False) -> Gang:
    sets = [pod_set(rng, cards=cards)]
    sets += [pod_set(rng, "helper", cards=cards)] if rng.random() < 0.2 else []
    levels = (Level.ISLAND, Level.NODE, Level.RACK, Level.BLOCK)
    if len(sets) > 1 and rng.random() < 0.5:
        wish = rng.choice(("required", "preferred"))
        sets[0] = replace(sets[0], topology=Topology(**{wish: rng.choice(levels[1:])}))
    topology = rng.choice(
        (
            Topology(),
            Topology(),
            Topology(required=rng.choice(levels)),
            Topology(forbidden=rng.choice((Level.NODE, Level.RACK))),
        )
    )
    constraints = rng.choice(
        (
            Constraints(),
            Constraints(),
            Constraints(labels={"pool": ("a",)}),
            Constraints(avoid={"pool": ("a",)}),
            Constraints(isolation="queue"),
            Constraints(isolation="workload"),
        )
    )
    return Gang(
        f"w{number}/0",
        f"w{number}",
        rng.choice(LEAVES),
        kind=rng.choice(tuple(Kind)),
        priority=rng.choice((50, 50, 80)),
        preemptible=rng.random() < 0.7,
        pod_sets=tuple(sets),
        topology=topology,
        constraints=constraints,
        submitted=now,
        held=rng.random() < 0.1,
        after=(f"w{number - 1}",) if number and rng.random() < 0.1 else (),
        parallel=rng.choice((0, 0, 1)),
        images=(IMAGE,) if number % 2 else (),
    )


def service(rng: Random, number: int, now: int = 0) -> list[Gang]:
    """Siblings with a floor, some of which sleep."""
    whole = gang(rng, number, now)
    count = rng.randint(2, 4)
    floor = rng.randint(1, count)
    return [
        replace(
            whole,
            id=f"w{number}/{index}",
            index=index,
            kind=Kind.SERVICE,
            preemptible=rng.random() < 0.9,
            priority=rng.choice((40, 50, 70)),
            after=(),
            parallel=0,
            floor=floor,
            recall_ms=rng.choice((0, 0, 10_000, 60_000)),
            checkpoint=rng.choice((None, Checkpoint(grace_ms=20_000))),
        )
        for index in range(count)
    ]


def saver(rng: Random, number: int, now: int = 0) -> Gang:
    """A gang that may be stopped at the price of little work."""
    checkpoint = Checkpoint(grace_ms=rng.choice((5_000, 30_000, 90_000)))
    return replace(gang(rng, number, now), preemptible=True, checkpoint=checkpoint)


def queue_tree(rng: Random) -> list[Queue]:
    def amounts(chance: float) -> dict[str, Amount]:
        return {
            flavor: Amount(
                gpu_milli=rng.choice((None, rng.randrange(20) * 1000)),
                cpu_milli=rng.choice((None, rng.randrange(64) * 1000)),
            )
            for flavor in ("*", "H100", "T4")
            if rng.random() < chance
        }

    leaves = [
        Queue(
            name,
            "org",
            quota=amounts(0.4),
            limit=amounts(0.2),
            lend_limit=amounts(0.1),
            user_limit=amounts(0.05),
            over_quota_weight=rng.randint(0, 3),
        )
        for name in LEAVES
    ]
    return [Queue("org", limit=amounts(0.1)), *leaves]
