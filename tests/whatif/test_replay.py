"""Replays of a past: as it was, and with something changed."""

import pytest
from msgspec.structs import replace
from tests.whatif.samples import cycles_of, past_of
from tests.worlds.simulated.samples import S, job, scenario

from ganglion.api.whatif.report import WhatIfReport
from ganglion.model.errors import Conflict, NotFound
from ganglion.model.events import PriceSet, QueueSet
from ganglion.model.fleet.price import Price
from ganglion.model.policy import Order, Policy
from ganglion.model.queue import Queue
from ganglion.model.resources import Amount
from ganglion.whatif.changes import WhatIfChange
from ganglion.whatif.replay import answered
from ganglion.whatif.wishes import OtherNodes, OtherPrice, OtherQueue
from ganglion.worlds.simulated.attempt import Timing
from ganglion.worlds.simulated.scenario import SimulatedScenario

MICRO = 1_000_000


def line(count: int = 6, *, gpus: int = 8) -> SimulatedScenario:
    """Jobs of one node each on one node, one after the other, 100 s long, 10 s apart."""
    return scenario(*(job(f"j{n}", at=10 * n, gpus=gpus) for n in range(count)))


def ask(
    given: SimulatedScenario,
    change: WhatIfChange,
    since: int = 0,
    until: int = 1_000,
    prices: tuple[PriceSet, ...] = (),
) -> WhatIfReport:
    return answered(past_of(cycles_of(given), since, until, given, prices), change)


def waits(report: WhatIfReport, by: str = "all", name: str = "") -> tuple[int, int, int]:
    """Wait at p95 in s: past, replay and changed."""
    found = next(each for each in report.groups if (each.by, each.name) == (by, name))
    figure = found.figures["wait_p95_ms"]
    return figure.past // S, figure.replay // S, figure.changed // S


def test_a_past_under_its_own_policy_has_no_distance_where_its_world_was_the_simulated_one() -> (
    None
):
    report = ask(line(), WhatIfChange())
    assert waits(report) == (450, 450, 450)
    for group in report.groups:
        for name, figure in group.figures.items():
            assert (figure.bar, figure.visible) == (0, False), (group, name)
    assert not report.winners
    assert not report.losers


def test_a_past_that_begins_in_the_middle_goes_on_with_what_ran_and_waited() -> None:
    # at 150 s the second job has run for 50 s, and four wait
    report = ask(line(), WhatIfChange(), since=150)
    assert waits(report) == (450, 450, 450)
    (everything,) = (each for each in report.groups if each.by == "all")
    assert everything.jobs == 4


def test_another_node_halves_the_line_and_names_the_winners() -> None:
    report = ask(line(), WhatIfChange(nodes=(OtherNodes(1, "GPU", 8),)))
    assert waits(report) == (450, 450, 160)
    assert [each.workload for each in report.winners][:2] == ["j5", "j4"]
    assert not report.losers


def test_a_node_that_leaves_makes_losers_and_its_work_is_not_counted_as_lost() -> None:
    given = replace(line(), nodes=scenario(nodes=2).nodes)
    report = ask(given, WhatIfChange(nodes=(OtherNodes(-1, "GPU"),)), since=5)
    assert waits(report) == (160, 160, 450)
    assert not report.winners
    assert {each.workload for each in report.losers} == {"j2", "j3", "j4", "j5", "j1"}
    (everything,) = (each for each in report.groups if each.by == "all")
    assert everything.figures["lost_gpu_ms"].changed == 0


def test_nodes_that_joined_within_the_period_leave_and_are_copied_as_well() -> None:
    nodes = scenario(nodes=2, gpus=4).nodes
    given = replace(line(gpus=4), nodes=nodes)
    fewer = ask(given, WhatIfChange(nodes=(OtherNodes(-1, "GPU"),)))
    assert waits(fewer) == (160, 160, 450)
    copied = ask(given, WhatIfChange(nodes=(OtherNodes(1, "GPU"),)))
    given_three = ask(replace(given, nodes=scenario(nodes=3, gpus=4).nodes), WhatIfChange())
    assert waits(copied)[2] == waits(given_three)[0] < 160
    with pytest.raises(Conflict, match="there were 2"):
        ask(given, WhatIfChange(nodes=(OtherNodes(-3, "GPU"),)))


def test_another_policy_is_in_force_over_the_whole_period() -> None:
    jobs = [job("long", gpus=8, seconds=50), job("a", at=1, gpus=8, seconds=200)]
    jobs += [job(f"s{n}", at=2 + n, gpus=8, seconds=10) for n in range(3)]
    known = [replace(each, gang=replace(each.gang, expected_ms=each.duration_ms)) for each in jobs]
    given = replace(scenario(*known), policy=Policy(order=Order.FIFO, timeshare=False))
    shortest = Policy(order=Order.SHORTEST, timeshare=False)
    report = ask(given, WhatIfChange(policy=shortest))
    assert {each.workload for each in report.winners} == {"s0", "s1", "s2"}
    assert [each.workload for each in report.losers] == ["a"]


def test_a_queue_with_more_quota_goes_first() -> None:
    queues = (Queue("a", quota={"GPU": Amount(gpu_milli=8_000)}), Queue("b"))
    jobs = [job("first", gpus=8, queue="a")]
    jobs += [job(f"a{n}", at=1 + n, gpus=8, queue="a") for n in range(3)]
    jobs += [job(f"b{n}", at=5 + n, gpus=8, queue="b") for n in range(3)]
    given = replace(scenario(*jobs), queues=queues)
    amounts = {"a": 0, "b": 8_000}
    wishes = tuple(
        OtherQueue(name, {"GPU": Amount(gpu_milli=milli)}, {}) for name, milli in amounts.items()
    )
    report = ask(given, WhatIfChange(queue_wishes=wishes))
    before, after = waits(report, "queue", "b")[1:]
    assert after < before
    assert {each.queue for each in report.winners} == {"b"}
    assert {each.queue for each in report.losers} == {"a"}


