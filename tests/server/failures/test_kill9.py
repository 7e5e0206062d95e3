"""The server dies again and again at any moment; no user who submitted a job can notice."""

import random
import signal
import time
from collections import Counter
from itertools import pairwise
from pathlib import Path

import httpx2

from ganglion.ledger.intervals import closed_usage
from ganglion.ledger.ledger import Ledger
from ganglion.metering.intervals import UsageInterval
from ganglion.model.events import Event, GangEnded, GangPlaced, GangStarted
from ganglion.model.policy import Policy
from ganglion.server.recovery.recover import replayed
from ganglion.server.recovery.verify import verified
from tests.effort import examples
from tests.server.process import Api, Nursery, until

KILLS = examples(8, nightly=20)
SHORT = 12

# Two nodes of two processes each: every rank appends numbered lines for as long as there is
# no word to finish, so that a lost or repeated line, or a second life, shows.
RANK = """
i=0
echo begin $RANK >> {marks}
while [ ! -e {done} ]; do echo line $i; i=$((i+1)); sleep 0.05; done
echo end $i
echo $RANK $i >> {counts}
"""


def test_jobs_outlive_a_server_that_is_killed_again_and_again(tmp_path: Path) -> None:
    home = tmp_path / "home"
    names = {key: tmp_path / key for key in ("marks", "done", "counts", "short")}
    nursery, api = Nursery(home), Api(home)
    chance = random.Random(20)
    accepted: dict[str, str] = {}
    try:
        nursery.start()
        gang = submit(api, "gang", "g", run=RANK.format(**names), nodes=2, procs_per_node=2)
        until(names["marks"].exists)
        for kill in range(KILLS):
            pause(api, chance, accepted, kill, names["short"])
            nursery.end(signal.SIGKILL)
            nursery.start()
        for number in range(SHORT):
            accepted[f"s{number}"] = submit_short(api, number, names["short"])
        names["done"].touch()
        ended = until(lambda: all_ended(api, [gang, *accepted.values()]), 60)
        check_history(api, [gang, *accepted.values()], ended)
        for rank in range(4):
            check_log(api, gang, rank, names["counts"])
        assert nursery.end(signal.SIGTERM) == 0
        assert not (home / "server.json").exists()
    finally:
        api.close()
        nursery.close()
    # Side effects: every process of every job lived exactly once.
    assert Counter(names["marks"].read_text().split("\n"))["begin 0"] == 1
    assert sorted(names["marks"].read_text().split()[1::2]) == ["0", "1", "2", "3"]
    assert sorted(names["short"].read_text().split()) == sorted(f"s{n}" for n in range(SHORT))
    check_ledger(home, [gang, *accepted.values()])


def submit(api: Api, name: str, key: str, **document: object) -> str:
    """Submit until a server has answered; the key makes that harmless."""
    body = {"name": name, "queue": "red", "resources": {"gpus": 1}, **document}
    headers = {"Idempotency-Key": key}
    return str(api.patiently("POST", "/workloads", json=body, headers=headers)["id"])


def submit_short(api: Api, number: int, effects: Path) -> str:
    run = f"echo s{number} >> {effects}; echo did {number}"
    return submit(api, f"s{number}", f"key-{number}", run=run, queue="blue")


def pause(
    api: Api, chance: random.Random, accepted: dict[str, str], kill: int, effects: Path
) -> None:
    """Let a random part of a server's life pass, now and then in the middle of a submission."""
    give_up = time.monotonic() + chance.choice((0.02, 0.3, 0.6, 1.0)) * chance.random() * 2
    number = kill * SHORT // KILLS
    while time.monotonic() < give_up:
        try:
            if f"s{number}" not in accepted:
                run = f"echo s{number} >> {effects}; echo did {number}"
                body = {"name": f"s{number}", "queue": "blue", "resources": {"gpus": 1}, "run": run}
                headers = {"Idempotency-Key": f"key-{number}"}
                response = api.call("POST", "/workloads", json=body, headers=headers)
                if response.status_code == 201:
                    accepted[f"s{number}"] = response.json()["id"]
        except httpx2.TransportError:
            pass
        time.sleep(0.01)


def all_ended(api: Api, workloads: list[str]) -> dict[str, str] | None:
    page = api.patiently("GET", "/workloads", params={"all": True, "limit": 1000})
    states = {item["id"]: item["state"] for item in page["items"]}
    assert set(states) == set(workloads)
    live = {"QUEUED", "STARTING", "RUNNING", "STOPPING"}
    return None if live & set(states.values()) else states


def check_history(api: Api, workloads: list[str], states: dict[str, str]) -> None:
    assert set(states.values()) == {"SUCCEEDED"}
    assert len(states) == len(set(workloads)) == SHORT + 1
    queues = {item["name"]: item for item in api.patiently("GET", "/queues")["items"]}
    assert set(queues) == {"org", "red", "blue"}
    assert {item["gpu_used_milli"] for item in queues.values()} == {0}
    nodes = api.patiently("GET", "/nodes")["items"]
    assert [(node["name"], node["gpu_free_milli"]) for node in nodes] == [
        ("n0", 4000),
        ("n1", 4000),
    ]


def check_log(api: Api, gang: str, rank: int, counts: Path) -> None:
    text = api.call("GET", f"/workloads/{gang}/logs", params={"rank": rank}).text.split("\n")
    written = dict(line.split() for line in counts.read_text().splitlines())
    count = int(written[str(rank)])
    assert text == [*(f"line {i}" for i in range(count)), f"end {count}", ""]
    assert count > KILLS


def check_usage(usage: list[UsageInterval], events: list[Event]) -> None:
    """Every attempt is charged once, from its placement to its end at least, without a gap."""
    begins = {each.gang: each.at for each in events if isinstance(each, GangPlaced)}
    ends = {each.gang: each.at for each in events if isinstance(each, GangEnded)}
    places: dict[tuple[str, str], list[UsageInterval]] = {}
    for each in usage:
        places.setdefault((each.gang, each.node), []).append(each)
    assert Counter(each.gang for each in usage if each.begun) == dict.fromkeys(begins, 1)
    for (gang, _), intervals in places.items():
        assert all(one.end_ms == two.begin_ms for one, two in pairwise(intervals))
        assert intervals[0].begin_ms == begins[gang]
        assert intervals[-1].end_ms >= ends[gang]


def check_ledger(home: Path, workloads: list[str]) -> None:
    ledger = Ledger.open(home / "ledger.db")
    events = list(ledger.replay())
    mind = replayed(ledger, Policy())
    entries = ledger.events(limit=100_000)
    usage = [each.interval for each in closed_usage(ledger, 0)]
    with ledger.still() as still:
        assert verified(still).flaws == []
    ledger.close()
    check_usage(usage, events)
    for kind in (GangPlaced, GangStarted, GangEnded):
        seen = Counter(event.gang for event in events if isinstance(event, kind))
        assert seen == Counter(f"{workload}/0" for workload in workloads), kind
    assert [entry.seq for entry in entries] == list(range(1, len(entries) + 1))
    assert (mind.state.gangs.records, mind.book.entries) == ({}, {})
    mind.state.validate()
