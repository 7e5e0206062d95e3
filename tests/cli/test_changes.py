"""Commands that change something send it, say it, and report what failed."""

import io
import json
import sys

import pytest
from tests.cli import answers
from tests.cli.harness import FakeServer, Ganglion, refusal

API = "/api/v1"


def cancelling(server: FakeServer, *jobs: str) -> FakeServer:
    for job in jobs:
        server.on(f"POST {API}/workloads/{job}/cancel", answers.DETAIL)
    return server


def test_several_jobs_are_cancelled(ganglion: Ganglion, server: FakeServer) -> None:
    cancelling(server, "a", "b")
    done = ganglion("cancel", "a", "b", "--force")
    assert (done.code, done.out) == (0, "cancelling a\ncancelling b\n")
    assert server.bodies(f"POST {API}/workloads/a/cancel") == [{"force": True}]


def test_one_that_cannot_be_cancelled_does_not_spare_the_others(
    ganglion: Ganglion, server: FakeServer
) -> None:
    cancelling(server, "b")
    server.on(f"POST {API}/workloads/a/cancel", refusal(409, "state.conflict", "a has ended"))
    done = ganglion("cancel", "a", "b")
    assert (done.code, done.out) == (1, "cancelling b\n")
    assert "a has ended" in done.err
    assert "1 of 2 workloads not cancelled" in done.err


