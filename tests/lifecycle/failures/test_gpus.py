import pytest

from ganglion.lifecycle.failures.gpus import PROGRAMS_OWN, WORDS, DriverReading, GpuCondition, judge

SETTLE = 600_000


def seen(*readings: DriverReading, step: int = 1000) -> GpuCondition:
    found = GpuCondition()
    for number, reading in enumerate(readings, 1):
        found = judge(reading, found, number * step, SETTLE)
    return found


@pytest.mark.parametrize("xid", sorted(PROGRAMS_OWN))
def test_errors_of_programs_make_no_gpu_sick(xid: int) -> None:
    assert not seen(DriverReading(xids=(xid,))).sick


@pytest.mark.parametrize("xid", sorted(WORDS))
def test_errors_of_the_hardware_do(xid: int) -> None:
    assert seen(DriverReading(xids=(13, xid))).sick == f"Xid {xid}: {WORDS[xid]}"


def test_a_gpu_that_does_not_answer_is_sick() -> None:
    assert seen(DriverReading(present=False)).sick == "it does not answer"


def test_new_uncorrectable_errors_count_and_old_ones_do_not() -> None:
    assert seen(DriverReading(uncorrected=2)).sick == "2 uncorrectable memory errors"
    later = judge(DriverReading(uncorrected=2), GpuCondition("", 2, 0), 5, SETTLE)
    assert not later.sick


def test_a_row_that_cannot_be_replaced_keeps_a_gpu_sick_for_as_long_as_that_is_so() -> None:
    broken = DriverReading(remap_failed=True)
    assert seen(broken, broken, broken, step=SETTLE).sick


def test_who_was_sick_is_well_once_nothing_was_wrong_for_a_while() -> None:
    sick = seen(DriverReading(xids=(79,)))
    assert judge(DriverReading(), sick, 1000 + SETTLE - 1, SETTLE).sick
    assert not judge(DriverReading(), sick, 1000 + SETTLE, SETTLE).sick
