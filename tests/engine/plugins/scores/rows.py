"""Node states and pods, written the short way."""

from collections.abc import Mapping, Sequence

import numpy as np
from hypothesis import strategies as st

from ganglion.engine.plugins.protocols import NodeClass, Rows, Score, Typical
from ganglion.engine.plugins.scores.target import NEUTRAL
from ganglion.model.resources import WHOLE, GpuRequest, PodRequest

MEMORY = 1 << 22
"""MiB of an empty node."""


def pod(
    cpu: int = 0, gpus: int = 0, milli: int = WHOLE, types: str = "", mem: int = 0
) -> PodRequest:
    """A request of whole cores; `types` as `A|B`."""
    named = tuple(types.split("|")) if types else ()
    return PodRequest(cpu * 1000, mem, GpuRequest(gpus, milli, types=named))


class State:
    """A node: free cores and thousandths free of each device.

    Args:
        cpu: free cores.
        gpu: thousandths free of each device.
        of: type of its devices.
        mem: free MiB.
        size: cores when it is empty; those that are free unless given.
    """

    def __init__(
        self, cpu: int, *gpu: int, of: str = "A", mem: int = MEMORY, size: int = 0
    ) -> None:
        self.cpu, self.gpu, self.kind, self.memory = cpu * 1000, gpu, of, mem
        self.size = (size or cpu) * 1000

    def node_class(self) -> NodeClass:
        devices = tuple((self.kind, 0, 0, 0) for _ in self.gpu)
        return NodeClass(self.size, MEMORY, 1 << 30, devices, (), "", "")

    def fits(self, pod: PodRequest) -> bool:
        allowed = not pod.gpu.types or self.kind in pod.gpu.types
        room = sum(free >= pod.gpu.milli for free in self.gpu) if allowed else 0
        return self.cpu >= pod.cpu_milli and self.memory >= pod.memory_mib and room >= pod.gpu.count

    def ways(self, pod: PodRequest) -> list[tuple[int, tuple[int, ...]]]:
        """(shared device or -1, thousandths free afterwards) of every way to place the pod."""
        if not pod.gpu.count:
            return [(-1, self.gpu)]
        fitting = [i for i, free in enumerate(self.gpu) if free >= pod.gpu.milli]
        if pod.gpu.milli == WHOLE:
            return [(-1, self._less(fitting[: pod.gpu.count], WHOLE))]
        return [(device, self._less([device], pod.gpu.milli)) for device in fitting]

    def _less(self, taken: Sequence[int], milli: int) -> tuple[int, ...]:
        return tuple(free - milli * (i in taken) for i, free in enumerate(self.gpu))


def rows(pod: PodRequest, *states: State, supply: Mapping[str, int] | None = None) -> Rows:
    """Every way to place the pod on the states, in which it must fit."""
    assert all(state.fits(pod) for state in states)
    width = max(len(state.gpu) for state in states)
    ways = [(n, s, *way) for n, s in enumerate(states) for way in s.ways(pod)]

    def wide(gpu: tuple[int, ...]) -> tuple[int, ...]:
        return gpu + (0,) * (width - len(gpu))

    def column(values: Sequence[int]) -> np.ndarray:
        return np.array(values, dtype=np.int64)

    return Rows(
        classes=[state.node_class() for state in states],
        class_of=column([n for n, *_ in ways]),
        node=column([n for n, *_ in ways]),
        cpu_free=column([s.cpu for _, s, *_ in ways]),
        memory_free=column([s.memory for _, s, *_ in ways]),
        gpu_free=np.array([wide(s.gpu) for _, s, *_ in ways], dtype=np.int64).reshape(-1, width),
        cpu_after=column([s.cpu - pod.cpu_milli for _, s, *_ in ways]),
        memory_after=column([s.memory - pod.memory_mib for _, s, *_ in ways]),
        gpu_after=np.array([wide(after) for *_, after in ways], dtype=np.int64).reshape(-1, width),
        device=column([device for _, _, device, _ in ways]),
        supply=supply or {},
    )


def best(
    score: Score,
    pod: PodRequest,
    *states: State,
    typical: Typical = (),
    supply: Mapping[str, int] | None = None,
) -> tuple[int, int]:
    """Number of the state that wins, the first among equals, and the device it shares."""
    table = rows(pod, *states, supply=supply)
    winner = int(np.argmax(score.score(pod, table, typical, 0)))
    return int(table.node[winner]), int(table.device[winner])


def meant(typical: Typical, state: State) -> Typical:
    """The typical pods, or what stands in for them on this node."""
    if any(request.gpu.count for request, _ in typical):
        return typical
    parts = len(state.gpu)
    return tuple(
        (
            PodRequest(
                state.size * request.gpu.count // parts,
                MEMORY * request.gpu.count // parts,
                request.gpu,
            ),
            often,
        )
        for request, often in NEUTRAL
    )


SHARES = st.sampled_from([50, 230, 470, 500, 810])

requests = st.one_of(
    st.builds(pod, cpu=st.integers(0, 12)),
    st.builds(
        pod,
        cpu=st.integers(0, 12),
        gpus=st.sampled_from([1, 2, 4]),
        types=st.sampled_from(["", "A", "B", "A|B"]),
        mem=st.sampled_from([0, 0, 1000]),
    ),
    st.builds(pod, cpu=st.integers(0, 12), gpus=st.just(1), milli=SHARES),
)
"""Pods without GPUs, with whole ones, and with a share of one."""

typicals = st.lists(st.tuples(requests, st.integers(1, 9)), max_size=6).map(tuple)

states = st.builds(
    lambda cpu, gpu, of, mem: State(cpu, *gpu, of=of, mem=mem),
    st.integers(0, 32),
    st.lists(st.one_of(st.just(WHOLE), st.integers(0, WHOLE)), min_size=1, max_size=5),
    st.sampled_from("AB"),
    st.sampled_from([500, 4000]),
)
