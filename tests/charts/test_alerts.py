"""Alert rules and the dashboard: promtool takes them, and what they ask for is there."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from tools import manifests as deploy

from ganglion.extensions import load
from ganglion.server.cluster.source import ClusterSource
from ganglion.server.telemetry.metrics import Metrics, ServerFigures, ServerStanding
from ganglion.worlds.kubernetes.scheduler import Scheduler

LOCAL = deploy.ROOT / "deploy" / "local" / "alerts.yaml"
DASHBOARD = deploy.CHART / "files" / "dashboard.json"
NAME = re.compile(r"\bganglion_[a-z0-9_]+")
OF_OTHERS = re.compile(r"ganglion_(router|service|workspace|gpus|queue_depth)")
"""Metrics of other programs, or that are read from the state by what is tested elsewhere."""


@pytest.fixture(scope="session")
def rules(helm: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The rules of the chart as a file of Prometheus."""
    assert helm
    objects = deploy.rendered("metrics.prometheusRule.enabled=true")
    (found,) = [each for each in objects if each["kind"] == "PrometheusRule"]
    path = tmp_path_factory.mktemp("rules") / "rules.yaml"
    path.write_text(yaml.safe_dump(found["spec"]), "utf-8")
    return path


def run(promtool: str, *words: str | Path) -> str:
    done = subprocess.run(
        [promtool, *map(str, words)], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_promtool_takes_all_rules(promtool: str, rules: Path) -> None:
    for path in (rules, LOCAL):
        count = sum(len(each["rules"]) for each in yaml.safe_load(path.read_text())["groups"])
        assert f"SUCCESS: {count} rules found" in run(
            promtool, "check", "rules", "--lint=all", "--lint-fatal", path
        )


def test_promtool_takes_every_expression_of_the_dashboard(promtool: str) -> None:
    for expression in dashboard():
        run(promtool, "promql", "format", "--experimental", expression)


def test_a_starved_queue_and_a_refused_request_raise_an_alert(
    promtool: str, rules: Path, tmp_path: Path
) -> None:
    def series(name: str, values: str, **labels: str) -> dict[str, str]:
        text = ",".join(f'{key}="{value}"' for key, value in labels.items())
        return {"series": f'{name}{{job="ganglion",{text}}}', "values": values}

    def alert(name: str, queue: str = "", **labels: str) -> dict[str, Any]:
        own = {"queue": queue} | labels if queue else labels
        return {"alertname": name, "eval_time": "70m", "exp_alerts": [{"exp_labels": own}]}

    constant = "x80"
    feed = [
        series("ganglion_queue_gpus_deserved", f"8{constant}", queue="red", flavor="H100"),
        series("ganglion_queue_gpus_used", f"4{constant}", queue="red", flavor="H100"),
        series("ganglion_queue_gangs", f"2{constant}", queue="red", state="waiting"),
        # One that has all it is entitled to, and one without waiting gangs.
        series("ganglion_queue_gpus_deserved", f"8{constant}", queue="blue", flavor="H100"),
        series("ganglion_queue_gpus_used", f"8{constant}", queue="blue", flavor="H100"),
        series("ganglion_queue_gangs", f"2{constant}", queue="blue", state="waiting"),
        series("ganglion_queue_gpus_deserved", f"8{constant}", queue="grey", flavor="H100"),
        series("ganglion_queue_gpus_used", f"0{constant}", queue="grey", flavor="H100"),
        series("ganglion_queue_gangs", f"0{constant}", queue="grey", state="waiting"),
        series(
            "ganglion_api_requests_total", "0+1x80", verb="PATCH", resource="jobs", answer="403"
        ),
        series("ganglion_api_requests_total", "0+9x80", verb="POST", resource="pods", answer="ok"),
    ]
    expected = [
        alert("GanglionQueueIsStarved", "red", severity="warning"),
        alert("GanglionIsRefused", verb="PATCH", resource="jobs", severity="warning"),
    ]
    for each in expected:
        rule = next(r for r in rules_of(rules) if r["alert"] == each["alertname"])
        labels = each["exp_alerts"][0]["exp_labels"]
        notes = {key: filled(text, labels) for key, text in rule["annotations"].items()}
        each["exp_alerts"][0]["exp_annotations"] = notes
    test = {"interval": "1m", "input_series": feed, "alert_rule_test": expected}
    path = tmp_path / "test.yaml"
    path.write_text(yaml.safe_dump({"rule_files": [str(rules)], "tests": [test]}), "utf-8")
    assert "SUCCESS" in run(promtool, "test", "rules", path)


def filled(text: str, labels: dict[str, str]) -> str:
    return re.sub(r"\{\{ \$labels\.(\w+) \}\}", lambda found: labels[found[1]], text)


def test_what_rules_and_dashboard_ask_for_is_there(rules: Path) -> None:
    asked = {name for rule in rules_of(rules) for name in NAME.findall(rule["expr"])}
    asked |= {name for expression in dashboard() for name in NAME.findall(expression)}
    assert len(asked) > 15
    assert {each for each in asked if not OF_OTHERS.match(each)} - exported() == set()


def test_metrics_of_one_machine_that_rules_ask_for_are_there() -> None:
    asked = {name for rule in rules_of(LOCAL) for name in NAME.findall(rule["expr"])}
    own = Metrics()
    own.registry.register(ServerFigures(lambda: ServerStanding({"turns": "ok"}, 1, 1, 0, 0)))
    known = {name for family in own.registry.collect() for name in names(family)}
    assert {each for each in asked if not OF_OTHERS.match(each)} - known == set()


def rules_of(path: Path) -> list[dict[str, Any]]:
    groups = yaml.safe_load(path.read_text("utf-8"))["groups"]
    return [rule for group in groups for rule in group["rules"]]


def dashboard() -> list[str]:
    found = msgspec.json.decode(DASHBOARD.read_bytes())
    return [each["expr"] for panel in found["panels"] for each in panel["targets"]]


def exported() -> set[str]:
    """Names of the scheduler's metrics."""
    source = ClusterSource()
    source.attach(idle())
    return {name for family in source.registry.collect() for name in names(family)}


def idle() -> Scheduler:
    """A scheduler that was never started, with the queue that there always is."""
    return Scheduler({}, "test", may=lambda: True, load=load)


def names(family: Any) -> Iterator[str]:
    """What can be asked for of a metric."""
    yield from (family.name, *(f"{family.name}_{end}" for end in ("total", "bucket", "count")))
