"""What happened to nodes, as people read it."""

from typing import Any

import pytest

from ganglion.api.events import EventView
from ganglion.cli.output.event_lines import line_of


@pytest.mark.parametrize(
    ("event", "said"),
    [
        (
            {
                "type": "device_health",
                "node": "n1",
                "device": 3,
                "healthy": False,
                "cause": "Xid 79",
            },
            "GPU 3 is sick: Xid 79",
        ),
        (
            {"type": "device_health", "node": "n1", "device": 3, "healthy": False},
            "GPU 3 is sick: no reason given",
        ),
        ({"type": "device_health", "node": "n1", "device": 3, "healthy": True}, "GPU 3 is well"),
        (
            {
                "type": "booking_set",
                "booking": {
                    "name": "drain-n1",
                    "nodes": ["n1"],
                    "begin": 1_800_000_000_000,
                    "end": 1_900_000_000_000,
                    "reason": "new fan",
                    "clears": True,
                },
            },
            ": new fan",
        ),
    ],
)
def test_a_line_says_what_happened(event: dict[str, Any], said: str) -> None:
    line = line_of(EventView(7, {"at": 1_800_000_000_000, **event}))
    assert line.endswith(said)
    assert "n1" in line


@pytest.mark.parametrize("ahead_ms", [3_600_000, -3_600_000])
def test_a_booking_is_told_by_the_wall_clock(ahead_ms: int) -> None:
    booking = {"name": "pump", "nodes": ["n1"], "begin": AT, "end": AT + 3_600_000}
    plain = line_of(EventView(7, {"at": AT, "type": "booking_set", "booking": booking}))
    booking |= {"begin": AT - ahead_ms, "end": AT + 3_600_000 - ahead_ms, "ahead_ms": ahead_ms}
    assert line_of(EventView(7, {"at": AT, "type": "booking_set", "booking": booking})) == plain


AT = 1_800_000_000_000
PLACE = {"pods": [{"node": "n1", "pod_set": "main", "rank": 0, "devices": []}]}
BEHIND = {
    "queue_set under a parent": (
        {
            "type": "queue_set",
            "queue": {
                "name": "nlp",
                "parent": "research",
                "quota": {"h100": {"gpu_milli": 8000}},
                "limit": {"*": {"gpu_milli": 1000, "memory_mib": 65536}},
            },
        },
        "under research, quota 8 GPUs of h100, limit 1 GPU, 64Gi",
    ),
    "queue_set at the top": ({"type": "queue_set", "queue": {"name": "all"}}, "at the top"),
    "a band": (
        {"type": "start_expected", "gang": "a-1/0", "p50_ms": 90_000, "p90_ms": 7_200_000},
        "expected to start in about 1m30s, nine times in ten within 2h00m",
    ),
    "no band": (
        {"type": "start_expected", "gang": "a-1/0", "p50_ms": 0, "p90_ms": 0, "guesses": ["b-1/0"]},
        "start unknown: no time limit of b-1/0",
    ),
    "a plan taken back": (
        {"type": "start_planned", "gang": "a-1/0", "placement": None, "cause": "a node is gone"},
        "its planned start is taken back: a node is gone",
    ),
    "a place that is kept": (
        {"type": "start_planned", "gang": "a-1/0", "placement": PLACE, "drains": True},
        "n1 kept until it is free",
    ),
    "glass that is broken": (
        {
            "type": "glass_broken",
            **{"user": "eve", "subject": "group:oncall", "role": "admin", "queue": ""},
            **{"reason": "a fire\x1b[2J", "since_ms": AT, "until_ms": AT + 3_600_000},
        },
        "eve broke the glass: role admin of group:oncall on the whole fleet"
        " until 2027-01-15 09:00:00: a fire\\x1b[2J",
    ),
    "glass that is mended": (
        {
            "type": "glass_mended",
            **{"user": "eve", "subject": "user:eve", "role": "admin", "queue": "lab", "by": "ada"},
        },
        "role admin of eve on lab ended, by ada",
    ),
    "a dormant grant": (
        {
            "type": "role_granted",
            **{"subject": "user:eve", "role": "admin", "queue": "", "until_ms": None, "by": "ada"},
            "break_glass": True,
        },
        "role admin on the whole fleet, dormant until its holder breaks the glass, by ada",
    ),
    "one GPU": (
        {"type": "node_added", "node": {"name": "n1", "devices": [{}]}},
        "1 GPU",
    ),
}


@pytest.mark.parametrize("event, said", BEHIND.values(), ids=BEHIND)
def test_a_line_has_no_raw_milliseconds_and_no_key_of_the_request(
    event: dict[str, Any], said: str
) -> None:
    of_request = {"request": "r-1", "actor": "kim", "grant": "x", "glass": "role admin"}
    line = line_of(EventView(7, {"at": AT, **event, **of_request}))
    assert line.endswith(f"  {said}")
    assert "r-1" not in line


def test_an_event_without_a_line_of_its_own_leaves_the_request_out() -> None:
    event = {"at": AT, "type": "other", "level": 3, "request": "r-1", "actor": "kim"}
    assert line_of(EventView(7, event)).endswith("level=3")
