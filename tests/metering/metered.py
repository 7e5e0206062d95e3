"""Lives of random fleets through the engine, metered, and a second meter that counts literally."""

from collections import Counter
from collections.abc import Mapping
from fractions import Fraction
from random import Random

from msgspec.structs import replace

from ganglion.engine.gangs.record import SETTLED
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.metering.intervals import SupplyInterval, UsageInterval, devices_in
from ganglion.metering.meter import Meter
from ganglion.model import events as ev
from ganglion.model.plan import Plan
from ganglion.model.resources import WHOLE
from ganglion.worlds.kubernetes.gpu_discovery.devices import parts_of
from tests.engine.test_machine import random_step
from tests.engine.test_shrinking import Shrinking

LENGTHS = (0, 1, 7, 1_000, 3_600_000, 86_400_000)
"""Times in ms that pass between two steps."""


class Literal:
    """Adds up, moment by moment, what the engine's state says."""

    def __init__(self, parts: Mapping[tuple[str, int], int]) -> None:
        self.parts = parts
        self.held: Counter[str] = Counter()
        self.capacity: Counter[str] = Counter()
        self.unavailable: Counter[str] = Counter()

    def passes(self, state: ClusterState, ms: int) -> None:
        """Time passes, in which the state stays as it is."""
        devices: Counter[tuple[str, int]] = Counter()
        present = set[str]()
        for record in state.gangs.records.values():
            settled = record.placement.pods if record.placement and record.phase in SETTLED else ()
            for pod in (*settled, *record.leaving):
                present.add(pod.node)
                for device in pod.devices:
                    part = self.parts.get((pod.node, device), WHOLE)
                    devices[pod.node, device] += part * pod.milli // WHOLE
        gone = set(state.fleet.tree.gone())
        for name, node in state.fleet.nodes.items():
            here = {device for node_name, device in devices if node_name == name}
            if name in gone and name not in present:
                continue
            for device in sorted(here | set(range(len(node.devices)))):
                held = devices[name, device]
                part = self.parts.get((name, device), WHOLE)
                assert held <= part
                known = device < len(node.devices)
                open_ = known and node.devices[device].healthy and not node.cordoned
                self.held[node.kind] += held * ms
                self.capacity[node.kind] += part * ms
                if not open_ or name in gone:
                    self.unavailable[node.kind] += (part - held) * ms


class MeteredLife(Shrinking):
    """A life of a fleet; see `Engine` for what happens in it."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: dict[tuple[str, int], int] = {}
        self.meter, self.literal = Meter(), Literal(self.parts)
        self.meter.begin(0, {}, (), ())
        self.noted: list[ev.Event] = []
        self.usage: list[UsageInterval] = []
        self.supply: list[SupplyInterval] = []

    def think(self, *events: ev.Event) -> Plan:
        before = len(self.log)
        plan = super().think(*events)
        for event in self.log[before:]:
            self.meter.note(event, self.state.gangs.record)
        self.noted += self.log[before:]
        usage, supply = self.meter.drain()
        self.usage += usage
        self.supply += supply
        return plan

    def waits(self, ms: int) -> None:
        """Time passes."""
        self.check_devices()
        self.literal.passes(self.state, ms)
        self.now += ms

    def check_devices(self) -> None:
        """The meter knows which GPUs each attempt has on each node."""
        held: dict[tuple[str, str], set[int]] = {}
        for name, record in self.state.gangs.records.items():
            settled = record.placement.pods if record.placement and record.phase in SETTLED else ()
            for pod in (*settled, *record.leaving):
                held.setdefault((name, pod.node), set()).update(pod.devices)
        metered = {
            (attempt.gang, node): set(devices_in(found.devices))
            for attempt in self.meter.attempts.values()
            for node, found in attempt.open.items()
        }
        assert metered == held

    def run(self, *events: ev.Event) -> Plan:
        self.now -= 1000  # no time passes in a step; the engine's machine adds as much
        return super().run(*events)


PARTS = (Fraction(1), *(Fraction(each, 7) for each in (1, 1, 2, 3, 4)), Fraction(1, 10), None)
"""Whole GPUs, MIG instances, replicas, and parts that are unknown."""


class SlicedLife(MeteredLife):
    """The same with GPUs in parts, which change whenever a node comes back."""

    def think(self, *events: ev.Event) -> Plan:
        return super().think(*map(self._sliced, events))

    def _sliced(self, event: ev.Event) -> ev.Event:
        """Describe the parts of a node."""
        if not isinstance(event, ev.NodeAdded):
            return event
        chance = Random(f"{event.node.name} {len(self.noted)}")
        parts = parts_of([chance.choice(PARTS) for _ in event.node.devices])
        sliced = replace(event.node, parts=parts)
        for device in range(len(sliced.devices)):
            self.parts[sliced.name, device] = sliced.part(device)
        return replace(event, node=sliced)


def lived(seed: int, steps: int = 50, kind: type[MeteredLife] = MeteredLife) -> MeteredLife:
    """A life of random steps and pauses."""
    rng = Random(seed)
    life = kind()
    life.begin(rng, rng.randint(1, 6))
    for _ in range(steps):
        life.waits(rng.choice(LENGTHS))
        if rng.random() < 0.3:
            rng.choice((life.node_comes_back, life.leave))(rng)
            continue
        step, arguments = random_step(rng)
        if not step.startswith("ask"):
            getattr(life, step)(rng=rng, **arguments)
    return life
