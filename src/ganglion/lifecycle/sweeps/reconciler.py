"""What is done about the trials of a sweep; every host of sweeps runs it.

A host keeps a `Sweep` up to date and carries out what is decided: the server of a home by events
and orders to its world, the scheduler of a cluster by writes to the Job and its pods.
"""

from collections.abc import Callable, Mapping

from msgspec import Struct, field

from ganglion.lifecycle.sweeps.elastic_width import ElasticWidth
from ganglion.lifecycle.sweeps.halving import GivenUp, Ladder, climb
from ganglion.model.behaviour import EarlyStop
from ganglion.model.causes import Cause, CauseKind, Standing
from ganglion.model.events import MetricReported


class Sweep(Struct):
    """What is known of one sweep. Trials are named `<sweep>/<index>`.

    Attributes:
        live: trials that have not ended.
        reports: what trials reported since the last decision.
        ladder: how far they have come.
        given_up: trials that are to be stopped, and why.
        elastic: which of them are spare; None = none ever was. Checkpoints name it as it was once
            called.
    """

    live: int = 0
    reports: list[MetricReported] = field(default_factory=list)
    ladder: Ladder = field(default_factory=Ladder)
    given_up: dict[str, Cause] = field(default_factory=dict)
    elastic: ElasticWidth | None = field(default=None, name="breath")


class TrialTerms(Struct, frozen=True):
    """What the owner of a sweep wants.

    Attributes:
        early_stop: which trials are given up before their end; None = none.
        width: how many trials have the sweep's own priority; 0 = all of them.
    """

    early_stop: EarlyStop | None = None
    width: int = 0


def to_stop(sweep: Sweep, terms: TrialTerms, lives: Callable[[str], bool]) -> Mapping[str, Cause]:
    """Which trials are to be stopped, and why; the same again until they have ended.

    Args:
        sweep: what is known of it; reports are taken in.
        terms: what its owner wants.
        lives: whether a trial has not ended.
    """
    _judge(sweep, terms.early_stop)
    sweep.given_up = {trial: cause for trial, cause in sweep.given_up.items() if lives(trial)}
    return dict(sweep.given_up)


def to_promote(name: str, sweep: Sweep, terms: TrialTerms) -> list[str]:
    """Which spare trials have the sweep's own priority from now on.

    To be asked after trials were stopped: one that waited ends at once, and its turn is free.

    Args:
        name: of the sweep.
        sweep: what is known of it; those returned count as promoted.
        terms: what its owner wants.
    """
    found, elastic = list[str](), sweep.elastic
    while elastic and (trial := elastic.turn(terms.width)) is not None:
        elastic.promoted(trial)
        found.append(f"{name}/{trial}")
    return found


def index_of(trial: str) -> int:
    """The number of a trial."""
    return int(trial.rpartition("/")[2])


def _judge(sweep: Sweep, rule: EarlyStop | None) -> None:
    reports, sweep.reports = sweep.reports, []
    for each in reports if rule else ():
        if rule and each.name == rule.metric:
            verdict = climb(sweep.ladder, rule, index_of(each.gang), each.step, each.value)
            if verdict:
                sweep.given_up[each.gang] = _given_up(rule, verdict)


def _given_up(rule: EarlyStop, verdict: GivenUp) -> Cause:
    place = (verdict.rung, verdict.place, verdict.among, verdict.kept)
    return Cause(CauseKind.GIVEN_UP, standing=Standing(rule.metric, verdict.value, *place))