def two_queues() -> SimulatedScenario:
    queues = (Queue("top"), Queue("a", parent="top"), Queue("b", parent="top"), Queue("c"))
    jobs = [job(f"{name}{n}", at=5 * n, gpus=8, queue=name) for n in range(3) for name in "abc"]
    return replace(scenario(*jobs), queues=queues)


def test_of_queues_that_are_not_the_askers_there_are_sums_alone() -> None:
    given, weight = two_queues(), WhatIfChange(queue_rules=(Queue("b", "top", priority=500),))
    past = past_of(cycles_of(given), 0, 1_000, given)
    own = answered(past, weight, own={"top", "a"})
    assert {each.queue for each in (*own.winners, *own.losers)} <= {"a"}
    (others,) = (each for each in own.groups if each.by == "others")
    assert (others.name, others.jobs) == ("", 6)
    past = past_of(cycles_of(given), 0, 1_000, given)
    every = answered(past, weight)
    assert not [each for each in every.groups if each.by == "others"]
    moved = [each.queue for each in every.winners], [each.queue for each in every.losers]
    assert [len([q for q in each if q != "a"]) for each in moved] == [
        own.others_shorter,
        own.others_longer,
    ]
    assert own.others_shorter + own.others_longer > 0
    held = sum(e.figures["held_gpu_ms"].past for e in every.groups if e.name in ("b", "c"))
    assert others.figures["held_gpu_ms"].past == held


def test_all_rules_of_a_queue_hold_from_the_begin() -> None:
    def change(*rules: Queue) -> WhatIfChange:
        return WhatIfChange(queue_rules=rules)

    given = line()
    closed = Queue("q", limit={"*": Amount(gpu_milli=0)})
    (everything,) = (each for each in ask(given, change(closed)).groups if each.by == "all")
    assert everything.waiting == 6
    with pytest.raises(Conflict, match="queue q, which would have a queue below"):
        ask(given, change(Queue("below", parent="q")))
    with pytest.raises(NotFound, match="there was no queue nowhere"):
        ask(given, change(Queue("new", parent="nowhere")))
    assert waits(ask(given, change(Queue("new"), Queue("under", parent="new")))) == (450, 450, 450)


def test_a_queue_that_is_set_later_keeps_the_wish() -> None:
    bare = QueueSet(100 * S, Queue("q", priority=7))
    given = replace(line(), facts=(bare,), begin_ms=0)
    past = past_of(cycles_of(given), 0, 1_000, given)
    assert bare in past.scenario.facts
    report = answered(
        past, WhatIfChange(queue_wishes=(OtherQueue("q", {}, {"*": Amount(gpu_milli=0)}),))
    )
    assert [each.name for each in report.groups if each.by == "queue"] == ["q"]
    (everything,) = (each for each in report.groups if each.by == "all")
    assert everything.waiting == 6


def test_a_job_that_was_not_submitted_starts_in_its_turn_and_delays_others() -> None:
    extra = replace(job("extra", at=15, gpus=8).gang, name="extra", time_limit_ms=100 * S)
    report = ask(line(), WhatIfChange(gangs=(extra,)))
    (start,) = report.starts
    # its limit is known, so that it goes before those that may run for long
    assert (start.submitted, start.started) == (15 * S, 100 * S)
    assert {each.workload for each in report.losers} == {"j1", "j2", "j3", "j4", "j5"}


def test_a_job_that_would_never_start_says_why() -> None:
    extra = job("huge", at=15, gpus=8, pods=2).gang
    (start,) = ask(line(), WhatIfChange(gangs=(extra,))).starts
    assert (start.started, start.starting) == (None, None)
    assert "16" in start.message


def test_a_job_that_has_its_place_at_the_end_and_does_not_run_yet_is_said_to_be_starting() -> None:
    slow = replace(line(), timing=Timing(start_ms=30 * S))
    extra = job("extra", at=990, gpus=8).gang
    (start,) = ask(slow, WhatIfChange(gangs=(extra,))).starts
    assert (start.started, start.starting, start.message) == (None, 990 * S, "")


def test_prices_rate_all_three_and_another_price_only_the_changed_one() -> None:
    price = PriceSet(0, Price("GPU", 0, 3 * MICRO, currency="EUR"))
    report = ask(line(), WhatIfChange(prices=(OtherPrice("GPU", 6 * MICRO),)), prices=(price,))
    (everything,) = (each for each in report.groups if each.by == "all")
    spend = everything.figures["spend_micro"]
    # six jobs of 8 GPUs for 100 s are 4/3 of a GPU-hour
    assert (spend.past, spend.replay, spend.changed) == (4 * MICRO, 4 * MICRO, 8 * MICRO)
    assert (spend.bar, spend.visible, report.currency) == (0, True, "EUR")


def test_what_still_runs_and_what_never_ran_is_said() -> None:
    # at 250 s one job runs and three wait, of which one is taken back
    given = line()
    taken = replace(given.jobs[5], cancelled_ms=240 * S)
    given = replace(given, jobs=(*given.jobs[:5], taken), horizon_ms=250 * S)
    report = ask(given, WhatIfChange(), until=250)
    said = " ".join(report.assumptions)
    assert "1 gang still ran" in said
    assert "3 gangs never ran" in said
    assert waits(report)[0] == waits(report)[1]
