"""What labels and annotations say about how an object lives."""

import json

import pytest

from ganglion.lifecycle.sweeps.reconciler import TrialTerms
from ganglion.model.behaviour import EarlyStop, Idle, Scaling, Signal, Target
from ganglion.model.errors import FieldError
from ganglion.model.workload import Kind
from ganglion.server.cluster.controllers.life import Life, life_of

SERVICE = {"ganglion.dev/kind": "service"}


def test_what_was_submitted_is_read_back() -> None:
    document = {"name": "api", "run": "serve", "port": 8000, "replicas": "1..4"}
    document["scale"] = {"targets": {"requests": 8}, "source": "metrics"}
    life = life_of(SERVICE, {"ganglion.dev/document": json.dumps(document)})
    scaling = Scaling(1, 4, (Target(Signal.REQUESTS, 8_000),), "metrics")
    assert life == Life(Kind.SERVICE, scaling, 8000)


def test_annotations_of_objects_that_others_made_say_the_same() -> None:
    notes = {
        "ganglion.dev/replicas": "1..4",
        "ganglion.dev/scale": "targets:\n  requests: 8\nsource: metrics\n",
        "ganglion.dev/port": "8000",
    }
    scaling = Scaling(1, 4, (Target(Signal.REQUESTS, 8_000),), "metrics")
    assert life_of(SERVICE, notes) == Life(Kind.SERVICE, scaling, 8000)


def test_a_number_by_hand_has_a_time() -> None:
    life = life_of(SERVICE, {"ganglion.dev/held-until": "1970-01-01T00:01:00Z"})
    assert life == Life(Kind.SERVICE, held_until=60_000)


def test_workspaces_have_lives_of_their_own() -> None:
    notes = {"ganglion.dev/idle-timeout": "30m", "ganglion.dev/idle": "{warn: 1m}"}
    life = life_of({"ganglion.dev/kind": "workspace"}, notes)
    assert life == Life(Kind.WORKSPACE, idle_timeout_ms=1_800_000, idle=Idle(60_000))


def test_sweeps_have_the_terms_of_their_trials() -> None:
    notes = {
        "ganglion.dev/parallel": "4..64",
        "ganglion.dev/early-stop": "{metric: loss, goal: min, first: 10, factor: 3}",
    }
    life = life_of({"ganglion.dev/kind": "sweep"}, notes)
    early_stop = EarlyStop("loss", first=10, factor=3)
    assert life == Life(Kind.SWEEP, trials=TrialTerms(early_stop, width=4))


@pytest.mark.parametrize("kind", ["train", "batch", "", "whatever"])
def test_other_kinds_have_none(kind: str) -> None:
    assert life_of({"ganglion.dev/kind": kind}, {}) is None


@pytest.mark.parametrize(
    ("notes", "key"),
    [
        ({"ganglion.dev/replicas": "8..1", "ganglion.dev/scale": "{requests: 1}"}, "replicas"),
        ({"ganglion.dev/replicas": "1..8"}, "replicas"),
        ({"ganglion.dev/replicas": "1..8", "ganglion.dev/scale": "{request: 1}"}, "scale.request"),
        ({"ganglion.dev/port": "http"}, "port"),
        ({"ganglion.dev/held-until": "tomorrow"}, "ganglion.dev/held-until"),
        ({"ganglion.dev/held-until": "2026-12-01T08:00:00"}, "ganglion.dev/held-until"),
    ],
)
def test_nonsense_is_refused_by_its_key(notes: dict[str, str], key: str) -> None:
    with pytest.raises(FieldError) as caught:
        life_of(SERVICE, notes)
    assert caught.value.key == key
