"""A scheduler of clusters goes on when the engine fails over one gang, and says so."""

from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from ganglion.engine import cycle as cycles
from ganglion.server.cluster.source import ClusterSource
from ganglion.server.state.audience import Audience
from ganglion.server.telemetry.cluster_metrics import ClusterGauges
from ganglion.worlds.kubernetes.cluster_view.cluster_view import ClusterView
from ganglion.worlds.kubernetes.cluster_view.settings import Settings
from tests.controlplane import manifests
from tests.worlds.kubernetes.controller.stage import Stage
from tests.worlds.kubernetes.controller.test_rules import bound, node, reason


def test_all_other_pods_are_bound_and_the_bad_one_is_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seek = cycles.seek  # type: ignore[attr-defined]

    def fails(state: Any, record: Any, *rest: Any) -> Any:
        if "bad" in record.gang.id:
            raise ValueError("no such luck")
        return seek(state, record, *rest)

    monkeypatch.setattr(cycles, "seek", fails)
    stage, source, audience = Stage(settings=Settings(isolate=True)), ClusterSource(), Audience()
    audience.seat(source.took)
    stage.show(node(0), manifests.pod("bad", gpus=1), manifests.pod("good", gpus=1))
    stage.turn()
    audience.turned(stage.controller, stage.orders, 0.1)
    assert bound(stage) == {"good": "n0"}
    assert "no such luck" in reason(stage, "bad")
    labels = {"stage": "turns"}
    assert source.registry.get_sample_value("ganglion_defects_total", labels) == 1
    assert "ValueError: no such luck" in source.apart()


def test_an_object_that_cannot_be_read_is_set_apart_until_it_can(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    take = ClusterView.take

    def fails(site: ClusterView, change: Any) -> None:
        if "odd" in str(change.item) and "mended" not in str(change.item):
            raise ValueError("no such luck")
        take(site, change)

    monkeypatch.setattr(ClusterView, "take", fails)
    stage = Stage(settings=Settings(isolate=True))
    stage.show(node(0), manifests.pod("odd"), manifests.pod("good"))
    stage.turn()
    assert bound(stage) == {"good": "n0"}
    assert [kind for kind, _ in stage.controller.scene.facts.apart] == ["pod"]
    stage.show(manifests.pod("odd", labels={"now": "mended"}))
    stage.turn()
    assert not stage.controller.scene.facts.apart


def test_what_is_left_out_is_counted_by_kind() -> None:
    registry = CollectorRegistry()
    gauges = ClusterGauges(dict, lambda: (0, 0, 0), dict, lambda: 0, lambda: {"node": 1, "gang": 2})
    registry.register(gauges)
    for kind, count in (("node", 1), ("gang", 2)):
        assert registry.get_sample_value("ganglion_objects_set_apart", {"kind": kind}) == count
