"""The server dies in the middle of a trade: a victim is leaving, another gang has its place."""

import random
import signal
import time
from collections import Counter
from pathlib import Path

from ganglion.ledger.ledger import Ledger
from ganglion.model.events import (
    Event,
    GangEnded,
    GangPlaced,
    GangReserved,
    GangStarted,
    GangStopping,
    Outcome,
    PodsLeft,
)
from ganglion.model.policy import Policy
from ganglion.server.recovery.recover import replayed
from tests.server.process import Api, Nursery, until

ROUNDS = 3
KILLS = 3

# A victim takes a while to save; the gang after it writes down whether it was gone.
VICTIM = """
save() {{ echo stopping $GANGLION_ATTEMPT >> {marks}; sleep 0.7; rm {here}/$RANK; exit 0; }}
trap save TERM
touch {here}/$RANK
echo begun $GANGLION_ATTEMPT >> {marks}
while [ ! -e {done} ]; do sleep 0.02; done
rm {here}/$RANK
"""
ASKER = "echo asker $GANGLION_NAME $(ls {here} | wc -l) >> {marks}; sleep 0.1"


def test_a_trade_outlives_a_server_that_is_killed_in_the_middle(tmp_path: Path) -> None:
    home = tmp_path / "home"
    names = {key: tmp_path / key for key in ("marks", "here", "done")}
    names["here"].mkdir()
    nursery, api = Nursery(home), Api(home)
    chance = random.Random(9)
    try:
        nursery.start()
        victim = submit(api, "victim", VICTIM.format(**names), nodes=2, gpus=4, priority=10)
        until(lambda: len(list(names["here"].iterdir())) == 2)
        askers = [trade(nursery, api, chance, number, names) for number in range(ROUNDS)]
        until(lambda: lines(names["marks"]).count(f"begun {ROUNDS + 1}") == 2, 60)
        until(lambda: states(api)[victim] == "RUNNING")
        shown = api.patiently("GET", f"/workloads/{victim}")
        assert shown["preemptions"] == ROUNDS
        assert shown["gangs"][0]["waits_for"] == []
        names["done"].touch()
        until(lambda: states(api) == dict.fromkeys([victim, *askers], "SUCCEEDED"), 60)
        assert nursery.end(signal.SIGTERM) == 0
    finally:
        api.close()
        nursery.close()
    check_effects(lines(names["marks"]))
    check_ledger(home, victim, askers)


# Each pod of an elastic gang holds a file while it lives, and takes a while to leave.
POD = """
save() {{ sleep 0.7; rm {here}/$RANK; exit 0; }}
trap save TERM
touch {here}/$RANK
echo begun $RANK >> {marks}
while [ ! -e {done} ]; do sleep 0.02; done
rm {here}/$RANK
"""


def test_an_elastic_gang_gives_way_pod_by_pod_while_the_server_is_killed(tmp_path: Path) -> None:
    home = tmp_path / "home"
    names = {key: tmp_path / key for key in ("marks", "here", "done")}
    names["here"].mkdir()
    nursery, api = Nursery(home), Api(home)
    chance = random.Random(7)
    try:
        nursery.start()
        elastic = submit(api, "elastic", POD.format(**names), nodes="2..8", gpus=1, priority=10)
        until(lambda: len(list(names["here"].iterdir())) == 8)
        asker = submit(api, "u0", ASKER.format(**names), gpus=4, priority=90)
        die(nursery, chance)
        until(lambda: states(api)[asker] == "SUCCEEDED", 60)
        shown = api.patiently("GET", f"/workloads/{elastic}")
        assert (shown["state"], shown["preemptions"]) == ("RUNNING", 0)
        assert len(shown["gangs"][0]["placement"]["pods"]) == len(list(names["here"].iterdir()))
        names["done"].touch()
        until(lambda: set(states(api).values()) == {"SUCCEEDED"}, 60)
        assert nursery.end(signal.SIGTERM) == 0
    finally:
        api.close()
        nursery.close()
    seen = Counter(lines(names["marks"]))
    # it saw the pods that stayed, and none of those whose place it has
    assert seen["asker u0 4"] == 1
    assert [seen[f"begun {rank}"] for rank in range(8)] == [1] * 8
    ledger = Ledger.open(home / "ledger.db")
    events = list(ledger.replay())
    mind = replayed(ledger, Policy())
    ledger.close()
    mind.state.validate()
    assert len(of(events, GangPlaced, elastic)) == len(of(events, GangEnded, elastic)) == 1
    left = next(n for n, event in enumerate(events) if isinstance(event, PodsLeft))
    placed = events.index(of(events, GangPlaced, asker)[0])
    assert left < placed


