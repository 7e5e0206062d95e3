"""Work of clusters by id, name and key: what is found, and that no other work is looked at."""

import pickle
from collections.abc import Iterator
from random import Random
from typing import NoReturn

import pytest

from ganglion.lifecycle.cluster_gangs import LiveGangs
from ganglion.lifecycle.clusters import ClusterBooks, live_id
from ganglion.model.events import Delivered, DeliveredEvent, Outcome, SchedulerSettled
from ganglion.server.delivered.receive import receive
from ganglion.server.recovery.documents import document, value_of
from tests.effort import sample
from tests.server.access.office import API, Office
from tests.server.delivered.stories import begun, ended, gang, placed, started, submitted, turns


def told(books: ClusterBooks, *said: Delivered) -> None:
    for each in said:
        books.note(DeliveredEvent(each.at, "east", "s1", 1, each))


def lives(dice: Random) -> Iterator[Delivered]:
    """What happens to six gangs, of which some wait, run, wait again, or are taken back."""
    yield from begun(1)
    for at in range(2, 60):
        name = f"job-{dice.randrange(6)}"
        yield dice.choice(
            (
                submitted(at, name, dice.choice(("team", "org"))),
                placed(at, name, "n0", attempt=at),
                ended(at, name, Outcome.PREEMPTED, requeue=True),
                ended(at, name, attempt=at),
            )
        )


def seen(books: ClusterBooks) -> object:
    """All that can be looked up, in its order."""
    names = [f"{space}job-{n}" for n in range(6) for space in ("", "lab/")]
    found = {name: [each.gang.id for _, each in books.called(name)] for name in names}
    return found, books.of["east"].gangs.wait


def searched(books: ClusterBooks) -> object:
    """The same by a look at every gang."""
    gangs = list(books.of["east"].gangs.values())
    newest = sorted(gangs, key=lambda each: -each.gang.submitted)
    names = [f"{space}job-{n}" for n in range(6) for space in ("", "lab/")]
    found = {
        name: [each.gang.id for each in newest if name in (each.own_name, each.gang.name)]
        for name in names
    }
    return found, any(not each.holds for each in gangs)


@pytest.mark.parametrize("seed", sample(range(100), 8))
def test_what_is_looked_up_is_what_a_look_at_every_gang_finds(seed: int) -> None:
    books = ClusterBooks()
    for each in lives(Random(seed)):
        told(books, each)
        books.close()
        assert seen(books) == searched(books)
        for cluster, known in books.live():
            assert books.called(live_id(cluster, known)) == [(cluster, known)]
            assert books.keyed(f"east:{known.gang.id}") == (cluster, known)
    assert seen(pickle.loads(pickle.dumps(books))) == seen(books)
    assert seen(value_of(document(books))) == seen(books)


@pytest.fixture
def east(staff: Office) -> Office:
    """A cluster in which one gang runs, one waits, and one has ended."""
    rig, at = staff.rig, staff.rig.machine.time
    first: list[Delivered] = [
        *begun(at),
        *(submitted(at, each) for each in ("runs", "waits", "over")),
    ]
    placing: list[Delivered] = [placed(at, "runs", "n0"), placed(at, "over", "n1")]
    then: list[Delivered] = [started(at, "runs"), ended(at + 1, "over")]
    batch = turns(([*first, SchedulerSettled(at)], placing), (then, []))
    rig.service.ask(lambda draft: receive(draft, "east", "s1", batch))
    return staff


def test_work_of_a_cluster_is_found_by_its_key_in_usage(east: Office) -> None:
    vera = east.user("vera", "viewer", "vision")
    teamed = east.user("tia", "viewer", "east:team")

    def found(name: str, client: object = None, **more: str) -> list[str]:
        params = {"key": f"east:{gang(name).id}", **more}
        answer = (client or east.owner).get(f"{API}/workloads", params=params)  # type: ignore[attr-defined]
        assert answer.status_code == 200, answer.text
        return [each["id"].rpartition("-")[0] for each in answer.json()["items"]]

    assert [found(each) for each in ("runs", "waits", "over")] == [
        ["east:runs"],
        ["east:waits"],
        ["over"],
    ]
    assert [found(each, teamed) for each in ("runs", "over")] == [["east:runs"], ["over"]]
    assert [found(each, vera) for each in ("runs", "over")] == [[], []]
    assert found("never") == []
    assert [found("over", state="FAILED"), found("runs", state="QUEUED")] == [[], []]
    assert found("runs", queue="team") == []


def test_no_route_about_one_workload_looks_at_all_that_lives_in_clusters(
    east: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = {each["name"]: each["id"] for each in east.owner.get(f"{API}/workloads").json()["items"]}

    def refuse(_self: object) -> NoReturn:
        raise AssertionError("all gangs of a cluster are looked at")

    for each in ("values", "items", "__iter__"):
        monkeypatch.setattr(LiveGangs, each, refuse, raising=False)
    east.rig.machine.time += 10**6  # so that whether the scheduler is silent depends on what waits
    paths = [
        f"workloads/{ref}{more}"
        for ref in ("runs", rows["waits"], f"{rows['runs']}/0", "over")
        for more in ("", "/why", "/attempts")
    ]
    keys = (f"workloads?key=east:{gang('runs').id}", "clusters")
    starts = f"order/starts?gang={rows['waits']}&gang=east:none-12345678"
    for path in (*paths, *keys, starts):
        answer = east.owner.get(f"{API}/{path}")
        assert answer.status_code == 200, (path, answer.text)
