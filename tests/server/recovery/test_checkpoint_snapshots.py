"""A snapshot and the events after it give the state that all events give."""

import os
import pickle
import sqlite3
import zlib
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest
from msgspec import Struct
from msgspec.structs import replace

from ganglion import __version__
from ganglion.engine.cycle import cycle
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.ledger.records import Batch
from ganglion.model.events import Outcome, PolicySet
from ganglion.model.policy import Policy
from ganglion.server.commands import live
from ganglion.server.commands.schedules import SchedulesKeeper
from ganglion.server.controllers.controller import Controller, Controllers
from ganglion.server.controllers.failures import FailuresController
from ganglion.server.controllers.sweeps import SweepsController
from ganglion.server.recovery import written
from ganglion.server.recovery.checkpoint import Unusable, read
from ganglion.server.recovery.checkpoint import written as written_down
from ganglion.server.recovery.image import copied
from ganglion.server.recovery.recover import replayed, restored
from ganglion.server.state.registry import Registry
from ganglion.server.state.transaction import Mind
from tests import effort
from tests.engine.state.test_rollback import seen
from tests.engine.test_machine import Engine, random_step
from tests.server.conftest import Rig


def keepers() -> Sequence[Controller]:
    return SchedulesKeeper(), FailuresController(), SweepsController()


@pytest.fixture
def rig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Rig:
    monkeypatch.setattr(written, "SNAPSHOT", 10)
    monkeypatch.setattr(written, "REMEMBERED", 4)
    monkeypatch.setattr(written, "BEHIND", 3)
    return Rig(tmp_path / "home", keepers)


def everything(mind: Mind) -> dict[str, object]:
    """What decisions and views follow from."""
    book = mind.book
    mind.state.validate()
    return seen(mind.state, mind.state.progress.clock) | {
        "trails": book.trails,
        "entries": book.entries,
        "gangs": book.gangs,
        "alarms": book.alarms,
        "policies": book.policies,
        "schedules": book.schedules.live,
        "spent": book.spending.of,
        "flaws": book.flaws,
        "wake": mind.state.next_wake(),
        "estimates": plain(mind.state.gangs.estimates.histories()),
        "bands": mind.state.forecast.bands.coverage(),
    }


def plain(value: object) -> object:
    """A value as data that can be compared."""
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, set | frozenset):
        return sorted(map(repr, value))
    if isinstance(value, list | tuple | deque):
        return [plain(each) for each in value]
    if isinstance(value, str | int | Struct | None):
        return repr(value)
    names = [*getattr(value, "__dict__", {}), *getattr(type(value), "__slots__", ())]
    return {name: plain(getattr(value, name)) for name in names}


def work(rig: Rig, rng: Random, steps: int) -> None:
    """Jobs come, run, fail, are cancelled; nodes are cordoned; trials report."""
    for _ in range(steps):
        match rng.randrange(6):
            case 0 | 1:
                gpus = rng.randint(1, 8)
                rig.submit(f"w{rig.ledger.head}", resources={"gpus": gpus}, retry={"limit": 1})
            case 2:
                trials = {"x": list(range(rng.randint(2, 4)))}
                rig.submit(f"s{rig.ledger.head}", kind="sweep", params=trials)
            case 3 if rig.machine.live:
                gang = rng.choice(sorted(rig.machine.live))[0]
                rig.machine.end(gang, *rng.choice([(Outcome.SUCCEEDED, 0), (Outcome.FAILED, 1)]))
            case 4:
                why = rng.choice(["", "fan"])
                rig.do(lambda draft, why=why: live.cordon(draft, "n1", why))
            case 5:
                with rig.service.read() as mind:
                    jobs = sorted(mind.book.entries)
                if jobs:
                    job = rng.choice(jobs)
                    rig.do(lambda draft, job=job: live.cancel(draft, job, "ada"))
        rig.turn(rng.randint(1, 2))
        rig.machine.time += rng.randint(0, 60_000)


@pytest.mark.parametrize("seed", range(8))
def test_a_server_that_starts_from_a_snapshot_is_the_one_that_replays_everything(
    rig: Rig, seed: int
) -> None:
    work(rig, Random(seed), 8 + 2 * seed)
    assert 1 <= len(rig.ledger.snapshots()) <= 2
    quick, slow = Controllers(keepers()), Controllers(keepers())
    from_snapshot = restored(rig.ledger, Policy(), quick)
    from_events = replayed(rig.ledger, Policy(), slow.note)
    assert everything(from_snapshot) == everything(from_events)
    assert guard(quick) == guard(slow)
    at = from_events.state.progress.clock + 60_000
    again = cycle(from_snapshot.state, (), at).decisions
    assert again == cycle(from_events.state, (), at).decisions
    rig.ledger.close()


