"""Events: aggregated, limited, never in the way."""

import asyncio
import threading

import pytest

from ganglion.worlds.kubernetes.http.client import Api
from ganglion.worlds.kubernetes.names import (
    FAILED_SCHEDULING,
    PREEMPTED,
    QUARANTINED,
    SCHEDULED,
)
from ganglion.worlds.kubernetes.reporting.events import (
    Recorder,
)
from ganglion.worlds.kubernetes.write_rules.bucket import Bucket
from ganglion.worlds.kubernetes.write_rules.series import About, EventSeries, Happened, Shelf
from tests.controlplane.cluster import Cluster
from tests.controlplane.faults import on as requests
from tests.controlplane.manifests import Object
from tests.controlplane.proxy import Proxy
from tests.worlds.kubernetes.writes.real import on

EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"
POD = About("v1", "Pod", "default", "pod-0", "u0")
NODE = About("v1", "Node", "", "node-0", "n0")


class Clock:
    def __init__(self) -> None:
        self.ms = 1_750_000_000_000

    def wall(self) -> int:
        return self.ms


def failed(note: str = "no room", regarding: About = POD) -> Happened:
    return Happened(regarding, FAILED_SCHEDULING, "Scheduling", note, warning=True)


def ours(cluster: Cluster) -> list[Object]:
    """Events of schedulers: the API server writes some about itself."""
    return [each for each in cluster.list(EVENTS) if each["reason"] != "ClusterIPNotAllocated"]


def recorder(api: Api, clock: Clock, **limits: int) -> Recorder:
    return Recorder(api, "ganglion-0", clock=clock.wall, **limits)


def test_equal_events_become_one_that_counts(cluster: Cluster) -> None:
    clock = Clock()

    async def tell(api: Api) -> int:
        told = recorder(api, clock)
        for _ in range(3):
            told.record(failed())
        await told.flush()
        for _ in range(4):
            clock.ms += 1_000
            told.record(failed("still no room"))
            await told.flush()
        clock.ms += 60_000
        await told.flush()
        return told.dropped

    assert on(cluster.kubeconfig, tell) == 0
    (event,) = ours(cluster)
    assert event["series"]["count"] == 7
    assert event["series"]["lastObservedTime"] == "2025-06-15T15:06:44.000000Z"
    assert (event["reason"], event["type"], event["note"]) == (
        "FailedScheduling",
        "Warning",
        "no room",
    )
    assert event["reportingController"] == "ganglion.dev/ganglion"
    assert event["reportingInstance"] == "ganglion-0"
    assert event["regarding"]["uid"] == "u0"


def test_events_about_different_things_are_different(cluster: Cluster) -> None:
    other = About("v1", "Pod", "default", "pod-1", "u1")

    async def tell(api: Api) -> None:
        told = recorder(api, Clock())
        told.record(failed())
        told.record(failed(regarding=other))
        told.record(Happened(POD, PREEMPTED, "Preempting", "goes for pod-1", related=other))
        told.record(Happened(NODE, QUARANTINED, "Quarantining", "3 refusals", warning=True))
        await told.flush()

    on(cluster.kubeconfig, tell)
    events = {(e["reason"], e["regarding"]["name"]): e for e in ours(cluster)}
    assert set(events) == {
        ("FailedScheduling", "pod-0"),
        ("FailedScheduling", "pod-1"),
        ("Preempted", "pod-0"),
        ("Quarantined", "node-0"),
    }
    assert events["Preempted", "pod-0"]["related"]["name"] == "pod-1"
    assert all("series" not in event for event in events.values())


def test_a_series_ends_after_a_pause(cluster: Cluster) -> None:
    clock = Clock()

    async def tell(api: Api) -> None:
        told = recorder(api, clock)
        told.record(failed())
        await told.flush()
        clock.ms += 3_600_000
        told.record(failed("something else"))
        await told.flush()

    on(cluster.kubeconfig, tell)
    assert sorted(event["note"] for event in ours(cluster)) == ["no room", "something else"]


def test_an_event_that_the_server_forgot_is_told_again(cluster: Cluster) -> None:
    clock = Clock()

    async def tell(api: Api) -> None:
        told = recorder(api, clock)
        told.record(failed())
        await told.flush()
        await asyncio.to_thread(cluster.delete, EVENTS)
        told.record(failed())
        await told.flush(everything=True)

    on(cluster.kubeconfig, tell)
    (event,) = ours(cluster)
    assert event["series"]["count"] == 2