def test_all_asks_unless_told_not_to(
    ganglion: Ganglion, server: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.on(f"GET {API}/workloads", answers.PAGE | {"items": [answers.TRAIN]})
    cancelling(server, "llama-sft-7")
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    done = ganglion("cancel", "--all")
    assert done.code == 2
    assert "add --yes" in done.err
    assert ganglion("cancel", "--all", "-y").out == "cancelling llama-sft-7\n"


def test_all_of_nothing_is_no_error(ganglion: Ganglion, server: FakeServer) -> None:
    server.on(f"GET {API}/workloads", {"items": []})
    done = ganglion("cancel", "--all")
    assert (done.code, done.out) == (0, "nothing to cancel\n")


@pytest.mark.parametrize(
    ("flags", "body"),
    [
        (["--priority", "0"], {"priority": 0}),
        (["-q", "other", "--time-limit", "2h"], {"queue": "other", "time_limit": "2h"}),
        (["--hold"], {"held": True}),
        (["--release"], {"held": False}),
    ],
)
def test_an_update_sends_what_was_given(
    ganglion: Ganglion, server: FakeServer, flags: list[str], body: dict[str, object]
) -> None:
    server.on(f"PATCH {API}/workloads/a", answers.DETAIL)
    assert ganglion("update", "a", *flags).code == 0
    assert server.bodies(f"PATCH {API}/workloads/a") == [body]


def test_a_new_queue_is_set_from_flags(ganglion: Ganglion, server: FakeServer) -> None:
    server.on(f"GET {API}/queues", {"items": []})
    server.on(f"PUT {API}/queues/new", {})
    flags = ["--parent", "acme", "--quota", "H100:8", "--quota", "4.5", "--limit", "12"]
    assert ganglion("queues", "set", "new", *flags).code == 0
    (body,) = server.bodies(f"PUT {API}/queues/new")
    assert body == {
        "quota": {"H100": {"gpus": "8"}, "*": {"gpus": "4.5"}},
        "limit": {"*": {"gpus": "12"}},
        "parent": "acme",
    }


def test_a_queue_keeps_what_is_not_changed(ganglion: Ganglion, server: FakeServer) -> None:
    server.on(f"GET {API}/queues", answers.QUEUES)
    server.on(f"PUT {API}/queues/research", {})
    assert ganglion("queues", "set", "research", "--weight", "7").code == 0
    (body,) = server.bodies(f"PUT {API}/queues/research")
    assert body == {
        "name": "research",
        "parent": "acme",
        "quota": {"H100": 8, "*": {"cpus": 64}},
        "limit": {"*": 12},
        "weight": 7,
        "preemption": {"preempt": "never"},
    }


def test_what_another_editor_changes_meanwhile_is_kept(
    ganglion: Ganglion, server: FakeServer
) -> None:
    def queue(etag: str, **rules: int) -> dict[str, object]:
        document = {"name": "red", **rules}
        return {"items": [{"name": "red", "document": document, "etag": etag}]}

    server.on(f"GET {API}/queues", queue('"1"'), queue('"2"', priority=5))
    stale = refusal(412, "state.stale", "the queue red was changed since it was read")
    server.on(f"PUT {API}/queues/red", stale, {})
    assert ganglion("queues", "set", "red", "--weight", "7").code == 0
    first, second = (r for r in server.requests if r.method == "PUT")
    assert (first.headers["if-match"], second.headers["if-match"]) == ('"1"', '"2"')
    assert json.loads(second.content) == {
        "name": "red",
        "quota": {},
        "limit": {},
        "priority": 5,
        "weight": 7,
    }


def test_a_queue_that_another_makes_meanwhile_is_not_overwritten(
    ganglion: Ganglion, server: FakeServer
) -> None:
    server.on(f"GET {API}/queues", {"items": []})
    stale = refusal(412, "state.stale", "the queue red exists already", "read it again")
    server.on(f"PUT {API}/queues/red", stale)
    done = ganglion("queues", "set", "red", "--weight", "7")
    assert (done.code, "the queue red exists already" in done.err) == (1, True)
    assert {r.headers["if-none-match"] for r in server.requests if r.method == "PUT"} == {"*"}


@pytest.mark.parametrize("amount", ["many", "H100:", "-1", "H100:8:9", ""])
def test_an_amount_that_is_no_number_is_refused(
    ganglion: Ganglion, server: FakeServer, amount: str
) -> None:
    server.on(f"GET {API}/queues", answers.QUEUES)
    done = ganglion("queues", "set", "research", "--quota", amount)
    assert (done.code, "not a number of GPUs" in done.err) == (2, True)


def test_a_queue_is_deleted(ganglion: Ganglion, server: FakeServer) -> None:
    server.on(f"DELETE {API}/queues/old", {"ok": True})
    assert ganglion("queues", "delete", "old").out == "queue old deleted\n"


def test_a_node_is_cordoned_and_uncordoned(ganglion: Ganglion, server: FakeServer) -> None:
    server.on(f"POST {API}/nodes/n1/cordon", {"ok": True})
    server.on(f"POST {API}/nodes/n1/uncordon", {"ok": True})
    assert ganglion("cordon", "n1", "--reason", "fan").out == "n1 cordoned: fan\n"
    assert server.bodies(f"POST {API}/nodes/n1/cordon") == [{"reason": "fan"}]
    assert ganglion("uncordon", "n1").out == "n1 takes work again\n"


def test_an_error_of_the_server_is_shown_with_its_hint(
    ganglion: Ganglion, server: FakeServer
) -> None:
    server.on(f"GET {API}/nodes", refusal(409, "state.conflict", "not now", "later"))
    done = ganglion("nodes")
    assert (done.code, done.err) == (1, "Error: not now\nHint: later\n")
    as_json = ganglion("nodes", "-o", "json")
    assert json.loads(as_json.err) == {
        "code": "state.conflict",
        "message": "not now",
        "hint": "later",
    }


def test_pages_are_read_to_the_end(ganglion: Ganglion, server: FakeServer) -> None:
    pages = [{"items": [answers.TRAIN], "next": "5"}, {"items": [answers.SERVICE], "next": None}]
    server.on(f"GET {API}/workloads", *pages)
    assert len(json.loads(ganglion("ps", "-o", "json").out)) == 2
    assert [r.url.params.get("after") for r in server.requests] == [None, "5"]


def test_a_limit_ends_the_reading(ganglion: Ganglion, server: FakeServer) -> None:
    server.on(f"GET {API}/workloads", {"items": [answers.TRAIN], "next": "5"})
    assert len(json.loads(ganglion("ps", "-n", "1", "-o", "json").out)) == 1
    assert [r.url.params["limit"] for r in server.requests] == ["1"]


def test_an_empty_list_is_said_to_people_and_empty_to_programs(
    ganglion: Ganglion, server: FakeServer
) -> None:
    server.on(f"GET {API}/workloads", {"items": []})
    done = ganglion("ps")
    assert (done.code, done.out) == (0, "")
    assert "nothing runs or waits" in done.err
    assert ganglion("ps", "-o", "json").out == "[]\n"
    assert ganglion("ps", "--csv").out.startswith("ID,KIND,QUEUE")


def test_the_queue_is_filtered_and_cut(ganglion: Ganglion, server: FakeServer) -> None:
    server.on(f"GET {API}/order", answers.ORDER)
    for flags, names in [
        (["-q", "research"], ["bert-2/0"]),
        (["-u", "grace"], ["giant-9/0"]),
        (["-n", "1"], ["bert-2/0"]),
        (["-q", "none"], []),
    ]:
        items = json.loads(ganglion("queue", *flags, "-o", "json").out)
        assert [item["gang"] for item in items] == names


def test_a_wrong_token_says_where_tokens_come_from(ganglion: Ganglion, server: FakeServer) -> None:
    server.on(f"GET {API}/nodes", refusal(401, "auth", "the token is wrong", "send a header"))
    done = ganglion("nodes")
    assert done.code == 1
    assert "Error: the token is wrong\nHint: is $GANGLION_TOKEN set" in done.err


def test_a_node_is_drained_and_it_is_said_who_leaves_when(
    ganglion: Ganglion, server: FakeServer
) -> None:
    leavers = [
        {"gang": "train-1/0", "at": 0, "how": "leaves after a checkpoint"},
        {"gang": "nb-2/0", "at": 0, "how": "has no checkpoints"},
    ]
    drained = {"what": "rack=r1", "nodes": ["n1", "n2"], "by": 1_800_000_000_000, "reason": "fan"}
    server.on(f"PUT {API}/drains/rack=r1", drained | {"leavers": leavers})
    shown = ganglion("drain", "rack=r1", "--by", "+2h", "--reason", "fan")
    assert shown.out.splitlines()[0].startswith("rack=r1 (2 nodes) drains by 2027-01-15")
    assert "  train-1/0 leaves after a checkpoint" in shown.out
    (body,) = server.bodies(f"PUT {API}/drains/rack=r1")
    assert body["reason"] == "fan"
    server.on(f"PUT {API}/drains/n3", drained | {"what": "n3", "nodes": ["n3"], "leavers": []})
    assert ganglion("drain", "n3").out == "n3 is empty and takes no work: fan\n"
    server.on(f"DELETE {API}/drains/n3", {"ok": True})
    assert ganglion("undrain", "n3").out == "n3 takes work again\n"
