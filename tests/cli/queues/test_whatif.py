"""`ganglion whatif` about queues, and answers that sum up the work of others."""

from pathlib import Path

import pytest
from tests.cli.harness import FakeServer, Ganglion

API = "/api/v1"
FIGURE = {"past": 60_000, "replay": 60_000, "changed": 60_000, "bar": 0, "visible": False}
DONE = {
    "id": "wi-1",
    "at": 1,
    "user": "olga",
    "state": "done",
    "done_permille": 1000,
    "changes": ["queue red-a: weight"],
    "report": {
        "since": 0,
        "until": 1,
        "changes": ["queue red-a: weight"],
        "jobs": 9,
        "groups": [
            {
                "by": "others",
                "name": "",
                "jobs": 7,
                "waiting": 0,
                "figures": {"wait_p50_ms": FIGURE},
            }
        ],
        "others_shorter": 1,
        "others_longer": 3,
    },
}


def test_rules_of_queues_are_read_from_a_file(
    ganglion: Ganglion, server: FakeServer, tmp_path: Path
) -> None:
    server.on(f"POST {API}/whatif", DONE)
    file = tmp_path / "queues.yaml"
    file.write_text("red-a: {parent: red, weight: 2}\nempty:\n")
    assert ganglion("whatif", "--queue-rules", str(file), "-d").out == "wi-1\n"
    (body,) = server.bodies(f"POST {API}/whatif")
    assert body["rules"] == {"red-a": {"parent": "red", "weight": 2}, "empty": {}}
    assert body["queues"] == []


@pytest.mark.parametrize(
    ("text", "said"), [("red-a: 2", "queue red-a has no rules"), ("[", "queues.yaml")]
)
def test_a_file_without_rules_is_refused(
    ganglion: Ganglion, server: FakeServer, tmp_path: Path, text: str, said: str
) -> None:
    file = tmp_path / "queues.yaml"
    file.write_text(text)
    done = ganglion("whatif", "--queue-rules", str(file))
    assert done.code
    assert said in done.err
    assert not server.bodies(f"POST {API}/whatif")


def test_of_others_sums_are_printed(ganglion: Ganglion, server: FakeServer) -> None:
    server.on(f"GET {API}/whatif/wi-1", DONE)
    done = ganglion("whatif", "show", "wi-1")
    (line,) = (each for each in done.out.splitlines() if each.startswith("others"))
    assert line.split() == [
        "others",
        "7",
        "wait",
        "p50",
        *["1m00s"] * 3,
        "0s",
        *["none", "we", "can", "see"],
    ]
    assert "Of others, 1 workload would wait less and 3 longer." in done.out
