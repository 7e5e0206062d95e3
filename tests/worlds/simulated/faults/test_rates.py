"""Faults as text, and the dice."""

import pytest
from msgspec import structs

from ganglion.model.errors import FieldError
from ganglion.worlds.simulated.faults.rates import PRESETS, Dice, Faults, parse_faults


def test_a_preset_can_be_named_and_changed() -> None:
    faults = parse_faults("heavy,mtbf=30d, fail=1%,window=2s", seed=7)
    assert faults == structs.replace(
        PRESETS["heavy"], seed=7, node_mtbf_ms=30 * 86_400_000, start_failure=0.01, window_ms=2_000
    )


def test_nothing_goes_wrong_by_default() -> None:
    assert parse_faults("none", 1) == Faults(seed=1)
    assert parse_faults("", 1) == Faults(seed=1)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("lots", "unknown fault 'lots'"),
        ("mtbf", "unknown fault 'mtbf'"),
        ("mtbf=30d,heavy", "unknown fault 'heavy'"),
        ("mtbf=soon", "--faults mtbf"),
        ("fail=140%", "not a probability"),
        ("lost=-1", "not a probability"),
        ("fail=100%", "ever start"),
    ],
)
def test_what_cannot_be_meant_is_refused(text: str, said: str) -> None:
    with pytest.raises(FieldError) as caught:
        parse_faults(text, 1)
    assert said in f"{caught.value.message} {caught.value.hint}"


def test_switching_one_fault_on_does_not_move_the_others() -> None:
    quiet = Dice(Faults(seed=3, node_mtbf_ms=1_000))
    noisy = Dice(Faults(seed=3, node_mtbf_ms=1_000, start_failure=0.5, lost=0.5))
    calm = [quiet.node_up_ms("n1") for _ in range(20)]
    mixed = []
    for _ in range(20):
        noisy.start_fails()
        noisy.is_lost()
        mixed.append(noisy.node_up_ms("n1"))
    assert calm == mixed


def test_the_next_reconcile_is_always_ahead() -> None:
    dice = Dice(Faults(reconcile_ms=60_000))
    assert [dice.reconcile_delay_ms(now) for now in (0, 1, 59_999, 60_000)] == [
        60_000,
        59_999,
        1,
        60_000,
    ]
