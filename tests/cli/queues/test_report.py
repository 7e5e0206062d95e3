"""`ganglion report` prints what is known, with what said so."""

from tests.cli.harness import FakeServer, Ganglion
from tests.cli.queues.test_usage import HOUR_US

ROUTE = "GET /api/v1/report"
HELD = {"allocated_gpu_us": 20 * HOUR_US, "capacity_gpu_us": 40 * HOUR_US}
DONE = {"active_gpu_us": 3 * HOUR_US, "sampled_gpu_us": 5 * HOUR_US, "active_by": "dcgm-sm"}
DONE |= {"energy_mj": 4_500_000_000, "energy_gpu_us": 5 * HOUR_US, "energy_by": "dcgm-power"}


def test_what_gpus_did_in_the_period_is_in_it_where_anything_looked(
    server: FakeServer, ganglion: Ganglion
) -> None:
    page = {"since": 0, "until": 1, "metered_since": 0, "waits": [], "overhead": [], "spans": []}
    rows = [HELD | DONE, HELD | DONE | {"queue": "east:a"}, HELD | {"queue": "b"}]
    server.on(ROUTE, page | {"utilisation": rows})
    lines = ganglion("report").out.splitlines()
    assert lines[1:7] == [
        "QUEUE   ALLOCATED  USED   ACTIVE      KWH  HELD NOW  ACTIVE NOW  LOST",
        "(all)       20.00   50%     3.00    1.250         0           -  0.00",
        "east:a      20.00   50%     3.00    1.250         0           -  0.00",
        "b           20.00   50%  unknown  unknown         0           -  0.00",
        "active 3.00 of 5.00 GPU-hours sampled (25% of held), by dcgm-sm",
        "energy 1.250 kWh in 5.00 GPU-hours, by dcgm-power",
    ]
    server.on(ROUTE, page | {"utilisation": [HELD]})
    assert ganglion("report").out.splitlines()[1].split() == (
        ["QUEUE", "ALLOCATED", "USED", "HELD", "NOW", "ACTIVE", "NOW", "LOST"]
    )
