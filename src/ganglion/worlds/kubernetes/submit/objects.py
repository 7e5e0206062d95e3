"""The parts of Kubernetes objects with the state of a submitted workload."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any

import msgspec
from msgspec import field

from ganglion.model.causes import Standing
from ganglion.worlds.kubernetes import names
from ganglion.worlds.kubernetes.submit.manifests.marks import FIRST_POD
from ganglion.worlds.kubernetes.types.meta import Condition, LabelSelector, Meta, Object

JOB_INDEX = "batch.kubernetes.io/job-completion-index"
"""Annotation of the pods of an Indexed Job with their numbers."""
SET_INDEX = "apps.kubernetes.io/pod-index"
"""Label of the pods of a StatefulSet with their numbers."""


class TemplateSpec(Object, frozen=True):
    """`spec` of a pod template, as it was written."""

    containers: tuple[dict[str, Any], ...] = ()
    scheduler_name: str = ""


class TemplateMeta(Object, frozen=True):
    """`metadata` of a pod template."""

    labels: dict[str, str] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)


class Template(Object, frozen=True):
    """A pod template."""

    metadata: TemplateMeta = TemplateMeta()
    spec: TemplateSpec = TemplateSpec()


class MainSpec(Object, frozen=True):
    """`spec` of a Job, a StatefulSet or a Deployment."""

    suspend: bool | None = None
    completions: int | None = None
    parallelism: int | None = None
    replicas: int | None = None
    backoff_limit_per_index: int | None = None
    pod_failure_policy: dict[str, Any] = field(default_factory=dict)
    selector: LabelSelector = LabelSelector()
    template: Template = Template()


class MainStatus(Object, frozen=True):
    """`status` of a Job, a StatefulSet or a Deployment; sets of indexes are like `0-3,7`."""

    conditions: tuple[Condition, ...] = ()
    start_time: str = ""
    completion_time: str = ""
    active: int = 0
    ready_replicas: int = 0
    failed: int = 0
    completed_indexes: str = ""
    failed_indexes: str = ""


class Main(Object, frozen=True):
    """An object that makes pods."""

    kind: str = ""
    metadata: Meta = Meta()
    spec: MainSpec = MainSpec()
    status: MainStatus = MainStatus()

    def is_so(self, condition: str) -> Condition | None:
        """The condition of that type, when it holds."""
        found = (each for each in self.status.conditions if each.type == condition)
        return next((each for each in found if each.status == "True"), None)


class Terminated(Object, frozen=True):
    """How a container ended."""

    exit_code: int = 0
    signal: int = 0
    reason: str = ""
    message: str = ""
    finished_at: str = ""


class Waiting(Object, frozen=True):
    """Why a container has not begun."""

    reason: str = ""
    message: str = ""


class ContainerState(Object, frozen=True):
    """In which state a container is; one of them is there."""

    terminated: Terminated | None = None
    waiting: Waiting | None = None


class ContainerStatus(Object, frozen=True):
    """What became of a container."""

    name: str = ""
    ready: bool = False
    restart_count: int = 0
    state: ContainerState = ContainerState()


class PodSpec(TemplateSpec, frozen=True):
    """`spec` of a pod."""

    node_name: str = ""


class PodStatus(Object, frozen=True):
    """`status` of a pod."""

    phase: str = "Pending"
    reason: str = ""
    message: str = ""
    pod_ip: str = field(default="", name="podIP")
    start_time: str = ""
    nominated_node_name: str = ""
    conditions: tuple[Condition, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()


class SeenPod(Object, frozen=True):
    """A pod of a submitted workload."""

    metadata: Meta = Meta()
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    def condition(self, kind: str) -> Condition | None:
        """The condition of a type."""
        return next((each for each in self.status.conditions if each.type == kind), None)

    @property
    def end(self) -> Terminated | None:
        """How its container ended; None = it has not."""
        states = (each.state.terminated for each in self.status.container_statuses)
        return next((each for each in states if each), None)


_stops = msgspec.json.Decoder(dict[int, Standing])


def given_up(main: Main) -> Mapping[int, Standing]:
    """Trials that were given up, and how they compared with others. Raises DecodeError."""
    return _stopped(main.metadata.annotations.get(names.GIVEN_UP) or "{}")


@lru_cache(maxsize=4)  # it is asked for every trial of a sweep in turn
def _stopped(text: str) -> Mapping[int, Standing]:
    return _stops.decode(text)


def seat_of(meta: Meta) -> int | None:
    """Node rank of a pod within its gang, by its metadata; None = they do not say."""
    notes, labels = meta.annotations, meta.labels
    own = notes.get(JOB_INDEX) or labels.get(SET_INDEX) or notes.get(names.INDEX, "")
    return int(notes.get(FIRST_POD, "0")) + int(own) if own.isdecimal() else None


def ms(stamp: str) -> int | None:
    """A time of the API in ms since 1970; None = not yet."""
    return int(datetime.fromisoformat(stamp).timestamp() * 1000) if stamp else None


def ranges(numbers: Iterable[int]) -> str:
    """The text `0-3,7` of numbers."""
    found: list[list[int]] = []
    for each in sorted(numbers):
        if found and each == found[-1][-1] + 1:
            found[-1] = [found[-1][0], each]
        else:
            found.append([each])
    return ",".join("-".join(map(str, part)) for part in found)


def indexes(text: str) -> frozenset[int]:
    """The numbers of `0-3,7`."""
    found: set[int] = set()
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    return frozenset(found)