def submit(api: Api, name: str, run: str, *, gpus: int, **document: object) -> str:
    body = {
        "name": name,
        "queue": "red",
        "run": run,
        "resources": {"gpus": gpus},
        "preemptible": {"grace": "20s"},
        **document,
    }
    return str(
        api.patiently("POST", "/workloads", json=body, headers={"Idempotency-Key": name})["id"]
    )


def trade(
    nursery: Nursery, api: Api, chance: random.Random, number: int, names: dict[str, Path]
) -> str:
    """Let an urgent job come, and the server die several times while it gets its place."""
    until(lambda: lines(names["marks"]).count(f"begun {number + 1}") == 2)
    asker = submit(api, f"u{number}", ASKER.format(**names), gpus=4, priority=90)
    die(nursery, chance)
    until(lambda: states(api)[asker] == "SUCCEEDED", 60)
    until(lambda: lines(names["marks"]).count(f"begun {number + 2}") == 2, 60)
    return asker


def die(nursery: Nursery, chance: random.Random) -> None:
    """Let the server be killed several times, a moment apart."""
    for _ in range(KILLS):
        time.sleep(chance.random() * 0.4)
        nursery.end(signal.SIGKILL)
        nursery.start()


def lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


def states(api: Api) -> dict[str, str]:
    page = api.patiently("GET", "/workloads", params={"all": True, "limit": 100})
    return {item["id"]: item["state"] for item in page["items"]}


def check_effects(marks: list[str]) -> None:
    """Every process lived once, and none began before the victim had left."""
    seen = Counter(marks)
    for attempt in range(1, ROUNDS + 2):
        assert seen[f"begun {attempt}"] == 2
        assert seen[f"stopping {attempt}"] == (2 if attempt <= ROUNDS else 0)
    assert [seen[f"asker u{number} 0"] for number in range(ROUNDS)] == [1] * ROUNDS
    assert sum(mark.startswith("asker") for mark in marks) == ROUNDS


def check_ledger(home: Path, victim: str, askers: list[str]) -> None:
    ledger = Ledger.open(home / "ledger.db")
    events = list(ledger.replay())
    mind = replayed(ledger, Policy())
    ledger.close()
    assert (
        mind.state.gangs.records,
        mind.state.holdings.leaving,
        mind.state.holdings.promised,
    ) == ({}, {}, {})
    mind.state.validate()
    for asker in askers:
        mine = [type(e) for e in events if getattr(e, "gang", "") == f"{asker}/0"]
        assert mine == [GangReserved, GangPlaced, GangStarted, GangEnded]
    stops = of(events, GangStopping, victim)
    ends = of(events, GangEnded, victim)
    assert len(of(events, GangPlaced, victim)) == len(ends) == ROUNDS + 1
    assert len(stops) == ROUNDS
    assert [end.outcome for end in ends if isinstance(end, GangEnded)] == [
        *[Outcome.PREEMPTED] * ROUNDS,
        Outcome.SUCCEEDED,
    ]


def of(events: list[Event], kind: type, workload: str) -> list[Event]:
    return [e for e in events if isinstance(e, kind) and getattr(e, "gang", "") == f"{workload}/0"]
