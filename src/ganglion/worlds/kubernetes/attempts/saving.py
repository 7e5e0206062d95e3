"""What gangs have saved, as their pods say it, and what they lose when they are stopped."""

from collections.abc import Iterator

from ganglion.lifecycle.losses import AttemptSpan, measured
from ganglion.model.errors import FieldError
from ganglion.model.events import CheckpointCommitted, GangEnded
from ganglion.model.plan import SavePoint
from ganglion.worlds.kubernetes.cluster_view.attempt import Attempt, AttemptStage
from ganglion.worlds.kubernetes.controller_state.controller_state import ControllerState
from ganglion.worlds.kubernetes.types.meta import Meta
from ganglion.worlds.kubernetes.workload_discovery.annotations import Said
from ganglion.worlds.kubernetes.workload_discovery.found import FoundGang


def commit(scene: ControllerState, attempt: Attempt, found: FoundGang | None, now: int) -> None:
    """Read the last checkpoint that the pods of an attempt, or their owner, wrote down."""
    record = scene.record(attempt.gang)
    if not attempt.running or record is None or not record.started:
        return
    known = [found.saved] if found else []
    if attempt.stage is AttemptStage.LEAVING:
        # Pods that are being stopped belong to no gang any more, but may save until they end.
        known += [_said(each) for each in _leaving(scene, attempt)]
    saved = max((each for each in known if each), key=lambda each: each.at, default=None)
    if saved is None:
        return
    at = min(saved.at, now)
    if at > max(record.committed_at, record.started):
        number = attempt.number
        scene.facts.apply(CheckpointCommitted(at, attempt.gang, number, saved.step, saved.path))


def with_loss(scene: ControllerState, attempt: Attempt, ended: GangEnded) -> GangEnded:
    """The end of an attempt, with the work that was thrown away."""
    record = scene.record(attempt.gang)
    if record is None:
        return ended
    told = attempt.since if attempt.stage is AttemptStage.LEAVING else 0
    span = AttemptSpan(record.started, record.committed_at, told, record.placement)
    return measured(ended, span, record.gang.checkpoint)


def _leaving(scene: ControllerState, attempt: Attempt) -> Iterator[Meta]:
    site = scene.sites[attempt.cluster]
    yield from (site.pods[uid].metadata for uid in attempt.pods.values() if uid in site.pods)
    owner = site.owners.get(attempt.owner.uid) if attempt.owner else None
    if owner:
        yield owner.metadata


def _said(meta: Meta) -> SavePoint | None:
    try:
        return Said((meta,)).saved()
    except FieldError:
        return None  # what was understood before holds
