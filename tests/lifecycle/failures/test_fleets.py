"""Fleets with typos, broken images, flaky programs and truly bad nodes, from seeds."""

import os
import random
from enum import Enum

import pytest
from tests.effort import examples

from ganglion.lifecycle.failures.nodes import Watch
from ganglion.model import events as ev
from ganglion.model.fleet.node import Device, Node
from ganglion.model.placement import Placement, PodPlacement
from ganglion.model.policy import Failures
from ganglion.model.workload import Gang

MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000
SEEDS = int(os.environ.get("GANGLION_FLEETS") or examples(10))
"""How many fleets; more of them cost 0.1 CPU seconds each."""


class Bad(Enum):
    """What is wrong with a node; `SILENT` shows in nothing but the ends of programs."""

    LOST = "lost"
    XID = "xid"
    DISK = "disk"
    SILENT = "silent"


class Fleet:
    """Two weeks of work for twenty nodes.

    Args:
        seed: of everything that is left to chance.
        bad: node -> what is wrong with it.
        packed: whether the first nodes get most of the work, else all the same.
    """

    def __init__(self, seed: int, bad: dict[str, Bad], *, packed: bool) -> None:
        self.dice, self.bad, self.packed = random.Random(seed), bad, packed
        self.watch, self.count, self.ever = Watch(Failures()), 0, set[str]()
        self.names = [f"n{number}" for number in range(20)]
        for name in self.names:
            self.watch.note(ev.NodeAdded(0, _node(name)))

    def play(self, runs: int) -> set[str]:
        """Returns the nodes that were ever shut."""
        at = 0
        for _ in range(runs):
            at += 14 * DAY // runs
            self._one(at)
            if self.dice.random() < 0.02:
                self._troubles(at)
            self.ever |= self.watch.shut(at).keys()
        return self.ever

    def _one(self, at: int) -> None:
        dice, user = self.dice, f"user{self.dice.randrange(12)}"
        kind = dice.choices(("good", "flaky", "typo", "image"), (50, 20, 20, 10))[0]
        self.count += 1
        name = f"typo{self.count}" if kind == "typo" else f"{kind}{dice.randrange(5)}"
        chance = {"good": 0.02, "flaky": 0.4, "typo": 1.0, "image": 1.0}[kind]
        shut = self.watch.shut(at)
        nodes = [each for each in self.names if each not in shut]
        if kind == "typo" and dice.random() < 0.8:
            node = nodes[0]  # a person who tries again at once gets the same empty node
        else:
            skew = dice.random() ** (2 if self.packed else 1)
            node = nodes[int(skew * len(nodes))]
        failed = dice.random() < chance
        outcome, cause = (ev.Outcome.FAILED if failed else ev.Outcome.SUCCEEDED), ""
        if self.bad.get(node) is Bad.SILENT and dice.random() < 0.9:
            outcome = ev.Outcome.FAILED
        elif self.bad.get(node) is Bad.DISK and dice.random() < 0.5:
            outcome, cause = ev.Outcome.START_FAILED, "node"
        gang = f"{name}-{self.count}/0"
        placement = Placement((PodPlacement("main", 0, node),))
        self.watch.note(ev.GangSubmitted(at, Gang(gang, gang[:-2], "default", user, name=name)))
        self.watch.note(ev.GangPlaced(at, gang, 1, placement))
        self.watch.note(ev.GangEnded(at + MINUTE, gang, 1, outcome, cause=cause))

    def _troubles(self, at: int) -> None:
        for node, bad in self.bad.items():
            if bad is Bad.LOST:
                self.watch.note(ev.NodeLost(at, node))
                self.watch.note(ev.NodeAdded(at + MINUTE, _node(node)))
            elif bad is Bad.XID:
                for healthy in (False, True):
                    self.watch.note(ev.DeviceHealth(at, node, 3, healthy, "Xid 79"))


def _node(name: str) -> Node:
    return Node(name, 64_000, 256_000, (Device("H100"),) * 8)


@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize("bad", [*Bad])
def test_bad_nodes_are_found_and_good_ones_are_left(bad: Bad, packed: bool) -> None:
    for seed in range(SEEDS):
        name = f"n{seed % 20}" if not packed else f"n{seed % 8}"
        assert Fleet(seed, {name: bad}, packed=packed).play(2000) == {name}, seed


@pytest.mark.parametrize("packed", [True, False])
def test_a_fleet_without_bad_nodes_keeps_all_of_them(packed: bool) -> None:
    for seed in range(SEEDS):
        assert not Fleet(seed, {}, packed=packed).play(2000), seed


def test_all_kinds_of_bad_nodes_at_once_never_take_more_than_a_tenth() -> None:
    for seed in range(SEEDS):
        fleet = Fleet(seed, {f"n{i}": bad for i, bad in enumerate(Bad)}, packed=False)
        fleet.play(500)
        assert len(fleet.watch.shut(14 * DAY)) <= 2
        assert fleet.ever <= fleet.bad.keys()
