"""What is done about the trials of a sweep, whichever host asks."""

import pytest

from ganglion.lifecycle.sweeps.elastic_width import ElasticWidth
from ganglion.lifecycle.sweeps.reconciler import (
    Sweep,
    TrialTerms,
    index_of,
    to_promote,
    to_stop,
)
from ganglion.model.behaviour import EarlyStop
from ganglion.model.causes import CauseKind
from ganglion.model.events import MetricReported

TERMS = TrialTerms(EarlyStop("loss", factor=2), width=2)


def report(sweep: Sweep, trial: int, loss: float, name: str = "loss") -> None:
    sweep.reports.append(MetricReported(0, f"s/{trial}", 1, name, 1, loss))


def test_a_trial_is_to_be_stopped_again_and_again_until_it_has_ended() -> None:
    sweep, live = Sweep(live=2), {"s/0", "s/1"}
    report(sweep, 0, 0.5)
    report(sweep, 1, 0.9)
    first = to_stop(sweep, TERMS, live.__contains__)
    assert [(trial, cause.kind) for trial, cause in first.items()] == [("s/1", CauseKind.GIVEN_UP)]
    assert sweep.reports == [], "no report is compared twice"
    assert to_stop(sweep, TERMS, live.__contains__) == first
    live.remove("s/1")
    assert to_stop(sweep, TERMS, live.__contains__) == {}


@pytest.mark.parametrize(("name", "terms"), [("accuracy", TERMS), ("loss", TrialTerms())])
def test_other_metrics_and_sweeps_without_a_rule_stop_no_trial(
    name: str, terms: TrialTerms
) -> None:
    sweep = Sweep(live=2)
    report(sweep, 0, 0.5, name)
    report(sweep, 1, 0.9, name)
    assert to_stop(sweep, terms, lambda _: True) == {}
    assert sweep.reports == []


def test_as_many_spare_trials_are_promoted_as_places_are_free_and_each_once() -> None:
    sweep = Sweep(live=4, elastic=ElasticWidth.found(own=[0], running=[3], waiting=[1, 2]))
    assert to_promote("s", sweep, TERMS) == ["s/3"], "one that runs goes first"
    assert to_promote("s", sweep, TERMS) == []
    assert sweep.elastic
    sweep.elastic.ended(0, again=False)
    assert to_promote("s", sweep, TERMS) == ["s/1"]


def test_a_sweep_without_spare_trials_promotes_none() -> None:
    assert to_promote("s", Sweep(live=2), TERMS) == []


def test_trials_are_known_by_their_number() -> None:
    assert index_of("a/b-1/12") == 12
