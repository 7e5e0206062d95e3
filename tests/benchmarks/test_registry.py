"""Benchmarks are found by name, and unknown names are answered with the known ones."""

import subprocess
import sys

import pytest

from benchmarks import registry
from benchmarks.registry import BENCHES, check_policies, load
from ganglion.model.errors import FieldError, NotFound


@pytest.mark.parametrize("name", ["jct-itp", "jct-muri"])
def test_a_benchmark_calls_itself_what_it_is_registered_as(name: str) -> None:
    assert load(name).name == name
    assert load(name).help.endswith(".")


def test_an_unknown_benchmark_is_answered_with_those_there_are() -> None:
    with pytest.raises(NotFound, match="no benchmark 'nope'") as caught:
        load("nope")
    assert all(name in caught.value.hint for name in BENCHES)


def test_an_unknown_policy_is_answered_with_those_there_are() -> None:
    with pytest.raises(FieldError, match="jct-muri has no policy 'lifo'") as caught:
        check_policies(load("jct-muri"), ("lifo",))
    assert "srsf" in caught.value.hint


def test_policies_named_twice_run_once() -> None:
    assert check_policies(load("jct-muri"), ("srsf", "fifo", "srsf")) == ("srsf", "fifo")


def test_the_registry_imports_no_benchmark() -> None:
    code = f"import sys, {registry.__name__}; print([m for m in sys.modules if 'jct' in m])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert done.stdout.strip() == "[]"
