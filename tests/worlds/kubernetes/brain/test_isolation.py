"""A scheduler of clusters goes on when the engine fails over one gang, and says so."""

from typing import Any

import pytest
from tests.controlplane import manifests
from tests.worlds.kubernetes.brain.stage import Stage
from tests.worlds.kubernetes.brain.test_rules import bound, node, reason

from ganglion.engine import cycle as cycles
from ganglion.server.audience import Audience
from ganglion.server.cluster_source import ClusterSource
from ganglion.worlds.kubernetes.brain.settings import Settings


def test_all_other_pods_are_bound_and_the_bad_one_is_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seek = cycles.seek

    def fails(state: Any, record: Any, *rest: Any) -> Any:
        if "bad" in record.gang.id:
            raise ValueError("no such luck")
        return seek(state, record, *rest)

    monkeypatch.setattr(cycles, "seek", fails)
    stage, source, audience = Stage(settings=Settings(isolate=True)), ClusterSource(), Audience()
    audience.seat(source.took)
    stage.show(node(0), manifests.pod("bad", gpus=1), manifests.pod("good", gpus=1))
    stage.turn()
    audience.turned(stage.brain, stage.orders, 0.1)
    assert bound(stage) == {"good": "n0"}
    assert "no such luck" in reason(stage, "bad")
    labels = {"stage": "turns"}
    assert source.registry.get_sample_value("ganglion_defects_total", labels) == 1
    assert "ValueError: no such luck" in source.apart()
