"""Policies by name."""

import pytest

from ganglion.model.errors import FieldError, FileError
from ganglion.model.policy import Backfill, Entitlement, Policy, VictimOrder
from ganglion.model.queue import Preemption, Victims
from ganglion.specs.policy.policy import parse_policy, resolve_policy
from ganglion.specs.policy.presets import PRESETS, is_preset, preset


def test_the_default_preset_is_the_default_policy() -> None:
    assert preset("default") == Policy() == parse_policy("preset: default").policy


def test_kueue_preempts_nobody_unless_told_and_moves_nothing() -> None:
    found = preset("kueue")
    assert found.entitlement is Entitlement.QUOTA
    assert found.heads_only
    assert (found.evict.move, found.repack.consolidate, found.repack.empty_nodes) == (False,) * 3
    assert found.evict.victims is VictimOrder.NEWEST
    assert found.future.backfill is Backfill.ANY
    rules = found.preemption
    assert {rules.preempt, rules.reclaim, rules.borrowing} == {Victims.NEVER}


def test_kai_reclaims_by_fair_share_and_consolidates() -> None:
    found = preset("kai")
    assert found.entitlement is Entitlement.KAI
    assert found.preemption == Preemption(Victims.LOWER, Victims.ANY, Victims.ANY)
    assert (found.repack.consolidate, found.evict.move, found.elastic) == (True, True, True)


def test_slurm_like_reserves_for_several_and_forgets_use_in_a_week() -> None:
    found = preset("slurm-like")
    assert found.future.backfill is Backfill.EASY
    assert found.future.reservations > 1
    assert found.future.ageing_ms
    assert found.usage.half_life_ms == 7 * 86_400_000
    assert found.preemption.preempt is Victims.NEVER


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_may_be_named_in_any_case(name: str) -> None:
    assert is_preset(name.upper().replace("-", "_"))
    assert resolve_policy(name.upper()).policy == preset(name)


def test_what_is_no_preset_says_what_was_meant() -> None:
    with pytest.raises(FieldError, match="no preset `kuue`") as caught:
        preset("kuue")
    assert "`kueue`" in caught.value.hint
    with pytest.raises(FileError, match="neither a preset nor a file"):
        resolve_policy("kuue")
    with pytest.raises(FileError, match="there is no file"):
        resolve_policy("./kuue.yaml")
