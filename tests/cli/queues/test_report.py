"""`ganglion report` prints what is known, with what said so."""

from tests.cli.harness import FakeServer, Ganglion
from tests.cli.queues.test_usage import HOUR_US

ROUTE = "GET /api/v1/report"
HELD = {"allocated_gpu_us": 20 * HOUR_US, "capacity_gpu_us": 40 * HOUR_US}
DONE = {"active_gpu_us": 3 * HOUR_US, "sampled_gpu_us": 5 * HOUR_US, "active_by": "dcgm-sm"}
DONE |= {"lost_gpu_us": HOUR_US // 2, "useful_gpu_us": 2 * HOUR_US}
DONE |= {"energy_mj": 4_500_000_000, "energy_gpu_us": 5 * HOUR_US, "energy_by": "dcgm-power"}


def test_what_gpus_did_in_the_period_is_in_it_where_anything_looked(
    server: FakeServer, ganglion: Ganglion
) -> None:
    page = {"since": 0, "until": 1, "metered_since": 0, "waits": [], "overhead": [], "spans": []}
    rows = [HELD | DONE, HELD | DONE | {"queue": "east:a"}, HELD | {"queue": "b"}]
    server.on(ROUTE, page | {"utilisation": rows})
    lines = ganglion("report").out.splitlines()
    assert lines[1:7] == [
        "QUEUE   ALLOCATED  USED   ACTIVE   USEFUL     LOST  HELD NOW  ACTIVE NOW",
        "(all)       20.00   50%     3.00     2.00     0.50         0           -",
        "east:a      20.00   50%     3.00     2.00     0.50         0           -",
        "b           20.00   50%  unknown  unknown  unknown         0           -",
        "active 3.00 of 5.00 GPU-hours sampled (25% of held), by dcgm-sm",
        "energy 1.250 kWh in 5.00 GPU-hours, by dcgm-power",
    ]
    wide = ganglion("report", "-o", "wide").out.splitlines()
    assert wide[1].split()[2:6] == ["USED", "KWH", "ACTIVE", "USEFUL"]
    assert wide[2].split()[2:6] == ["50%", "1.250", "3.00", "2.00"]
    server.on(ROUTE, page | {"utilisation": [HELD]})
    assert ganglion("report").out.splitlines()[1].split() == (
        ["QUEUE", "ALLOCATED", "USED", "LOST", "HELD", "NOW", "ACTIVE", "NOW"]
    )


def test_it_says_since_when_lost_work_is_known_and_what_of_a_day_is_lost(
    server: FakeServer, ganglion: Ganglion
) -> None:
    days: list[dict[str, object]] = [
        {"begin": "2026-12-01", "allocated_gpu_us": HOUR_US},
        {"begin": "2026-12-02", "lost_gpu_us": 0, "useful_gpu_us": None},
        {"begin": "2026-12-03", "lost_gpu_us": HOUR_US, "useful_gpu_us": HOUR_US // 4},
    ]
    page = {"since": 0, "until": 1, "metered_since": 5, "utilisation": [HELD], "spans": days}
    server.on(ROUTE, page | {"lost_since": 1_796_112_000_000})
    lines = ganglion("report").out.splitlines()
    history = lines[lines.index("History") + 1 :]
    assert [line.split()[3:5] for line in history[:4]] == [
        *(["USEFUL", "LOST"], ["unknown", "unknown"], ["unknown", "0.00"], ["0.25", "1.00"])
    ]
    assert lines[-1] == "lost work is known since 2026-12-01 08:00:00"
    server.on(ROUTE, page | {"lost_since": 5})
    assert ganglion("report").out.splitlines()[-1].startswith("metered since")
    server.on(ROUTE, page)
    assert ganglion("report").out.splitlines()[-1] == "lost work is unknown"
