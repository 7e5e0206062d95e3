"""What is written to the status of queues and policies, and when."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.worlds.kubernetes.config.samples import policy, queue, verdict, with_kept

from ganglion.model.resources import Amount
from ganglion.worlds.kubernetes.config.read import configuration
from ganglion.worlds.kubernetes.config.status import QueueFigures, patch_of, share, status_of

EARLIER, NOW = "2026-11-22T10:00:00Z", "2026-11-22T11:00:00Z"
GPUS = {"H100": Amount(gpu_milli=12_000), "cpu": Amount(cpu_milli=500)}


def test_a_queue_says_what_it_uses_deserves_and_has_waiting() -> None:
    found = verdict(configuration([queue("a", 3, weight=2)], []), "a")
    figures = QueueFigures(GPUS, {"H100": Amount(gpu_milli=16_000)}, pending=4, running=2)
    assert status_of(found, {}, NOW, figures) == {
        "conditions": [
            {
                "type": "Accepted",
                "status": "True",
                "reason": "Accepted",
                "message": "in force",
                "observedGeneration": 3,
                "lastTransitionTime": NOW,
            }
        ],
        "inForce": {"generation": 3, "spec": {"weight": 2}},
        "used": {"H100": 12, "cpu": "500m"},
        "deserved": {"H100": 16},
        "share": "75%",
        "pending": 4,
        "running": 2,
    }


def test_a_queue_that_deserves_nothing_has_no_share() -> None:
    assert share(QueueFigures(GPUS, {})) == ""
    assert share(QueueFigures({"*": Amount(gpu_milli=500)}, {"*": Amount(gpu_milli=1500)})) == "33%"


def test_a_condition_keeps_its_time_until_it_turns() -> None:
    good = verdict(configuration([queue("a")], []), "a")
    bad = verdict(configuration([queue("a", 2, weight="x")], []), "a")
    first = status_of(good, {}, EARLIER)
    assert patch_of(first, status_of(good, first, NOW)) == {}
    turned = status_of(bad, first, NOW)
    assert turned["conditions"][0]["lastTransitionTime"] == NOW
    assert turned["conditions"][0]["message"].startswith("spec.weight: ")


def test_what_counts_is_kept_while_the_present_spec_is_wrong() -> None:
    item = with_kept(policy(generation=3, order="fastest"), 2, preset="kai")
    found = verdict(configuration([], [item]), "default", "Policy")
    after = status_of(found, item.status, NOW)
    assert after["inForce"] == item.status["inForce"]
    assert "inForce" not in patch_of(item.status, after)


def test_conditions_of_others_stay() -> None:
    other = {"type": "Reviewed", "status": "True"}
    found = verdict(configuration([queue("a")], []), "a")
    after = status_of(found, {"conditions": [other, "nonsense"]}, NOW)
    assert [each["type"] for each in after["conditions"]] == ["Accepted", "Reviewed"]


def test_a_flavor_that_is_used_no_more_is_removed() -> None:
    found = verdict(configuration([queue("a")], []), "a")
    before = status_of(found, {}, EARLIER, QueueFigures(GPUS))
    after = status_of(found, before, NOW, QueueFigures({"H100": GPUS["H100"]}))
    assert patch_of(before, after) == {"used": {"cpu": None}}


def test_a_spec_with_nulls_comes_to_rest() -> None:
    item = queue("a", priority=None, preemption={"threshold": None})
    found = verdict(configuration([item], []), "a")
    status = status_of(found, {}, NOW)
    assert status["inForce"]["spec"] == {"preemption": {}}
    assert patch_of(merged({}, patch_of({}, status)), status) == {}


VALUES = st.recursive(
    st.integers() | st.text(max_size=3) | st.booleans(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
    ),
    max_leaves=8,
)
MAPPINGS = st.dictionaries(st.sampled_from("abc"), VALUES, max_size=3)


@given(MAPPINGS, MAPPINGS)
def test_a_patch_leads_from_one_status_to_the_other(
    before: dict[str, Any], after: dict[str, Any]
) -> None:
    patch = patch_of(before, after)
    assert merged(before, patch) == after
    assert (patch == {}) == (before == after)


def merged(target: Any, patch: Any) -> Any:
    """RFC 7386, as it is written there."""
    if not isinstance(patch, dict):
        return patch
    found = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            found.pop(key, None)
        else:
            found[key] = merged(found.get(key), value)
    return found
