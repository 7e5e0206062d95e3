"""Commands that change something send it, say it, and report what failed."""

import io
import json
import sys
from pathlib import Path

import pytest
from tests.cli import answers
from tests.cli.harness import FakeServer, Ganglion, refusal

API = "/api/v1"


CANCEL = f"POST {API}/workloads:cancel"


def answer(*ids: str, **others: object) -> dict[str, object]:
    """What the server says of a bulk verb."""
    counts = {"at": 7, "matched": len(ids), "done": len(ids), "refused": 0}
    return counts | {"workloads": ids, "prefixes": {}, "problems": []} | others


def test_several_jobs_are_cancelled_with_one_request(
    ganglion: Ganglion, server: FakeServer
) -> None:
    server.on(CANCEL, answer("a-1", "b-2"))
    done = ganglion("cancel", "a", "b", "--force", "--yes")
    assert (done.code, done.out) == (0, "cancelling a-1\ncancelling b-2\n")
    assert server.bodies(CANCEL) == [{"workloads": ["a", "b"], "dry_run": False, "force": True}]


def test_one_that_cannot_be_cancelled_does_not_spare_the_others(
    ganglion: Ganglion, server: FakeServer
) -> None:
    problem = {"workload": "a", "code": "state.conflict", "detail": "a has ended", "hint": "h"}
    server.on(CANCEL, answer("b-2", matched=2, refused=1, problems=[problem]))
    done = ganglion("cancel", "a", "b")
    assert (done.code, done.out) == (1, "cancelling b-2\n")
    assert "a has ended (h)" in done.err
    assert "1 of 2 workloads not cancelled" in done.err


