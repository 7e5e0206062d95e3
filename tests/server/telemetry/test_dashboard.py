"""The dashboard and the alerts of the local server name metrics, labels and pages that exist."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from fastapi.testclient import TestClient

from ganglion.model.events import GangEnded, Outcome
from ganglion.server.requests.context import ServerContext
from tests.server.conftest import Rig
from tests.server.test_workloads import post, wait_for

ROOT = Path(__file__).resolve().parents[3]
LOCAL = ROOT / "deploy" / "local"
DASHBOARD: dict[str, Any] = json.loads((LOCAL / "dashboard.json").read_text("utf-8"))
RULES: list[dict[str, Any]] = yaml.safe_load((LOCAL / "alerts.yaml").read_text("utf-8"))["groups"][
    0
]["rules"]
NAME = re.compile(r"\bganglion_[a-z_]+")
SELECTOR = re.compile(r"\b(ganglion_[a-z_]+)(?:\{([^}]*)\})?")
LABEL = re.compile(r"([a-z_]+)\s*=~?")
SCRAPED = {"job", "instance", "le"}
"""Labels that Prometheus adds."""


def expressions() -> list[str]:
    panels = [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]
    variables = [str(each["query"]) for each in DASHBOARD["templating"]["list"]]
    return [*panels, *variables, *(rule["expr"] for rule in RULES)]


@pytest.fixture
def exposed(client: TestClient, rig: Rig, context: ServerContext) -> dict[str, set[str]]:
    """Every sample that a server exposes once something happened: name -> its labels."""
    post(client)
    wait_for(client, "a", "RUNNING")
    rig.machine.end("a-1/0")
    wait_for(client, "a", "SUCCEEDED")
    context.metrics.failed("events")
    context.metrics.ready("default", 1_000)
    context.metrics.utilised([], [("default", 500)])
    context.curves.sample()
    context.metrics.ended(GangEnded(0, "b-2/0", 1, Outcome.FAILED, lost_gpu_ms=1_000), "default")
    found: dict[str, set[str]] = {}
    for line in client.get("/metrics").text.splitlines():
        if not line.startswith("#"):
            name, _, labels = line.partition(" ")[0].partition("{")
            found.setdefault(name, set()).update(LABEL.findall(labels))
    return found


def test_every_metric_and_label_that_is_named_exists(exposed: dict[str, set[str]]) -> None:
    named = {name for each in expressions() for name in NAME.findall(each)}
    assert named - set(exposed) == set()
    for expression in expressions():
        for name, labels in SELECTOR.findall(expression):
            assert set(LABEL.findall(labels)) <= exposed[name] | SCRAPED, expression


def test_every_metric_of_the_reference_exists_and_every_metric_is_in_it(
    exposed: dict[str, set[str]],
) -> None:
    page = (ROOT / "docs" / "reference" / "metrics.md").read_text("utf-8")
    page = page.partition("\n## A server\n")[2].partition("\n## ")[0]
    suffix = re.compile(r"_(bucket|count|sum)$")
    own = [each for each in exposed if each.startswith("ganglion_")]
    bases = {suffix.sub("", name) for name in own if not name.endswith("_created")}
    listed = set(NAME.findall(page))
    # Those of workspaces come with their controller, which this server does not run.
    assert {each for each in listed - bases if "workspace" not in each} == set()
    assert bases - listed == set()


def test_every_alert_leads_to_a_page_that_exists() -> None:
    for rule in RULES:
        path, _, anchor = rule["annotations"]["runbook"].partition("#")
        page = (ROOT / path).read_text("utf-8")
        headings = re.findall(r"^#+ (.*)$", page, flags=re.MULTILINE)
        anchors = {re.sub(r"[^a-z0-9 -]", "", each.lower()).replace(" ", "-") for each in headings}
        assert not anchor or anchor in anchors, rule["alert"]
        assert rule["labels"]["severity"] in ("critical", "warning", "info")


def test_panels_do_not_overlap() -> None:
    places = [tuple(panel["gridPos"][key] for key in "xy") for panel in DASHBOARD["panels"]]
    assert len(set(places)) == len(places) >= 12
