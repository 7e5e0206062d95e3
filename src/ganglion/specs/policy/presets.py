"""Policies by name: what a policy file starts from, and stand-ins for other schedulers.

`kueue`, `kai` and `slurm-like` decide as those do by their own defaults, as far as their
documentation and code say; docs/policies/presets.md lists each knob beside its name there.
"""

from collections.abc import Callable

from ganglion.model.errors import FieldError
from ganglion.model.kinds import Weighted
from ganglion.model.policy import (
    Backfill,
    Entitlement,
    EvictionRules,
    Future,
    Order,
    Placing,
    Policy,
    Repack,
    UsageDecay,
    VictimOrder,
)
from ganglion.model.queue import Preemption, Victims
from ganglion.specs.grammar.scalars import parse_text
from ganglion.specs.wording import listed, meant, show

DAY = 86_400_000
NOBODY = Preemption(preempt=Victims.NEVER, reclaim=Victims.NEVER, borrowing=Victims.NEVER)


def kueue() -> Policy:
    """As Kueue in its classic mode: least borrowing first, one gang per queue and cycle.

    No gang is preempted unless a queue allows it; gangs that run are never moved.
    """
    return Policy(
        order=Order.FIFO,
        heads_only=True,
        placement=Placing.TIGHT,
        entitlement=Entitlement.QUOTA,
        preemption=NOBODY,
        evict=EvictionRules(victims=VictimOrder.NEWEST, move=False),
        future=Future(
            backfill=Backfill.ANY,
            reservations=0,
            learn=False,
            ageing_ms=0,
            patience_permille=0,
        ),
        repack=Repack(consolidate=False),
        elastic=False,
        repair=True,
        timeshare=False,
    )


def kai() -> Policy:
    """As KAI-Scheduler: fair shares with over-quota weights, reclaim up to the fair share."""
    return Policy(
        scores=(Weighted("binpack"),),
        entitlement=Entitlement.KAI,
        preemption=Preemption(Victims.LOWER, Victims.ANY, borrowing=Victims.ANY),
        future=Future(learn=False, ageing_ms=0, patience_permille=0),
        repack=Repack(consolidate=True),
        timeshare=False,
    )


def slurm_like() -> Policy:
    """As Slurm with backfill and priority/multifactor: first come, first served by priority.

    No gang is preempted unless a queue allows it.
    """
    return Policy(
        order=Order.FIFO,
        preemption=NOBODY,
        evict=EvictionRules(victims=VictimOrder.NEWEST, move=False),
        future=Future(
            backfill=Backfill.EASY,
            reservations=8,
            learn=False,
            ageing_ms=DAY,
            patience_permille=0,
            starving_permille=3000,
        ),
        repack=Repack(consolidate=False),
        usage=UsageDecay(half_life_ms=7 * DAY),
        elastic=False,
        timeshare=False,
    )


PRESETS: dict[str, Callable[[], Policy]] = {
    "default": Policy,
    "kueue": kueue,
    "kai": kai,
    "slurm-like": slurm_like,
}
"""Preset by name."""


def is_preset(text: str) -> bool:
    """Whether a text names a preset."""
    return _plain(text) in PRESETS


def preset(name: object) -> Policy:
    """The policy of that name. Raises FieldError."""
    return PRESETS[preset_name(name)]()


def preset_name(name: object) -> str:
    """The name as we spell it; case and underscores do not matter. Raises FieldError."""
    plain = _plain(parse_text(name))
    if plain not in PRESETS:
        hint = meant(plain, [*PRESETS]) or f"presets are {listed(PRESETS)}"
        raise FieldError(f"there is no preset {show(name)}", hint=hint)
    return plain


def _plain(name: object) -> str:
    return str(name).strip().lower().replace("_", "-")
