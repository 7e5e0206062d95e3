"""The queues and the policy of a cluster, as its own objects say."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from msgspec.structs import replace

from ganglion.engine.plugins.protocols import Plugins
from ganglion.model.errors import FieldError, PluginError
from ganglion.model.policy import Policy
from ganglion.model.queue import Queue
from ganglion.specs.wording import first_of
from ganglion.worlds.kubernetes.cluster_view.orders import ObjectChanged
from ganglion.worlds.kubernetes.config.read import (
    IN_FORCE,
    Configuration,
    configuration,
    no_check,
)
from ganglion.worlds.kubernetes.config.verdicts import AcceptedReason, ObjectVerdict, Verdicts
from ganglion.worlds.kubernetes.controller import News
from ganglion.worlds.kubernetes.instance import FIRST, Instance
from ganglion.worlds.kubernetes.reporting.reports import ReportSubject
from ganglion.worlds.kubernetes.types.meta import Anything

KINDS = {"queue": "Queue", "policy": "Policy"}
DEFAULT_QUEUE = "default"
"""Exists, without quota, as long as no `Queue` of its name does: pods that name none are in it."""

Load = Callable[[Policy], Plugins]
_POINTS = ("scores", "filters", "permits", "preempts")
_BARE = Policy(scores=())


class QueueObjects:
    """Keeps the objects, and reads them anew when one has changed.

    Args:
        in_force: name of the policy that decides.
        check: raises InputError for a policy that cannot be used here.
        default: queue of pods that name none; empty = they have to name one.
        instance: whose objects count.

    Attributes:
        latest: the last configuration read from them.
    """

    def __init__(
        self,
        in_force: str = IN_FORCE,
        check: Callable[[Policy], None] = no_check,
        default: str = DEFAULT_QUEUE,
        instance: Instance = FIRST,
    ) -> None:
        self._instance = instance
        self._in_force, self._check, self._default = in_force, check, default
        self._subjects: dict[str, ReportSubject] = {}
        self._kept: dict[str, dict[str, Any]] = {}
        """UID -> what counts of it, as its status will say once that is written."""
        self._is_stale = True
        self.latest: Configuration | None = None

    def sift(self, news: Iterable[News]) -> list[News]:
        """Take out what is about queues and policies; returns the rest.

        Where there are several clusters, the objects of all of them make up one tree.
        """
        return list(self._others(news))

    def changed(self, flavors: Sequence[str]) -> Configuration | None:
        """What the objects say now, if it is something else than last time."""
        if not self._is_stale:
            return None
        self._is_stale = False
        counting, others = _distinct(self.subjects())
        queues = [self._as_kept(each) for each in counting if each.kind == "Queue"]
        policies = [self._as_kept(each) for each in counting if each.kind == "Policy"]
        found = configuration(queues, policies, flavors, self._in_force, self._check)
        if self._default and all(each.metadata.name != self._default for each in queues):
            # The first `Queue` must not stop the pods that name none.
            found = replace(found, queues=(*found.queues, Queue(self._default)))
        known = Verdicts(found.verdicts)
        beside = (_beside(other, first, known) for other, first in others)
        found = replace(found, verdicts=(*found.verdicts, *(each for each in beside if each)))
        self.latest = found
        self._keep(found)
        return found

    @property
    def policy_version(self) -> int:
        """Generation of the object whose policy decides; 0 = the built-in one does."""
        found = self.latest
        if found is None or found.file is None:
            return 0
        verdict = (e for e in found.verdicts if (e.kind, e.name) == ("Policy", self._in_force))
        return next((each.spec_generation for each in verdict), 0)

    def subjects(self) -> list[ReportSubject]:
        """All queues and policies."""
        return list(self._subjects.values())

    def _as_kept(self, subject: ReportSubject) -> Anything:
        """The object with what was accepted last, which its status may not say yet."""
        item = subject.item
        kept = self._kept.get(item.metadata.uid)
        return replace(item, status={**item.status, "inForce": kept}) if kept else item

    def _keep(self, found: Configuration) -> None:
        known = Verdicts(found.verdicts)
        for uid, subject in self._subjects.items():
            verdict = known.on(subject.kind, subject.item.metadata)
            if verdict is None or verdict.spec is None:
                self._kept.pop(uid, None)
            else:
                kept = {"generation": verdict.spec_generation, "spec": dict(verdict.spec)}
                self._kept[uid] = kept

    def _others(self, news: Iterable[News]) -> Iterator[News]:
        for each in news:
            if not isinstance(each, ObjectChanged) or each.kind not in KINDS:
                yield each
                continue
            self._is_stale |= self._take(each)

    def _take(self, change: ObjectChanged) -> bool:
        """Note how an object is now; returns whether it says something else than before."""
        before = self._subjects.get(change.uid)
        if change.item is None or not self._instance.reads(change.item.metadata):
            self._subjects.pop(change.uid, None)
            self._kept.pop(change.uid, None)
            return before is not None
        now = ReportSubject(change.cluster, KINDS[change.kind], change.item)
        self._subjects[change.uid] = now
        if before is None:
            return True
        return before.item.metadata.generation != now.item.metadata.generation


def _distinct(
    subjects: Iterable[ReportSubject],
) -> tuple[list[ReportSubject], list[tuple[ReportSubject, ReportSubject]]]:
    """One object of each kind and name, that of the first cluster by name; others with it."""
    first: dict[tuple[str, str], ReportSubject] = {}
    others: list[tuple[ReportSubject, ReportSubject]] = []
    for each in sorted(subjects, key=lambda each: each.cluster):
        name = (each.kind, each.item.metadata.name)
        if first.get(name, each).cluster == each.cluster:
            first[name] = each
        else:
            others.append((each, first[name]))
    return list(first.values()), others


def _beside(other: ReportSubject, first: ReportSubject, known: Verdicts) -> ObjectVerdict | None:
    """What becomes of an object whose name another cluster uses: only its equal may share it."""
    meta = other.item.metadata
    verdict = known.on(other.kind, first.item.metadata)
    if verdict is None or other.item.spec == first.item.spec:
        return verdict and replace(verdict, generation=meta.generation, uid=meta.uid)
    message = (
        f"cluster {first.cluster} has a {other.kind} of this name that says something else, and "
        "it counts: make both equal, or give this one another name"
    )
    return ObjectVerdict(
        other.kind, meta.name, meta.generation, AcceptedReason.ELSEWHERE, message, uid=meta.uid
    )


def named_plugins(policy: Policy) -> tuple[object, ...]:
    """What decides which plugins are loaded."""
    return tuple(getattr(policy, point) for point in _POINTS)


def plugin_check(load: Load) -> Callable[[Policy], None]:
    """A check that all plugins of a policy can be loaded; it raises FieldError with all faults."""

    def check(policy: Policy) -> None:
        problems: list[FieldError] = []
        for point in _POINTS:
            try:
                load(replace(_BARE, **{point: getattr(policy, point)}))
            except PluginError as error:
                problems.append(FieldError(error.message, key=point, hint=error.hint))
        if problems:
            raise first_of(problems)

    return check
