"""`ps`, `describe` and dry runs say what workloads cost, where prices are set."""

from pathlib import Path
from typing import Any

import pytest
from msgspec import convert
from tests.cli.answers import DETAIL, PAGE, PLACEMENT, TRAIN
from tests.cli.harness import FakeServer, Ganglion

from ganglion.api.workloads import WorkloadPage
from ganglion.cli.output.layout import layout, texts_of
from ganglion.cli.workloads.ps import columns

EUR = 1_000_000
KNOWN = {"currency": "EUR", "so_far_micro": 1_204_999, "most_micro": 20 * EUR}
OPEN = KNOWN | {"most_micro": None, "unknown": "it has no time limit"}


@pytest.mark.parametrize(
    ("row", "shown"),
    [
        (TRAIN | {"cost": KNOWN}, "1.20/20.00"),
        (TRAIN | {"cost": OPEN}, "1.20/?"),
        (TRAIN | {"cost": KNOWN, "state": "FAILED"}, "1.20"),
    ],
)
def test_ps_has_a_column_of_cost(
    server: FakeServer, ganglion: Ganglion, row: dict[str, Any], shown: str
) -> None:
    server.on("GET /api/v1/workloads", {"items": [row], "next": None})
    head, line = ganglion("ps").out.splitlines()
    assert "COST EUR" in head
    assert shown in line.split()


def test_ps_has_no_such_column_without_prices(server: FakeServer, ganglion: Ganglion) -> None:
    server.on("GET /api/v1/workloads", PAGE)
    assert "COST" not in ganglion("ps").out


def test_with_the_column_no_line_is_wider_than_a_terminal() -> None:
    rows = convert({"items": [each | {"cost": KNOWN} for each in PAGE["items"]]}, WorkloadPage)
    shown = [each for each in columns(TRAIN["submitted"], "EUR") if not each.wide]
    cells = texts_of(shown, rows.items)
    fitted = layout(shown, cells, 80)
    assert max(map(len, [fitted.head(), *fitted.rows(rows.items, cells)])) <= 80
    assert {"STATE", "REASON"} <= {each.name for each in fitted.columns}


@pytest.mark.parametrize(
    ("cost", "said"),
    [
        (KNOWN, "1.20 EUR so far, 20.00 EUR at most"),
        (OPEN, "1.20 EUR so far, the most is unknown: it has no time limit"),
        (KNOWN | {"unpriced_gpu_us": 1}, "1.20 EUR and time without a price so far"),
    ],
)
def test_describe_says_what_a_workload_costs(
    server: FakeServer, ganglion: Ganglion, cost: dict[str, Any], said: str
) -> None:
    server.on(f"GET /api/v1/workloads/{TRAIN['id']}", DETAIL | {"cost": cost})
    assert said in ganglion("describe", TRAIN["id"]).out


def test_a_dry_run_says_what_it_would_cost_at_most(
    server: FakeServer, ganglion: Ganglion, tmp_path: Path
) -> None:
    file = tmp_path / "train.yaml"
    file.write_text("name: train\nrun: 'true'\n")
    server.on("POST /api/v1/workloads", {"placement": PLACEMENT, "stops": [], "cost": KNOWN})
    assert "cost: 20.00 EUR at most" in ganglion("submit", str(file), "--dry-run").out
    server.on("POST /api/v1/workloads", {"placement": PLACEMENT, "stops": [], "cost": OPEN})
    said = ganglion("submit", str(file), "--dry-run").out
    assert "cost: the most is unknown: it has no time limit" in said
