import pytest
from hypothesis import given
from hypothesis import strategies as st

from ganglion.model.errors import FieldError, InputError
from ganglion.specs.grammar import parse_cpus, parse_memory, print_cpus, print_memory


@pytest.mark.parametrize(
    ("value", "milli"),
    [(64, 64_000), ("64", 64_000), (0.5, 500), ("500m", 500), ("32+", 32_000), ("8.0", 8_000)],
)
def test_cpus_are_read_into_thousandths(value: object, milli: int) -> None:
    assert parse_cpus(value) == milli


@pytest.mark.parametrize(
    ("value", "mib"),
    [
        ("64Gi", 65_536),
        ("64GiB", 65_536),
        ("800GB", 762_940),
        ("80gb", 76_294),
        ("1TiB", 1 << 20),
        ("1.5G", 1_431),
        ("32GB+", 30_518),
        ("1Mi", 1),
        ("1K", 1),
        (0, 0),
    ],
)
def test_memory_is_read_into_mib_rounded_up(value: object, mib: int) -> None:
    assert parse_memory(value) == mib


@pytest.mark.parametrize("value", [-4, "x", "1.0005", True, [1], None, 10**20, "1e3", float("inf")])
def test_what_is_no_number_of_cores_is_refused(value: object) -> None:
    with pytest.raises(FieldError):
        parse_cpus(value)


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (64, "no unit"),
        ("64", "no unit"),
        ("500m", "not an amount"),
        ("-4GB", "negative"),
        ("1000000000EB", "more memory than"),
        (True, "not an amount"),
        (None, "expected text"),
        ({}, "expected text"),
    ],
)
def test_what_is_no_memory_is_refused(value: object, problem: str) -> None:
    with pytest.raises(FieldError, match=problem) as caught:
        parse_memory(value)
    assert "64GB" in caught.value.hint or problem == "more memory than"


@given(st.integers(0, 1 << 40))
def test_printed_memory_parses_back_to_the_same(mib: int) -> None:
    assert parse_memory(print_memory(mib)) == mib


@given(st.integers(0, 100_000_000))
def test_printed_cpus_parse_back_to_the_same(milli: int) -> None:
    assert parse_cpus(print_cpus(milli)) == milli


@given(st.text(max_size=12) | st.text("0123456789.kKMGTiB+m- ", max_size=12))
def test_nothing_but_an_input_error_ever_comes_out(text: str) -> None:
    for parse in (parse_cpus, parse_memory):
        try:
            assert parse(text) >= 0
        except InputError:
            continue
