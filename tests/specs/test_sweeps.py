"""Sweeps as people write them, and what is said to those who write them wrongly."""

import pytest

from ganglion.model.errors import FieldError
from ganglion.model.workload import Kind, Workload
from ganglion.specs.workload.workload import from_document, parse_workloads, to_workload


def workload(text: str) -> Workload:
    (doc,) = parse_workloads(text)
    return to_workload(doc, user="ada", default_queue="default")


def test_an_array_says_how_many_and_how_many_at_once() -> None:
    found = workload("run: x\narray: 0-99%8")
    assert found.kind is Kind.SWEEP
    assert found.params == {"index": tuple(map(str, range(100)))}
    assert found.parallel == 8


@pytest.mark.parametrize(
    ("text", "tasks", "parallel"),
    [
        ("3-5", "345", 0),
        ("1,3,5-7%2", "13567", 2),
        ("0-8:4", "048", 0),
        ("7%1", "7", 1),
    ],
)
def test_arrays_are_those_of_slurm(text: str, tasks: str, parallel: int) -> None:
    found = workload(f"run: x\narray: {text}")
    assert ("".join(found.params["index"]), found.parallel) == (tasks, parallel)


def test_a_search_may_draw_from_more_than_could_be_tried() -> None:
    params = ", ".join(f"p{n}: 0..99" for n in range(6))
    found = workload(f"run: x\nparams: {{{params}}}\nsearch: {{trials: 1000}}")
    assert found.search is not None and found.search.trials == 1000


@pytest.mark.parametrize(
    ("text", "key", "problem", "hint"),
    [
        ("array: 9-0%4", "array", "runs backwards", "`0-9%4`"),
        ("array: 0-9:0", "array", "goes on by nothing", "0-20:5"),
        ("array: 0-999999%4", "array", "more than 100,000 tasks", ""),
        ("array: 0-9%0", "array", "too small", ""),
        ("array: 0-9%4\nparallel: 2", "parallel", "says the same as `%`", "keep one"),
        ("params: {a: 9..0}", "params.a", "runs backwards", "`0..9`"),
        ("params: {a: 0..999999}", "params.a", "more than 100,000 values", ""),
        ("params: {a: 0..999, b: 0..999}", "params", "more than 100,000", "search: {trials: 1000}"),
        ("params: {a: 0..3}\nsearch: {trials: 5}", "search.trials", "4 combinations", "write 4"),
        ("params: {a: 0..3}\nsearch: {trials: 0}", "search.trials", "too small", ""),
        ("params: {a: 0..3}\nparallel: 5..2", "parallel", "runs backwards", "`2..5`"),
        ("params: {a: 0..3}\nparallel: 1..2\npreemptible: false", "parallel", "may stop", "one"),
        ("params: {a: 0..3}\nearly_stop: {metric: m, factor: 1}", "early_stop.factor", "", ""),
        ("trials: []", "trials", "at least one trial", ""),
        ("trials: [{a: 1}, {b: 1}]", "trials[1]", "other parameters", ""),
        ("trials: [{a: 1}]\nparams: {a: 1}", "trials", "cannot stand beside", "keep one"),
        ("kind: sweep", "kind", "needs `params`", ""),
    ],
)
def test_what_is_wrong_is_said_with_its_key(text: str, key: str, problem: str, hint: str) -> None:
    with pytest.raises(FieldError) as caught:
        workload(f"run: x\n{text}")
    assert caught.value.key == key
    assert problem in caught.value.problem
    assert hint in caught.value.hint


def test_a_list_of_a_million_trials_is_refused_before_it_is_looked_at() -> None:
    with pytest.raises(FieldError, match="holds 1,000,000 trials; most are 100,000"):
        from_document({"run": "x", "trials": [0] * 1_000_000})
