"""Checkpoints that earlier versions wrote are read by this one.

A file is never written again. Where a new format, or a new kind of thing, comes into checkpoints,
add files beside the old ones: `python -m tests.server.recovery.test_checkpoints NAME` writes two.
"""

import sys
import tempfile
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest
from msgspec.structs import asdict

from ganglion.engine.cycle import cycle
from ganglion.engine.plugins.builtin import builtin_plugins
from ganglion.lifecycle.sweeps.elastic_width import ElasticWidth
from ganglion.lifecycle.sweeps.reconciler import Sweep
from ganglion.model.causes import sentence
from ganglion.model.events import ServerStarted
from ganglion.model.policy import Policy
from ganglion.server.controllers.controller import Controllers
from ganglion.server.controllers.failures import FailuresController
from ganglion.server.controllers.sweeps import SweepsController
from ganglion.server.recovery import documents
from ganglion.server.recovery.checkpoint import FORMAT, read, written
from ganglion.server.recovery.recover import replayed
from ganglion.server.state.registry import Registry
from ganglion.server.state.transaction import Mind
from tests.server.conftest import Rig
from tests.server.recovery.test_checkpoint_snapshots import keepers, walked, work

FOLDER = Path(__file__).parents[1] / "checkpoints"
FILES = sorted(FOLDER.glob("*.checkpoint"))


def summary(mind: Mind) -> dict[str, Any]:
    """What a person would compare, in values that JSON has."""
    state, book = mind.state, mind.book
    held = {
        gang: [str(record.phase), record.attempt, record.placement]
        for gang, record in state.gangs.records.items()
    }
    found = {
        "gangs": held,
        "nodes": {name: node.cordoned for name, node in state.fleet.nodes.items()},
        "usage": {name: list(usage.items()) for name, usage in state.queues.shares.usage.items()},
        "reservations": [each.record.gang.id for each in state.timeline.future.reservations()],
        "kept": [each.record.gang.id for each in state.timeline.kept],
        "histories": len(state.gangs.estimates.histories()),
        "bands": state.forecast.bands.coverage(),
        "attempts": {
            gang: [str(each.outcome), each.restarts] for gang, each in book.trails.items()
        },
        "spent": {name: each.gpu_ms for name, each in book.spending.of.items()},
    }
    if book.meter.since is not None:
        later = book.meter.now + 60_000
        usage = [asdict(each) for each in book.meter.open_usage(later)]
        for each in usage:
            del each["devices"], each["ahead_of"]  # which later versions added
        found["metered"] = [*usage, *book.meter.open_supply(later)]
    return dict(msgspec.json.decode(msgspec.json.encode(found)))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_checkpoint_of_an_earlier_version_is_read_and_decided_on(file: Path) -> None:
    found = read(file.read_bytes())
    mind = found.mind(builtin_plugins(found.parts["state"]["policy"]))
    mind.state.validate()
    assert summary(mind) == msgspec.json.decode(file.with_suffix(".json").read_bytes())
    known = Controllers([FailuresController(), SweepsController()])
    known.recall(found.memories)
    cycle(mind.state, (), mind.state.progress.clock + 60_000)
    mind.state.validate()
    assert written(mind, known.memories() or {})


def test_sentences_of_an_earlier_checkpoint_are_causes_that_read_as_they_did() -> None:
    found = read((FOLDER / "1-causes.checkpoint").read_bytes())
    mind = found.mind(builtin_plugins(found.parts["state"]["policy"]))
    records = mind.state.gangs.records.values()
    said = {sentence(cause) for each in records for cause in (each.cause, each.held_for)}
    assert {"preempted for b-1/0", "suspended by ada", "waits for approval"} <= said
    assert [sentence(each.cause) for each in mind.book.policies] == [
        *("applied", "started with the server", "rolled back to 1")
    ]
    (sweep,) = found.memories["sweeps"][0].values()
    assert sweep.given_up == {"stop-19/0": mind.state.gangs.records["stop-19/0"].cause}


def test_a_field_that_was_renamed_is_read_and_written_by_its_former_name() -> None:
    elastic = ElasticWidth.found(own=[0], running=[3], waiting=[2, 1])
    body = documents.document(Sweep(live=4, elastic=elastic))
    ((_, fields),) = msgspec.json.decode(body).items()
    assert fields["breath"] == msgspec.json.decode(documents.document(elastic))
    assert "elastic" not in fields
    assert documents.value_of(body).elastic == elastic


def test_there_are_checkpoints_of_every_format() -> None:
    assert {file.stem.partition(".")[0] for file in FILES} >= {
        f"{number}-{kind}" for number in range(1, FORMAT + 1) for kind in ("engine", "server")
    }


@pytest.mark.parametrize("name", sorted(documents.BARE))
def test_what_cannot_be_made_without_arguments_is_in_a_checkpoint(name: str) -> None:
    bodies = (file.read_bytes() for file in FILES)
    assert any(name in _kinds(read(body).memories) for body in bodies)


def _kinds(memories: dict[str, Any]) -> str:
    return documents.document(memories).decode()


def main(name: str) -> None:
    """Write two checkpoints of this version."""
    state = walked(7).state
    with tempfile.TemporaryDirectory() as folder:
        rig = Rig(Path(folder) / "home", keepers)
        rig.do(lambda draft: draft.record(ServerStarted(draft.now, "", metered=True)))
        work(rig, Random(4), 40)
        known = Controllers(keepers())
        mind = replayed(rig.ledger, Policy(), known.note)
        rig.ledger.close()
    made = {"engine": (Mind(state, Registry()), {}), "server": (mind, known.memories() or {})}
    for kind, (each, memories) in made.items():
        path = FOLDER / f"{name}-{kind}.checkpoint"
        path.write_bytes(written(each, memories))
        path.with_suffix(".json").write_bytes(msgspec.json.encode(summary(each)) + b"\n")


if __name__ == "__main__":
    main(sys.argv[1])