def test_more_than_the_limit_waits_and_more_than_may_wait_is_dropped(cluster: Cluster) -> None:
    clock = Clock()

    async def tell(api: Api) -> tuple[int, int, int]:
        told = recorder(api, clock, per_second=1, burst=2, most_waiting=4)
        for index in range(10):
            about = About("v1", "Pod", "default", f"pod-{index}", f"u{index}")
            told.record(Happened(about, PREEMPTED, "Preempting"))
        await told.flush()
        first = len(await asyncio.to_thread(cluster.list, EVENTS))
        clock.ms += 1_000
        await told.flush()
        return first, len(await asyncio.to_thread(cluster.list, EVENTS)), told.dropped

    assert on(cluster.kubeconfig, tell) == (2, 3, 6)


@pytest.mark.parametrize("code", [403, 422, 429, 500])
def test_trouble_is_counted_and_stops_nobody(cluster: Cluster, proxy: Proxy, code: int) -> None:
    proxy.fail(requests("POST", "/events$"), code)

    async def tell(api: Api) -> int:
        told = recorder(api, Clock())
        told.record(failed())
        told.record(Happened(POD, PREEMPTED, "Preempting"))
        await told.flush()
        return told.dropped

    assert on(proxy.kubeconfig(), tell) == 1
    # What is rare comes first, and met the trouble.
    assert [event["reason"] for event in ours(cluster)] == ["FailedScheduling"]


def test_recording_from_other_threads_is_written_by_the_one_that_runs(cluster: Cluster) -> None:
    async def tell(api: Api) -> None:
        told = Recorder(api, "ganglion-0")
        writer = asyncio.create_task(told.run(idle_s=0.01))
        threads = [threading.Thread(target=told.record, args=(failed(),)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        await asyncio.to_thread(cluster.wait, lambda: ours(cluster), "an event")
        await told.flush(everything=True)
        writer.cancel()

    on(cluster.kubeconfig, tell)
    (event,) = ours(cluster)
    assert event["series"]["count"] == 8


def test_long_notes_are_cut_between_characters() -> None:
    note = EventSeries(failed("ä" * 1000), 0, 1).whole("i")["note"]
    assert len(note.encode()) <= 1024
    assert set(note) == {"ä"}


def test_only_so_many_series_are_remembered() -> None:
    shelf = Shelf(most=2, ends_ms=1_000)
    others = [About("v1", "Pod", "d", f"p{i}", f"u{i}") for i in range(3)]
    for other in others:
        shelf.add(failed(regarding=other), 0)
    assert shelf.add(failed(regarding=others[2]), 1).count == 2
    assert shelf.add(failed(regarding=others[0]), 1).count == 1


def test_a_bucket_lets_a_burst_pass_and_then_its_rate() -> None:
    clock = Clock()
    bucket = Bucket(10, 3, clock.wall)
    assert [bucket.take() for _ in range(4)] == [True, True, True, False]
    assert bucket.wait_ms() == 100
    clock.ms += 100
    assert [bucket.take() for _ in range(2)] == [True, False]
    clock.ms += 60_000
    assert [bucket.take() for _ in range(4)] == [True, True, True, False]


def test_another_sort_of_reason_is_another_event_and_other_numbers_are_not() -> None:
    shelf = Shelf(10, 1_000_000)
    notes = ("quota: 8 of 8 GPUs", "quota: 7 of 8 GPUs", "capacity: 4 nodes", "quota: 8 of 8 GPUs")
    found = [shelf.add(failed(note), 0) for note in notes]
    assert found[0] is found[1] is found[3] is not found[2]
    assert found[0].count == 3


def test_routine_gives_way_to_what_is_rare(cluster: Cluster) -> None:
    """Thousands of gangs that wait neither fill the line nor come before a preemption."""

    def of(number: int, reason: str) -> Happened:
        about = About("batch/v1", "Job", "default", f"job-{number}", f"u{number}")
        return Happened(about, reason, "Scheduling", "capacity: none")

    async def tell(api: Api) -> int:
        clock = Clock()
        told = recorder(api, clock, most_waiting=8, burst=3, per_second=1)
        for number in range(10):
            told.record(of(number, (SCHEDULED, FAILED_SCHEDULING)[number % 2]))
        for number in range(10, 12):
            told.record(of(number, PREEMPTED))
        await told.flush()
        return told.dropped

    assert on(cluster.kubeconfig, tell) == 6  # of ten, four are half of the line
    reasons = sorted(each["reason"] for each in ours(cluster))
    assert reasons == [PREEMPTED, PREEMPTED, SCHEDULED]
