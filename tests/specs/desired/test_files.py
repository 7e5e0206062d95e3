"""Files of a fleet: everything that is wrong is said at once, and what is written comes back."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ganglion.cli.queues.apply import paths_of
from ganglion.model.errors import FieldError, FileError
from ganglion.specs.desired.export import export
from ganglion.specs.desired.files import DesiredFiles, read_files
from ganglion.specs.desired.items import (
    ItemKind,
    PresentFleet,
    PriceKey,
    policy_item,
    price_item,
    value_at,
)
from ganglion.specs.desired.objects import DesiredFleet, desired
from ganglion.specs.desired.plan import FleetAction, FleetStep, plan, price_writes
from ganglion.specs.grammar.money import print_money
from ganglion.specs.grammar.times.instants import print_instant
from ganglion.specs.policy.policy import parse_policy
from ganglion.specs.policy.printing import policy_document, yaml_text

BUILT_IN = policy_item(policy_document(parse_policy("preset: default").policy))


def read(folder: Path, **texts: str) -> DesiredFiles:
    folder.mkdir(exist_ok=True)
    for name, text in texts.items():
        (folder / f"{name}.yaml").write_text(text)
    return read_files(paths_of([str(folder)]))


def understood(folder: Path, present: PresentFleet, **texts: str) -> DesiredFleet:
    return desired(read(folder, **texts), present)


def wrong(
    folder: Path, present: PresentFleet | None = None, **texts: str
) -> list[tuple[str, str, str]]:
    """File, key and problem of all that is wrong."""
    with pytest.raises(FieldError) as found:
        desired(read(folder, **texts), present or PresentFleet())
    return [(Path(each.file).name, each.key, each.problem) for each in found.value.errors]


def test_all_errors_of_all_files_come_at_once_with_file_key_and_value(tmp_path: Path) -> None:
    found = wrong(
        tmp_path,
        a="order: sideways\nqueues: [{name: x, quota: {H100: many}}, {name: y, parent: nowhere}]",
        b="prices: [{flavor: H100, price: much, since: 2027-01-01}]\nbookings: []",
        c="roles: [{subject: eve, role: boss}, {subject: 'group: x', role: viewer}]",
        d="budgets: [{queue: gone, amount: 5}, {queue: x, amount: 5, zone: Mars/Base}]",
    )
    assert [(file, key) for file, key, _ in found] == [
        ("a.yaml", "order"),
        ("a.yaml", "queues[0].quota.H100"),
        ("a.yaml", "queues[1].parent"),
        ("b.yaml", "prices[0].price"),
        ("b.yaml", "bookings"),
        ("c.yaml", "roles[0].role"),
        ("c.yaml", "roles[1].subject"),
        ("d.yaml", "budgets[0].queue"),
        ("d.yaml", "budgets[1].zone"),
    ]
    said = " ".join(problem for _, _, problem in found)
    for value in ("sideways", "many", "nowhere", "much", "boss", "gone", "Mars/Base"):
        assert value in said


def test_what_is_named_twice_in_two_files_is_refused_with_both_places(tmp_path: Path) -> None:
    found = wrong(
        tmp_path,
        a="order: fifo\nqueues: [{name: x}]\nbudgets: [{queue: x, amount: 5}]",
        b="order: fair\nqueues: [{name: x}]\nbudgets: [{queue: x, amount: 6}]",
        c="prices: [{flavor: A, price: 1, since: 2027-01-01}]",
        d="prices: [{flavor: A, price: 2, since: 2027-01-01}]",
    )
    assert [(file, key) for file, key, _ in found] == [
        ("b.yaml", "order"),
        ("b.yaml", "queues[0].name"),
        ("b.yaml", "budgets[0]"),
        ("d.yaml", "prices[0]"),
    ]
    assert "a.yaml:3" in found[2][2]


def test_a_workload_file_and_an_empty_folder_are_named(tmp_path: Path) -> None:
    (((file, _, problem),)) = (wrong(tmp_path, job="run: python train.py\ngpus: 1"),)[0]
    assert (file, "workload" in problem) == ("job.yaml", True)
    (tmp_path / "none").mkdir()
    with pytest.raises(FileError, match="no files"):
        paths_of([str(tmp_path / "none")])


def test_prices_that_contradict_one_another_are_wrong_before_anything_is_set(
    tmp_path: Path,
) -> None:
    dates = "since: 2027-01-01, flavor: A, price"
    problems = wrong(
        tmp_path,
        a=f"""
