"""What a Job says about the trials of a sweep: read from it and its pods, and written on it.

All that the reconciler has to remember is in annotations of the Job, so that a scheduler that
takes over judges as the one before it would have.
"""

from collections.abc import Iterator, Mapping, Sequence
from math import isfinite

import msgspec
from msgspec import Struct

from ganglion.lifecycle.reports.line import STEP, read
from ganglion.lifecycle.sweeps.elastic_width import ElasticWidth
from ganglion.lifecycle.sweeps.halving import WORST, Ladder, Rung
from ganglion.lifecycle.sweeps.reconciler import Sweep, index_of
from ganglion.model.causes import Cause, CauseKind
from ganglion.model.events import MetricReported
from ganglion.server.cluster.controllers.mains import ReconciledObject
from ganglion.worlds.kubernetes import markers, names
from ganglion.worlds.kubernetes.submit.objects import given_up, indexes, ranges
from ganglion.worlds.kubernetes.types.pod import Pod

NONE = "-"
"""Of the annotation with indexes: none of them."""


class Climbed(Struct, omit_defaults=True):
    """The annotation that says how far trials have come.

    Attributes:
        losses: step -> what trials reported there, ascending; None = no number.
        reached: trial -> the highest step it was compared at.
    """

    losses: dict[int, list[float | None]] = {}
    reached: dict[int, int] = {}


_climbed = msgspec.json.Decoder(Climbed)


def trial_of(pod: Pod) -> int | None:
    """The number of the trial that a pod belongs to; None = it does not say."""
    meta = pod.metadata
    text = meta.annotations.get(markers.JOB_INDEX) or meta.labels.get(markers.JOB_INDEX, "")
    return int(text) if text.isdecimal() else None


def over(kept: ReconciledObject) -> frozenset[int]:
    """Trials that have ended, well or not."""
    status = kept.main.status
    return indexes(status.completed_indexes) | indexes(status.failed_indexes)


def sweep_of(kept: ReconciledObject, pods: Mapping[int, Pod]) -> Sweep:
    """What is known of a sweep before the pods' reports are taken in.

    Args:
        kept: its Job.
        pods: trial -> its pod, where one lives.

    Raises:
        DecodeError: an annotation that only we write cannot be read.
    """
    notes = kept.main.metadata.annotations
    climbed = _climbed.decode(notes.get(names.RUNGS) or "{}")
    rungs = {
        step: Rung([WORST if each is None else each for each in losses])
        for step, losses in climbed.losses.items()
    }
    stops = {
        f"{kept.uid}/{trial}": Cause(CauseKind.GIVEN_UP, standing=standing)
        for trial, standing in given_up(kept.main).items()
    }
    ladder = Ladder(rungs, dict(climbed.reached))
    elastic = _elastic(kept, pods) if kept.life.trials.width else None
    return Sweep(ladder=ladder, given_up=stops, elastic=elastic)


def _elastic(kept: ReconciledObject, pods: Mapping[int, Pod]) -> ElasticWidth:
    said, gone = kept.main.metadata.annotations.get(names.OWN_TRIALS, NONE), over(kept)
    own = (indexes(said) if said != NONE else frozenset()) - gone
    spare = sorted(trial for trial in pods if trial not in own and trial not in gone)
    started = sorted(
        (pods[trial].status.start_time, trial) for trial in spare if pods[trial].spec.node_name
    )
    waiting = [trial for trial in spare if not pods[trial].spec.node_name]
    return ElasticWidth.found(own, [trial for _, trial in started], waiting)


def reports_of(
    kept: ReconciledObject, pods: Mapping[int, Pod], now: int
) -> Iterator[tuple[Pod, list[MetricReported] | str]]:
    """What each pod reports, or what is wrong with its report.

    Args:
        kept: the Job of its sweep.
        pods: trial -> its pod.
        now: the time, in ms.
    """
    for trial, pod in sorted(pods.items()):
        text = pod.metadata.annotations.get(names.REPORT)
        if text is None:
            continue
        line = read(f'{{"metrics": {text}}}'.encode())
        if isinstance(line, str):
            yield pod, line
            continue
        said, gang = line.metrics or {}, f"{kept.uid}/{trial}"
        yield (
            pod,
            [
                MetricReported(now, gang, 1, name, line.step, value)
                for name, value in said.items()
                if name != STEP
            ],
        )


def notes_of(kept: ReconciledObject, sweep: Sweep) -> dict[str, str]:
    """Annotations of a Job that say what is known of its sweep by now, where they change."""
    losses = {
        step: [each if isfinite(each) else None for each in rung.losses]
        for step, rung in sweep.ladder.rungs.items()
    }
    # Those given up stay on the list when they have ended: views show why.
    stops = dict(given_up(kept.main)) | {
        index_of(gang): cause.standing for gang, cause in sweep.given_up.items() if cause.standing
    }
    found = {}
    if sweep.ladder.reached:
        found[names.RUNGS] = _text(Climbed(losses, sweep.ladder.reached))
    if stops:
        found[names.GIVEN_UP] = _text(stops)
    if sweep.elastic:
        found[names.OWN_TRIALS] = ranges(sweep.elastic.own) or NONE
    before = kept.main.metadata.annotations
    return {name: text for name, text in found.items() if before.get(name) != text}


def by_trial(kept: ReconciledObject, pods: Sequence[Pod]) -> dict[int, Pod]:
    """The pods of a sweep's trials that live, or the last one of each."""
    mine = [each for each in pods if kept.has(each)]
    mine.sort(key=lambda pod: (not pod.is_over, pod.metadata.creation_timestamp))
    return {trial: pod for pod in mine if (trial := trial_of(pod)) is not None}


def _text(what: object) -> str:
    return msgspec.json.encode(what).decode()
