"""Which calls of a seam fail: one by its number, or some from a seed."""

import random
from collections import Counter
from collections.abc import Callable
from typing import Protocol

import pytest


class Plan(Protocol):
    """Decides call by call."""

    def strikes(self, call: str) -> bool:
        """Whether the next call of that name fails."""


class Nth:
    """The n-th call fails, or all from it on.

    Args:
        number: counted from 1, over all calls that are among `calls`.
        calls: names; empty = all.
        stays: whether all later ones fail too.
    """

    def __init__(self, number: int, *calls: str, stays: bool = False) -> None:
        self._number, self._calls, self._stays = number, calls, stays
        self._count = 0
        self.struck = ""

    def strikes(self, call: str) -> bool:
        if self._calls and call not in self._calls:
            return False
        self._count += 1
        hit = self._count == self._number or (self._stays and self._count > self._number)
        if hit and not self.struck:
            self.struck = call
        return hit


class FaultPlan:
    """Each call fails with a probability.

    Args:
        seed: of the faults.
        rate: share of calls that fail.
        rates: the same for calls of some names.

    Attributes:
        struck: how many calls of each name failed.
        calm: while it is set, none fails.
    """

    def __init__(self, seed: int, rate: float, **rates: float) -> None:
        self._chance, self._rate, self._rates = random.Random(seed), rate, rates
        self.struck = Counter[str]()
        self.calm = False

    def strikes(self, call: str) -> bool:
        if self.calm:
            return False
        hit = self._chance.random() < self._rates.get(call, self._rate)
        self.struck[call] += hit
        return hit


def at_every_call(story: Callable[[Nth], None], *calls: str, stays: bool = False) -> int:
    """Tell a story again and again, each time with another call that fails.

    Args:
        story: gets the plan; checks what must hold.
        calls: names of calls that may fail; empty = all.
        stays: whether all later calls fail too.

    Returns:
        how many calls there are.
    """
    for number in range(1, 10_000):
        plan = Nth(number, *calls, stays=stays)
        try:
            story(plan)
        except BaseException as error:
            error.add_note(f"call {number} failed: {plan.struck}")
            raise
        if not plan.struck:
            return number - 1
    pytest.fail("the story never ends")
