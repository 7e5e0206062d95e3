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