def guard(known: Controllers) -> object:
    memories = known.memories()
    assert memories is not None
    return plain(memories["nodes"])


@pytest.mark.parametrize("seed", range(10))
def test_a_copy_of_a_state_decides_as_it_would_have(seed: int) -> None:
    engine = walked(seed)
    mind = Mind(engine.state, Registry())
    state, original = copied(mind).state, copied(mind).state
    state.validate()
    assert seen(state, engine.now) == seen(engine.state, engine.now)
    for later in range(1, 4):
        at = engine.now + later * 60_000
        assert cycle(state, (), at).decisions == cycle(original, (), at).decisions
    assert seen(state, at) == seen(original, at)


def walked(seed: int) -> Engine:
    """An engine after steps of all sorts."""
    rng, engine = Random(seed), Engine()
    engine.begin(rng, rng.randint(1, 6))
    for _ in range(40):
        step, arguments = random_step(rng)
        getattr(engine, step)(rng=rng, **arguments)
    return engine


@pytest.mark.parametrize("seed", range(effort.examples(20)))
def test_a_state_made_of_its_document_is_the_same_state(seed: int) -> None:
    engine = walked(seed)
    mind = read(written_down(Mind(engine.state, Registry()), {})).mind(engine.state.config.plugins)
    mind.state.validate()
    assert seen(mind.state, engine.now) == seen(engine.state, engine.now)
    assert plain(mind.state.gangs.estimates.histories()) == plain(
        engine.state.gangs.estimates.histories()
    )
    again = read(written_down(mind, {})).mind(engine.state.config.plugins)
    assert seen(again.state, engine.now) == seen(engine.state, engine.now)


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE snapshots SET body = substr(body, 1, length(body) / 2)",
        "UPDATE snapshots SET body = zeroblob(100)",
        "UPDATE snapshots SET checksum = zeroblob(32)",
    ],
)
def test_a_snapshot_that_does_not_fit_is_left_out(rig: Rig, change: str) -> None:
    work(rig, Random(1), 10)
    assert rig.ledger.snapshots()
    with sqlite3.connect(rig.home.ledger) as raw:
        raw.execute(change)
    raw.close()
    from_events = replayed(rig.ledger, Policy())
    found = restored(rig.ledger, Policy(), Controllers(keepers()))
    rig.ledger.close()
    assert everything(found) == everything(from_events)


class Mean:
    """What a hostile snapshot would have run."""

    def __reduce__(self) -> Any:
        return os.system, ("touch /tmp/ganglion-was-here",)


HOSTILE = (
    *(b'{"Path":{"a":1}}', b'{"guard":{"__class__":1}}', b'{"list":[]}', b"{}", b'{"a":1,"b":2}'),
    *(b'{"GangPlaced":{"gang":1}}', b'{"trail":{"placement":3,"nonsense":[]}}', b"[" * 9_000),
    pickle.dumps((Mean(), None, {})),
)


@pytest.mark.parametrize("body", HOSTILE, ids=range(len(HOSTILE)))
def test_nothing_but_known_values_is_ever_made_of_a_snapshot(body: bytes) -> None:
    with pytest.raises(Unusable):
        read(zlib.compress(body)).mind(ClusterState().config.plugins)


def test_a_policy_that_came_after_a_snapshot_holds(rig: Rig) -> None:
    work(rig, Random(2), 10)
    rig.ledger.append(Batch(9, [PolicySet(9, replace(Policy(), strict=True), 1)]))
    found = restored(rig.ledger, Policy(), Controllers(keepers()))
    assert found.state.config.policy.strict
    assert everything(found) == everything(replayed(rig.ledger, Policy()))
    rig.ledger.close()


def test_after_an_upgrade_the_first_turn_writes_a_snapshot(rig: Rig) -> None:
    work(rig, Random(3), 10)
    rig.ledger.close()
    with sqlite3.connect(rig.home.ledger) as raw:
        raw.execute("UPDATE snapshots SET version = 'of last year'")
    raw.close()
    rig.start()
    rig.turn()
    assert rig.ledger.snapshots()[0].version == __version__
    rig.ledger.close()
