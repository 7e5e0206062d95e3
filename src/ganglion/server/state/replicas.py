"""What is remembered of the replicas of services; part of the book."""

from collections.abc import Collection

from msgspec import Struct

from ganglion.model.causes import cancels
from ganglion.model.events import (
    Event,
    GangEnded,
    GangStopping,
    GangSubmitted,
    ModelUpdated,
    Outcome,
    ServiceLearnt,
    ServiceScaled,
)
from ganglion.model.workload import Kind

REMEMBERED = 10
"""Replicas of a service that are still shown when they are not wanted any more."""


class Past(Struct):
    """What replicas that are forgotten add up to."""

    preemptions: int = 0
    lost_gpu_ms: int = 0


class Replicas:
    """Follows from events alone, as the book does.

    Attributes:
        issued: service id -> how many replicas it has had; the next one gets this number.
        scaled: service id -> when and why it last got another number of replicas.
        draining: gang -> since when it gets no more requests, in ms.
        past: service id -> what its forgotten replicas add up to.
        held: service id -> until when the number that a person gave stays, in ms.
        learnt: service id -> what autoscaling has learnt of it.
        updated: service id -> its last change to another model.
    """

    def __init__(self) -> None:
        self.issued: dict[str, int] = {}
        self.scaled: dict[str, ServiceScaled] = {}
        self.draining: dict[str, int] = {}
        self.past: dict[str, Past] = {}
        self.held: dict[str, int] = {}
        self.learnt: dict[str, ServiceLearnt] = {}
        self.updated: dict[str, ModelUpdated] = {}
        self._leaving: dict[str, None] = {}
        self._left: dict[str, dict[str, None]] = {}

    def left(self, service: str) -> Collection[str]:
        """Replicas of a service that ended because they were not wanted any more."""
        return self._left.get(service, ())

    def has_left(self, gang: str) -> bool:
        """Whether a replica ended because it was not wanted any more."""
        return gang in self._left.get(_service(gang), {})

    def note(self, event: Event) -> None:
        """Take in an event that the engine's state has accepted."""
        match event:
            case GangSubmitted(gang=gang) if gang.kind is Kind.SERVICE:
                self.issued[gang.workload] = gang.index + 1
            case GangStopping() if cancels(event.cause) and _service(event.gang) in self.issued:
                self._leaving[event.gang] = None
            case GangEnded(requeue=False) if _service(event.gang) in self.issued:
                self._ended(event)
            case ServiceScaled():
                self._scaled(event)
            case ModelUpdated():
                self.updated[event.workload] = event
            case ServiceLearnt():
                self.learnt[event.workload] = event

    def _ended(self, event: GangEnded) -> None:
        self.draining.pop(event.gang, None)
        if event.gang in self._leaving or event.outcome is Outcome.CANCELLED:
            self._left.setdefault(_service(event.gang), {})[event.gang] = None
        self._leaving.pop(event.gang, None)

    def _scaled(self, event: ServiceScaled) -> None:
        self.scaled[event.workload] = event
        if event.held_until >= 0:
            self.held[event.workload] = event.held_until
        before = {gang for gang in self.draining if _service(gang) == event.workload}
        for gang in before.difference(event.draining):
            del self.draining[gang]
        for gang in event.draining:
            self.draining.setdefault(gang, event.at)

    def surplus(self) -> list[str]:
        """Replicas that left so long ago that they need not be shown any more."""
        if not self._left:
            return []
        return [gang for left in self._left.values() for gang in [*left][:-REMEMBERED]]

    def retire(self, gang: str, preemptions: int, lost_gpu_ms: int) -> None:
        """A replica is forgotten, except for what it adds to its service."""
        past = self.past.setdefault(_service(gang), Past())
        past.preemptions += preemptions
        past.lost_gpu_ms += lost_gpu_ms
        del self._left[_service(gang)][gang]

    def close(self, service: str) -> None:
        """A service is over."""
        if self.issued.pop(service, None) is None:
            return
        for gang in [each for each in self.draining if _service(each) == service]:
            del self.draining[gang]
        for each in (self.scaled, self.past, self._left, self.held, self.learnt, self.updated):
            each.pop(service, None)


def _service(gang: str) -> str:
    return gang.rpartition("/")[0]
