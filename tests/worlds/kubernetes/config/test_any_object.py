"""Whatever one `Queue` or `Policy` object holds, others are read as if it were not there."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.effort import examples
from tests.specs.policy.test_policy_fuzz import FILES, JUNK, scope
from tests.worlds.kubernetes.config.samples import queue, thing, verdict

from ganglion.worlds.kubernetes.config.read import configuration
from ganglion.worlds.kubernetes.config.status import LONGEST_MESSAGE, status_of
from ganglion.worlds.kubernetes.config.tenants import KEYS
from ganglion.worlds.kubernetes.types.meta import Anything

SELECTOR = st.dictionaries(st.sampled_from(["matchLabels", "matchExpressions", "x"]), JUNK)
NAMESPACES = st.dictionaries(st.sampled_from(["names", "selector", "x"]), JUNK | SELECTOR)
ODD = st.sampled_from([float("nan"), float("inf"), b"", {1: 2}, "\ud800", {"a": {1, 2}}])
TENANTS = st.dictionaries(st.sampled_from([*KEYS, "name", "weight"]), JUNK | NAMESPACES | ODD)
PARENTS = st.fixed_dictionaries({}, optional={"parent": st.sampled_from(["a", "b", "c", "good"])})
QUEUE = st.tuples(
    scope("queues", preemption=scope("preemption"), flavors=scope("flavors")), TENANTS, PARENTS
).map(lambda each: each[0] | each[1] | each[2])
POLICY = FILES | st.dictionaries(st.text(max_size=4), JUNK | ODD, max_size=3)
GOOD = (
    queue("good", quota={"H100": 8}),
    queue("under", parent="good", namespaces={"names": ["t"]}),
)


def objects(specs: dict[str, dict[str, Any]], kept: dict[str, Any]) -> list[Anything]:
    """Queues of these specs; the status of one of them keeps something else."""
    found = [thing("Queue", name, 1, spec) for name, spec in specs.items()]
    before = {"inForce": {"generation": 1, "spec": kept}}
    return [replace(found[0], status=before), *found[1:]] if found else []


@given(st.dictionaries(st.sampled_from("abc"), QUEUE, max_size=3), QUEUE, POLICY, POLICY)
@settings(max_examples=examples(60, 2000))
def test_any_object_is_read_or_refused_in_words_and_others_are_unaffected(
    specs: dict[str, dict[str, Any]],
    kept: dict[str, Any],
    said: dict[str, Any],
    old: dict[str, Any],
) -> None:
    before = {"inForce": {"generation": 1, "spec": old}}
    deciding = replace(thing("Policy", "default", 2, said), status=before)
    found = configuration([*objects(specs, kept), *GOOD], [deciding], flavors=["H100"])
    alone = configuration(GOOD, [deciding], flavors=["H100"])
    by_name = {each.name: each for each in found.queues}
    assert {each.name: each for each in alone.queues} == {
        each: by_name[each] for each in ("good", "under")
    }
    assert found.tenancy.of("under") == alone.tenancy.of("under")
    assert {each.name for each in found.verdicts} == {*specs, "good", "under", "default"}
    for each in found.verdicts:
        assert each.accepted or each.message.startswith(("spec", "the spec is not JSON"))
        assert len(each.message) < LONGEST_MESSAGE
        status_of(each, {}, "2026-01-01T00:00:00Z")
    assert verdict(found, "good").accepted
    assert verdict(found, "under").accepted
