"""How an object of a cluster is managed: what its owner set when it was made."""

from collections.abc import Iterator, Mapping
from textwrap import indent

from msgspec import Struct

from ganglion.lifecycle.sweeps.reconciler import TrialTerms
from ganglion.model.behaviour import Idle, Scaling
from ganglion.model.errors import FieldError
from ganglion.model.workload import Kind
from ganglion.specs.workload.behaviour import early_stop_of, idle_of, scaling_of
from ganglion.specs.workload.workload import WorkloadFile, parse_workloads
from ganglion.worlds.kubernetes import names
from ganglion.worlds.kubernetes.submit.manifests import marks
from ganglion.worlds.kubernetes.types.times import read_ms

KEYS = {
    names.REPLICAS: "replicas",
    names.SCALE: "scale",
    names.PORT: "port",
    marks.IDLE_TIMEOUT: "idle_timeout",
    names.IDLE: "idle",
    names.EARLY_STOP: "early_stop",
    names.PARALLEL: "parallel",
}
"""Annotation of an object that was not submitted by us -> the key of a workload file it holds."""


class Life(Struct, frozen=True):
    """How an object is managed.

    Attributes:
        kind: what it is.
        scaling: how a service scales; None = it does not.
        port: that its pods listen on; 0 = none.
        idle_timeout_ms: a workspace idle that long is suspended; 0 = never.
        idle: how it is found idle.
        trials: what a sweep does about its trials.
        held_until: until then a service keeps the number of replicas it has, in ms since 1970.
    """

    kind: Kind
    scaling: Scaling | None = None
    port: int = 0
    idle_timeout_ms: int = 0
    idle: Idle = Idle()
    held_until: int = 0
    trials: TrialTerms = TrialTerms()


def life_of(labels: Mapping[str, str], notes: Mapping[str, str]) -> Life | None:
    """Read labels and annotations; None = it is none of ours.

    Raises:
        FieldError: they make no sense; its key is the annotation or a key of a workload file.
    """
    kind = labels.get(marks.KIND, "")
    if kind not in (Kind.SERVICE, Kind.WORKSPACE, Kind.SWEEP):
        return None
    text = notes.get(marks.DOCUMENT) or "\n".join(_said(kind, notes))
    (doc,) = parse_workloads(text)
    return _life(Kind(kind), doc, _held_until(notes))


def _said(kind: str, notes: Mapping[str, str]) -> Iterator[str]:
    """A workload file of what annotations say, line by line."""
    yield f"kind: {kind}\nrun: '-'"
    if kind == Kind.SWEEP:
        yield "array: 0-0"  # a sweep needs trials; those of a Job are its indexes
    for name, key in KEYS.items():
        value = notes.get(name, "").strip()
        if "\n" in value:
            yield f"{key}:\n{indent(value, '  ')}"
        elif value:
            yield f"{key}: {value}"


def _held_until(notes: Mapping[str, str]) -> int:
    text = notes.get(names.HELD_UNTIL, "")
    try:
        return read_ms(text)
    except (ValueError, TypeError) as error:  # TypeError: it names no time zone
        hint = "as 2026-12-01T08:00:00Z"
        raise FieldError(f"{text!r} is not a time", key=names.HELD_UNTIL, hint=hint) from error


def _life(kind: Kind, doc: WorkloadFile, held_until: int) -> Life:
    return Life(
        kind,
        scaling_of(doc),
        doc.port,
        doc.idle_timeout,
        idle_of(doc.idle),
        held_until,
        TrialTerms(early_stop_of(doc.early_stop), doc.parallel.low if doc.parallel.elastic else 0),
    )
