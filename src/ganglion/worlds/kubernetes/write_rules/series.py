"""Events before they are written: equal ones are counted, not kept.

What is equal: the same object, reason, action, type and other object. The note may differ; the
first one of a series stands, since the API lets no note be changed. A series ends when nothing
was added for a while, so that later events are seen with their own notes.
"""

from collections import OrderedDict
from typing import Any

from msgspec import Struct

from ganglion.worlds.kubernetes.instance import FIRST
from ganglion.worlds.kubernetes.names import FAILED_SCHEDULING
from ganglion.worlds.kubernetes.types.times import micros

_LONGEST = 1024
"""Characters of a note; longer ones are cut."""


class About(Struct, frozen=True):
    """An object that an event is about; nodes and the like have no namespace."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str

    def reference(self) -> dict[str, str]:
        """Return it as the API has it."""
        parts = {"namespace": self.namespace} if self.namespace else {}
        about = {"apiVersion": self.api_version, "kind": self.kind, "name": self.name}
        return {**about, **parts, "uid": self.uid}


class Happened(Struct, frozen=True):
    """One thing that happened.

    Attributes:
        regarding: the object.
        reason: its reason in the API, as `FailedScheduling`.
        action: what was tried, as `Scheduling`.
        note: for people.
        warning: whether it is bad news.
        related: another object that has to do with it, as the node or the beneficiary.
    """

    regarding: About
    reason: str
    action: str
    note: str = ""
    warning: bool = False
    related: About | None = None

    @property
    def same(self) -> tuple[object, ...]:
        """What events of one series share."""
        # A gang that waits for another reason than before is news; other numbers are not.
        token, colon, _ = self.note.partition(":")
        token = token if colon and self.reason == FAILED_SCHEDULING else ""
        return self.regarding, self.reason, self.action, self.warning, self.related, token


class EventSeries:
    """Equal events: how many there were, and how many of them were written."""

    def __init__(self, first: Happened, now_ms: int, number: int) -> None:
        self.first, self.number = first, number
        self.began_ms = self.last_ms = self.written_ms = now_ms
        self.count, self.written = 1, 0

    def add(self, now_ms: int) -> None:
        """Count one more."""
        self.count, self.last_ms = self.count + 1, now_ms

    @property
    def namespace(self) -> str:
        """Where the event lies; those about objects without namespace lie in `default`."""
        return self.first.regarding.namespace or "default"

    @property
    def name(self) -> str:
        """Name of the event: unique per process, object and series."""
        return f"{self.first.regarding.name[:200]}.{self.began_ms:x}.{self.number:x}"

    @property
    def path(self) -> str:
        """Of the folder it lies in."""
        return f"/apis/events.k8s.io/v1/namespaces/{self.namespace}/events"

    def whole(self, instance: str, controller: str = FIRST.controller) -> dict[str, Any]:
        """Return the event to create, as a process of a scheduler writes it."""
        event: dict[str, Any] = {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {"name": self.name, "namespace": self.namespace},
            "eventTime": micros(self.began_ms),
            "reportingController": controller,
            "reportingInstance": instance[:128],
            "reason": self.first.reason,
            "action": self.first.action,
            "note": self.first.note.encode()[:_LONGEST].decode(errors="ignore"),
            "type": "Warning" if self.first.warning else "Normal",
            "regarding": self.first.regarding.reference(),
        }
        if self.first.related:
            event["related"] = self.first.related.reference()
        return event | (self.more() if self.count > 1 else {})

    def more(self) -> dict[str, Any]:
        """Return the part of the event that grows."""
        return {"series": {"count": self.count, "lastObservedTime": micros(self.last_ms)}}


class Shelf:
    """The series that go on, least recently used first; a bounded number of them."""

    def __init__(self, most: int, ends_ms: int) -> None:
        self._most, self._ends_ms = most, ends_ms
        self._series: OrderedDict[tuple[object, ...], EventSeries] = OrderedDict()
        self._begun = 0

    def add(self, event: Happened, now_ms: int) -> EventSeries:
        """Count an event. Returns its series."""
        series = self._series.get(event.same)
        if series and now_ms - series.last_ms < self._ends_ms:
            self._series.move_to_end(event.same)
            series.add(now_ms)
            return series
        self._begun += 1
        self._series[event.same] = series = EventSeries(event, now_ms, self._begun)
        self._series.move_to_end(event.same)
        while len(self._series) > self._most:
            self._series.popitem(last=False)
        return series
