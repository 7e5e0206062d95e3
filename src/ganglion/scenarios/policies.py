"""The policy that scenarios run under: a preset by name, or a file."""

from pathlib import Path

from msgspec.structs import replace

from ganglion.files.cluster import load_cluster
from ganglion.files.wording import listed
from ganglion.model.errors import NotFound
from ganglion.model.policy import (
    Backfill,
    Entitlement,
    Evict,
    Future,
    Policy,
    Repack,
    VictimOrder,
)
from ganglion.model.queue import Preemption, Victims

DEFAULT = Policy()

PRESETS = {
    "default": DEFAULT,
    "kai": replace(
        DEFAULT,
        entitlement=Entitlement.KAI,
        preemption=Preemption(preempt=Victims.LOWER, reclaim=Victims.ANY),
        evict=Evict(victims=VictimOrder.PRICE),
        future=Future(backfill=Backfill.ANY),
    ),
    "kueue": replace(
        DEFAULT,
        heads_only=True,
        entitlement=Entitlement.QUOTA,
        preemption=Preemption(preempt=Victims.NEVER, reclaim=Victims.NEVER),
        evict=Evict(victims=VictimOrder.NEWEST, move=False),
        future=Future(backfill=Backfill.ANY),
        repack=Repack(consolidate=False),
        elastic=False,
    ),
}


def policy_of(name: str) -> Policy:
    """The preset of that name, or the policy of a cluster file.

    Raises:
        NotFound: it is neither.
        FileError, FieldError: the file is wrong.
    """
    if name in PRESETS:
        return PRESETS[name]
    if not Path(name).exists():
        raise NotFound(
            f"there is no policy {name}", f"give {listed(PRESETS)}, or the path of a file"
        )
    return load_cluster(name).policy
