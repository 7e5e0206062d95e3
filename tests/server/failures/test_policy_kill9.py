"""The server dies while policies are set: knobs, queues and history are of one version."""

import os
import random
import signal
import threading
from pathlib import Path
from typing import Any

import httpx2

from ganglion.specs.grammar.times.durations import print_duration
from ganglion.specs.policy.policy import parse_policy
from tests.effort import examples
from tests.server.process import Api, Nursery, until

KILLS = examples(4, nightly=20)
TREE = (
    "queues:\n- {name: org}\n- {name: red, parent: org, quota: {H100: 4}}\n"
    "- {name: blue, parent: org, quota: {H100: 4}}\n- {name: default}\n"
)


def text_of(number: int) -> str:
    """A policy that says its number twice: in a knob and in a queue."""
    return f"evict: {{restart: {number + 1}m}}\n{TREE}- {{name: q{number}}}\n"


def test_a_policy_is_in_force_whole_or_not_at_all(tmp_path: Path) -> None:
    home, done = tmp_path / "home", tmp_path / "done"
    nursery, api = Nursery(home), Api(home)
    chance = random.Random(9)
    try:
        nursery.start()
        job = {"name": "job", "queue": "red", "run": f"until [ -e {done} ]; do sleep 0.05; done"}
        key = {"Idempotency-Key": "k"}
        job_id = api.patiently("POST", "/workloads", json=job, headers=key)["id"]
        until(lambda: api.patiently("GET", f"/workloads/{job_id}")["state"] == "RUNNING")
        number = 0
        for _ in range(KILLS):
            number = set_until_killed(api, nursery, number, chance.random() / 2)
            nursery.reap()
            nursery.start()
            check(api)
        assert api.patiently("GET", "/policy")["version"] > KILLS
        shown = api.patiently("GET", f"/workloads/{job_id}")
        assert (shown["state"], shown["gangs"][0]["attempt"]) == ("RUNNING", 1)
        done.touch()
        until(lambda: api.patiently("GET", f"/workloads/{job_id}")["state"] == "SUCCEEDED")
    finally:
        done.touch()
        api.close()
        nursery.close()


def set_until_killed(api: Api, nursery: Nursery, number: int, after_s: float) -> int:
    """Set policy after policy until the server dies; returns the next number."""
    api.patiently("GET", "/policy")
    killer = threading.Timer(after_s, lambda: signal_to(nursery))
    killer.start()
    try:
        while killer.is_alive() or nursery.pid:
            api.call("PUT", "/policy", json={"text": text_of(number)})
            number += 1
    except httpx2.TransportError:
        pass
    killer.join()
    return number


def signal_to(nursery: Nursery) -> None:
    os.kill(nursery.pid, signal.SIGKILL)


def check(api: Api) -> None:
    """What is in force is what the newest version says, to the last queue."""
    shown: Any = api.patiently("GET", "/policy")
    history = api.patiently("GET", "/policy/versions")["items"]
    assert [each["version"] for each in history] == list(range(1, shown["version"] + 1))
    said = parse_policy(shown["text"])
    assert shown["document"]["evict"]["restart"] == print_duration(said.policy.evict.restart_ms)
    queues = {each["name"] for each in api.patiently("GET", "/queues")["items"]}
    if shown["version"]:
        assert queues == {each.name for each in said.queues or ()}
