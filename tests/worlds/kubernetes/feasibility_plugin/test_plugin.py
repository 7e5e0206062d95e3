"""A turn of the controller calls its feasibility checks in one order, and decides once."""

import pytest

from ganglion.model.plan import Plan
from ganglion.worlds.kubernetes.controller_state.controller_state import ControllerState
from ganglion.worlds.kubernetes.feasibility_plugin import plugin as module
from ganglion.worlds.kubernetes.feasibility_plugin.gang_rules import GangRules
from ganglion.worlds.kubernetes.feasibility_plugin.plugin import (
    FeasibilityPlugin,
    FeasibilityTurn,
)
from tests.worlds.kubernetes.controller.stage import Stage


@pytest.fixture
def stage() -> Stage:
    return Stage()


def begun(stage: Stage) -> tuple[FeasibilityPlugin, FeasibilityTurn]:
    plugin = FeasibilityPlugin(stage.controller.sites)
    return plugin, plugin.refresh(stage.controller.scene, None, stage.now)


def nothing() -> Plan:
    return Plan(1)


def test_a_turn_decides_once(stage: Stage) -> None:
    _, turn = begun(stage)
    turn.decide(nothing)
    with pytest.raises(RuntimeError, match="is over"):
        turn.decide(nothing)


def test_an_earlier_turn_decides_nothing_once_another_began(stage: Stage) -> None:
    plugin, first = begun(stage)
    second = plugin.refresh(stage.controller.scene, None, stage.now + 1)
    with pytest.raises(RuntimeError, match="is over"):
        first.decide(nothing)
    assert second.decide(nothing) == nothing()


def test_nodes_are_described_for_all_rules_before_a_cycle_and_it_is_settled_after_it(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []

    def note(owner: object, name: str) -> None:
        whole = getattr(owner, name)

        def noted(*arguments: object) -> object:
            calls.append(name)
            return whole(*arguments)

        monkeypatch.setattr(owner, name, noted)

    for name in ("count", "refresh", "open", "settle"):
        note(GangRules, name)
    note(module, "describe_nodes")
    scene: ControllerState = stage.controller.scene

    turn = FeasibilityPlugin(stage.controller.sites).refresh(scene, scene, stage.now)
    assert calls == ["count", "refresh", "describe_nodes"]
    note(GangRules, "describe")
    calls.clear()

    def cycle() -> Plan:
        calls.append("cycle")
        return nothing()

    turn.decide(cycle)
    assert calls == ["describe", "describe_nodes", "open", "cycle", "settle"]