prices:
- {{{dates}: 1, hours: "09:00-11:00", currency: EUR, zone: Europe/Berlin}}
- {{{dates}: 1, hours: "10:00-12:00"}}
- {{{dates}: 1, hours: "13:00-14:00", zone: Asia/Kathmandu}}
- {{{dates}: 1, currency: JPY}}
- {{flavor: B, price: 1, since: 2027-01-02, hours: "10:00-12:00"}}
- {{flavor: B, price: none, since: 2027-01-02, hours: "09:00-11:00"}}
- {{flavor: B, price: 1, since: 2027-01-01, hours: "09:00-11:00"}}
""",
    )
    assert [(file, key) for file, key, _ in problems] == [
        ("a.yaml", "prices[1].hours"),
        ("a.yaml", "prices[2]"),
        ("a.yaml", "prices[3]"),
    ]


def test_queues_of_the_fleet_may_be_parents_and_a_quota_above_theirs_is_refused(
    tmp_path: Path,
) -> None:
    fleet = understood(tmp_path / "1", PresentFleet(), q="queues: [{name: org, quota: {H100: 4}}]")
    present = PresentFleet(fleet.items)
    below = "queues: [{name: team, parent: org, quota: {H100: %d}}]"
    made = understood(tmp_path / "2", present, q=below % 4)
    assert [each.name for each in made.items] == ["team"]
    (((_, key, problem),)) = (wrong(tmp_path / "3", present, q=below % 5),)[0]
    assert key == "queues[0].quota.H100"
    assert "above that of its parent" in problem


def test_only_sorts_that_files_list_are_pruned_and_never_what_holds_work(tmp_path: Path) -> None:
    there = understood(
        tmp_path / "1",
        PresentFleet(),
        all="queues: [{name: a}, {name: b}, {name: up}, {name: low, parent: up}]\n"
        "budgets: [{queue: a, amount: 1}]\n"
        "roles: [{subject: ann, role: admin}, {subject: eve, role: viewer}]",
    )
    present = PresentFleet(
        there.items, busy={"b": 2}, subjects=frozenset({"user:ann"}), now=1_800_000_000_000
    )
    wanted = understood(tmp_path / "2", present, all="queues: [{name: low, parent: up}]\nroles: []")
    steps = {
        (str(each.item.kind), each.item.name): (each.action, each.why)
        for each in plan(wanted, present, prune=True)
    }
    assert steps == {
        ("queue", "a"): (FleetAction.DELETE, ""),
        ("queue", "b"): (FleetAction.KEEP, "it holds 2 workloads"),
        ("queue", "up"): (FleetAction.KEEP, "files name queues below it"),
        ("role", "user:ann admin"): (FleetAction.KEEP, "it is your own grant"),
        ("role", "user:eve viewer"): (FleetAction.DELETE, ""),
    }
    assert {each.action for each in plan(wanted, present, prune=False)} == {FleetAction.KEEP}


NAMES = st.sampled_from(["a", "b", "c", "d", "e"])
MICRO = st.integers(0, 10**9)
MOMENTS = st.integers(0, 4 * 10**12)
HOURS = st.sampled_from(["", "08:00-20:00", "20:00-08:00"])


@st.composite
def fleets(draw: st.DrawFn) -> dict[str, Any]:
    """A document with settings, queues in a tree, prices, budgets and roles."""
    names = draw(st.lists(NAMES, unique=True, min_size=1))
    queues: list[dict[str, Any]] = []
    for at, name in enumerate(names):
        parent = draw(st.sampled_from(["", *names[:at]]))
        queue = {"name": name, "weight": draw(st.integers(0, 5))}
        queue |= {"parent": parent} if parent else {}
        if draw(st.booleans()):
            queue["limit"] = {"H100": draw(st.integers(0, 64)), "*": draw(st.integers(64, 99))}
        if draw(st.booleans()):
            queue["preemption"] = {"delay": f"{draw(st.integers(1, 90))}m"}
        if not parent:
            queue["quota"] = {"H100": {"gpus": draw(st.integers(0, 64)), "cpus": "2500m"}}
        queues.append(queue)
    keys = draw(st.lists(st.tuples(NAMES, HOURS, MOMENTS), unique=True, max_size=6))
    prices = [
        {"flavor": flavor, "price": _money(draw(MICRO)), "since": _instant(since)}
        | ({"hours": hours, "zone": "Europe/Berlin"} if hours else {})
        | {"currency": "EUR"}
        for flavor, hours, since in keys
    ]
    budgets = [
        {"queue": name, "amount": _money(draw(MICRO)), "carry_over": draw(st.booleans())}
        | {"warn": draw(st.lists(st.integers(1, 99), max_size=3))}
        | {"grace": f"{draw(st.integers(0, 5_000))}s"}
        for name in draw(st.lists(st.sampled_from(names), unique=True))
    ]
    roles = [
        {"subject": f"user:{who}", "role": role, "queue": where, "break_glass": draw(st.booleans())}
        for who, role, where in draw(
            st.lists(
                st.tuples(NAMES, st.sampled_from(["viewer", "owner"]), st.sampled_from(names)),
                unique=True,
            )
        )
    ]
    choices: list[dict[str, Any]] = [{"order": "fifo"}, {"preset": "kai"}, {"tries": 3}]
    settings = draw(st.sampled_from(choices))
    return {**settings, "queues": queues, "prices": prices, "budgets": budgets, "roles": roles}


def _money(micro: int) -> str:
    return print_money(micro)


def _instant(ms: int) -> str:
    return print_instant(ms)


@given(fleet=fleets())
def test_what_is_exported_and_read_again_gives_the_same_bytes(
    tmp_path_factory: pytest.TempPathFactory, fleet: dict[str, Any]
) -> None:
    folder = tmp_path_factory.mktemp("fleet")
    first = understood(folder / "1", PresentFleet((BUILT_IN,)), fleet=yaml_text(fleet))
    present = PresentFleet(first.items, currency="EUR", zone="Europe/Berlin")
    texts = export(present)
    files = {name.removesuffix(".yaml"): text for name, text in texts.items()}
    again = understood(folder / "2", present, **files)
    assert plan(again, present, prune=True) == []
    assert export(PresentFleet(again.items)) == texts


@given(
    before=st.lists(st.tuples(st.integers(0, 9), st.none() | st.integers(0, 3)), max_size=6),
    after=st.lists(st.tuples(st.integers(0, 9), st.none() | st.integers(0, 3)), min_size=1),
)
def test_prices_that_are_set_make_every_moment_cost_what_files_say(
    before: list[tuple[int, int | None]], after: list[tuple[int, int | None]]
) -> None:
    about = PriceKey("H100", currency="EUR")
    there, wanted = price_item(about, before), price_item(about, after)
    steps = dict(there.steps)
    steps |= dict(price_writes(FleetStep(FleetAction.CHANGE, wanted, before=there), 5))
    now = tuple(steps.items())
    assert [value_at(now, at) for at in range(11)] == [
        value_at(wanted.steps, at) for at in range(11)
    ]
    again = price_item(about, now)
    assert again.document == wanted.document
    assert list(price_writes(FleetStep(FleetAction.CHANGE, wanted, before=again), 5)) == []


def test_kinds_come_in_the_order_in_which_they_are_applied() -> None:
    assert [*ItemKind] == ["policy", "queue", "price", "budget", "role"]