@pytest.mark.parametrize(
    ("words", "filters"),
    [
        (["--all"], {}),
        (["train-*"], {"name": ["train-*"]}),
        (["-q", "red,blue", "--state", "queued"], {"state": ["QUEUED"], "queue": ["red", "blue"]}),
        (
            ["a", "b*", "-u", "ada", "--kind", "train"],
            {"user": ["ada"], "kind": ["train"], "name": ["a", "b*"]},
        ),
    ],
)
def test_what_fits_more_than_one_is_asked_about_first(
    ganglion: Ganglion,
    server: FakeServer,
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
    filters: dict[str, object],
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    server.on(CANCEL, answer("train-1", "train-2", done=0))
    done = ganglion("cancel", *words)
    assert (done.code, done.out) == (2, "")
    assert "cancel 2 workloads (train-1, train-2)?" in done.err
    assert "add --yes" in done.err
    asked = {"workloads": [], "dry_run": True, "force": False, "filter": filters}
    assert server.bodies(CANCEL) == [asked]
    server.on(CANCEL, answer("train-1", "train-2"))
    done = ganglion("cancel", *words, "-y")
    assert done.out == "cancelling 2 workloads (train-1, train-2)\n"
    assert server.bodies(CANCEL)[-1] == asked | {"dry_run": False}


def test_the_beginning_of_an_id_is_asked_about(
    ganglion: Ganglion, server: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    server.on(CANCEL, answer("train-1", prefixes={"tra": "train-1"}, done=0))
    done = ganglion("cancel", "tra")
    assert (done.code, "cancel 1 workload (train-1)?" in done.err) == (2, True)
    assert all(body["dry_run"] for body in server.bodies(CANCEL))


def test_after_a_yes_only_what_was_asked_about_is_cancelled(
    ganglion: Ganglion, server: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Person(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stdin", Person("y\n"))
    many = [f"t-{n}" for n in range(10_000)]
    server.on(CANCEL, answer(*many, done=0), answer(*many))
    done = ganglion("cancel", "--all")
    assert done.out.splitlines()[-1] == (
        "cancelling 10,000 workloads (t-0, t-1, t-2, t-3, t-4 and 9,995 more)"
    )
    assert [body["filter"] for body in server.bodies(CANCEL)] == [{}, {"until": "7"}]


def test_one_that_a_filter_finds_alone_needs_no_question(
    ganglion: Ganglion, server: FakeServer
) -> None:
    server.on(CANCEL, answer("a-1", done=0), answer("a-1"))
    assert ganglion("cancel", "a-*").out == "cancelling 1 workload (a-1)\n"


def test_all_of_nothing_is_no_error(ganglion: Ganglion, server: FakeServer) -> None:
    server.on(CANCEL, answer())
    done = ganglion("cancel", "--all")
    assert (done.code, done.out) == (0, "nothing to cancel\n")


@pytest.mark.parametrize("words", [[], ["--all", "a"], ["--all", "-q", "x"]])
def test_what_to_cancel_has_to_be_said_once(ganglion: Ganglion, words: list[str]) -> None:
    assert ganglion("cancel", *words).code == 2


@pytest.mark.parametrize("state", ["no", "queued,no"])
def test_an_unknown_state_is_refused_with_those_there_are(ganglion: Ganglion, state: str) -> None:
    done = ganglion("ps", "--state", state)
    assert (done.code, "QUEUED, STARTING" in done.err) == (2, True)


def test_lists_send_their_filters(ganglion: Ganglion, server: FakeServer) -> None:
    server.on(f"GET {API}/workloads", {"items": []})
    server.on(f"GET {API}/order", {"items": [], "total": 0})
    ganglion("ps", "train-*", "--state", "Failed,timed_out", "-q", "a", "-q", "b", "-n", "3")
    ganglion("queue", "x", "--kind", "sweep")
    sent = [str(each.url.params) for each in server.requests]
    assert sent[0] == "state=FAILED&state=TIMED_OUT&queue=a&queue=b&name=train-%2A&limit=3"
    assert sent[1] == "kind=sweep&name=x&limit=1000"


def test_many_are_changed_with_one_request(ganglion: Ganglion, server: FakeServer) -> None:
    server.on(f"POST {API}/workloads:update", answer("a-1", "a-2"))
    done = ganglion("update", "a-*", "--from-queue", "red", "-q", "blue")
    assert (done.code, done.out) == (0, "changed 2 workloads\n")
    assert server.bodies(f"POST {API}/workloads:update") == [
        {
            "workloads": [],
            "dry_run": False,
            "filter": {"queue": ["red"], "name": ["a-*"]},
            "changes": {"queue": "blue"},
        }
    ]


@pytest.mark.parametrize(
    ("flags", "body"),
    [
        (["--priority", "0"], {"priority": 0}),
        (["-q", "other", "--time-limit", "2h"], {"queue": "other", "time_limit": "2h"}),
        (["--deadline", "12h"], {"deadline": "12h"}),
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


def test_a_file_gives_all_rules_of_a_queue(
    ganglion: Ganglion, server: FakeServer, tmp_path: Path
) -> None:
    server.on(f"PUT {API}/queues/red", {})
    file = tmp_path / "red.yaml"
    file.write_text("quota: {H100: 8}\nstrict: true\n", "utf-8")
    assert ganglion("queues", "set", "red", "--file", str(file)).out == "queue red set\n"
    assert server.bodies(f"PUT {API}/queues/red") == [{"quota": {"H100": 8}, "strict": True}]
    both = ganglion("queues", "set", "red", "--file", str(file), "--weight", "2")
    assert (both.code, "leave the other options out" in both.err) == (2, True)
    file.write_text("quota: {H100: 8\n", "utf-8")
    wrong = ganglion("queues", "set", "red", "--file", str(file))
    assert (wrong.code, "red.yaml" in wrong.err) == (2, True), wrong.err
    assert len(server.bodies(f"PUT {API}/queues/red")) == 1


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


def test_a_user_chooses_which_events_reach_which_recipient(
    ganglion: Ganglion, server: FakeServer
) -> None:
    server.on(f"PUT {API}/notices", {"items": []})
    words = ["ada@example.org=failure,end", "https://a.example/?x=1=start"]
    done = ganglion("notify", "set", *words, "--signing-key", "secret:KEY")
    assert done.out == "notified from now on: ada@example.org, https://a.example/?x=1\n"
    hook = {"on": ["start"], "webhook": ["https://a.example/?x=1"], "signing_key": "secret:KEY"}
    (body,) = server.bodies(f"PUT {API}/notices")
    assert body == {"items": [{"on": ["failure", "end"], "mail": ["ada@example.org"]}, hook]}
    assert ganglion("notify", "off").code == 0
    assert server.bodies(f"PUT {API}/notices")[1] == {"items": []}
    assert ganglion("notify", "set", "ada@example.org=end,waiting:30m").code == 0
    late = {"on": ["end", "waiting"], "mail": ["ada@example.org"], "waiting": "30m"}
    assert server.bodies(f"PUT {API}/notices")[2] == {"items": [late]}
    assert "only waiting has one" in ganglion("notify", "set", "ada@example.org=end:30m").err
    assert ganglion("notify", "set", "ada@example.org").code == 2


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
    told = json.loads(as_json.err)
    assert told.pop("request") == server.requests[-1].headers["x-request-id"]
    assert told == {
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


def test_the_queue_comes_in_pages(ganglion: Ganglion, server: FakeServer) -> None:
    first, second = answers.ORDER["items"]
    pages = [{"items": [first], "next": "c"}, {"items": [second], "next": None}]
    server.on(f"GET {API}/order", *pages)
    items = json.loads(ganglion("queue", "-q", "a", "-o", "json").out)
    assert [item["gang"] for item in items] == ["bert-2/0", "giant-9/0"]
    assert [str(each.url.params) for each in server.requests] == [
        "queue=a&limit=1000",
        "queue=a&limit=1000&cursor=c",
    ]


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
    assert "it would take no more work" in ganglion("drain", "n3", "--dry-run").out
    assert server.requests[-1].url.params["dry_run"] == "true"
    server.on(f"DELETE {API}/drains/n3", {"ok": True})
    assert ganglion("undrain", "n3").out == "n3 takes work again\n"


def test_a_new_token_is_printed_for_programs_too(ganglion: Ganglion, server: FakeServer) -> None:
    about = {
        "id": "3f9a1c0b7d21",
        "user": "eve",
        "groups": [],
        "role": "viewer",
        "queue": "research",
        "until": 1_900_000_000_000,
        "label": "",
        "by": "ada",
    }
    server.on(f"POST {API}/tokens", {"token": "gng_secret", "about": about})
    said = json.loads(ganglion("token", "create", "eve", "viewer", "-o", "json").out)
    assert (said["token"], said["about"]["queue"]) == ("gng_secret", "research")
    shown = ganglion("token", "create", "eve", "viewer")
    assert shown.out == "gng_secret\n"
    assert "role viewer on research" in shown.err


def test_who_one_is_is_printed_for_programs_too(ganglion: Ganglion, server: FakeServer) -> None:
    me = {
        "user": "eve",
        "groups": ["ml"],
        "owner": False,
        "token": "3f9a1c0b7d21",
        "limit": "role viewer on queue research",
        "until": 1_900_000_000_000,
        "grants": [],
    }
    server.on(f"GET {API}/whoami", me)
    assert json.loads(ganglion("whoami", "-o", "json").out)["groups"] == ["ml"]
    assert "eve, of ml: by token 3f9a1c0b7d21" in ganglion("whoami").out


@pytest.mark.parametrize(
    ("limit", "submitted", "said"),
    [
        (7_200_000, 5_400_000, "2h00m; submitted with 1h30m"),
        (7_200_000, 0, "2h00m; submitted with none"),
        (0, 5_400_000, "none; submitted with 1h30m"),
        (5_400_000, None, "1h30m"),
    ],
)
def test_describe_says_which_time_limit_holds(
    ganglion: Ganglion, server: FakeServer, limit: int, submitted: int | None, said: str
) -> None:
    limits = {"time_limit_ms": limit, "submitted_limit_ms": submitted}
    server.on(f"GET {API}/workloads/{answers.TRAIN['id']}", answers.DETAIL | limits)
    lines = ganglion("describe", answers.TRAIN["id"]).out.splitlines()
    shown = next(line for line in lines if line.lstrip().startswith("Time limit"))
    assert shown.split("limit", 1)[1].strip() == said
