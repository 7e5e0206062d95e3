"""Filter plugins may say that what they have against a node passes."""

from collections.abc import Hashable

import pytest
from msgspec.structs import replace

from ganglion.engine.plugins.builtin import builtin_plugins
from ganglion.engine.plugins.protocols import Foreseeing, NodeClass
from ganglion.model.policy import Policy
from ganglion.model.reasons import Reason, Remedy
from ganglion.model.workload import Gang, PodSet
from tests.engine.build import gang, node, state_of, submit


class Shut:
    """Nodes labelled `shut` are shut, those with the value `now` for the time being."""

    name = "shut"

    def key(self, gang: Gang, pod_set: PodSet) -> Hashable:
        return ""

    def allows(self, key: Hashable, node: NodeClass) -> bool:
        return "shut" not in dict(node.labels)

    def why_not(self, key: Hashable, node: NodeClass) -> str:
        return "shut"

    def may_pass(self, key: Hashable, node: NodeClass) -> bool:
        return dict(node.labels).get("shut") == "now"


class Closed:
    """Shut for ever, in the words of a plugin that knows no others."""

    name = "closed"

    def key(self, gang: Gang, pod_set: PodSet) -> Hashable:
        return ""

    def allows(self, key: Hashable, node: NodeClass) -> bool:
        return False


def reason(*shut: str, gpus: int = 1, pods: int = 1, filters: tuple[object, ...] = ()) -> Reason:
    plugins = replace(builtin_plugins(Policy()), filters=filters or (Shut(),))
    labels = [{"shut": each} if each else {} for each in shut]
    nodes = [node(f"n{i}", 2, labels=each) for i, each in enumerate(labels)]
    state = state_of(*nodes, plugins=plugins)
    submit(state, gang("a", pods, gpus))
    found = state.gangs.reason("a/0")
    assert found
    return found


def test_what_may_pass_is_not_for_ever() -> None:
    found = reason("now", "always")
    assert (found.never, found.remedy) == (False, Remedy.WAIT)
    assert found.message == "no node is allowed now: shut on 2"


def test_what_does_not_pass_is_for_ever() -> None:
    found = reason("always", "always")
    assert (found.never, found.remedy) == (True, Remedy.CHANGE)
    assert found.message == "no node is allowed: shut on 2"


def test_a_filter_that_does_not_foresee_is_for_ever() -> None:
    assert not isinstance(Closed(), Foreseeing)
    assert reason("now", filters=(Closed(),)).never
    assert reason("now", filters=(Shut(), Closed())).never


def test_a_node_that_is_too_small_anyway_does_not_give_hope() -> None:
    assert reason("now", gpus=3).never
    assert not reason("now", gpus=2).never


@pytest.mark.parametrize(("shut", "never"), [("now", False), ("always", True)])
def test_a_gang_that_needs_the_shut_node_too_waits_for_it(shut: str, never: bool) -> None:
    assert reason("", shut, gpus=2, pods=2).never is never
