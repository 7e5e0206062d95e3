"""Whatever is written into a policy file, it is understood or refused in words."""

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from ganglion.model.errors import InputError
from ganglion.specs.policy.policy import parse_policy
from ganglion.specs.policy.schema import ALIASES, KNOB_CHILDREN, SCOPES
from tests.effort import examples

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-3, 10**12)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(["never", "any", "5%", "10m", "H100", "*", "kai", "", "-1", "a", "rack=r1"])
    | st.text(max_size=8)
)
JUNK = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["gpus", "name", "value", "*", "a"]), inner, max_size=3)
    ),
    max_leaves=5,
)


def scope(name: str, **inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """A mapping with keys of a scope and their other names, most of them with junk."""
    keys = [*SCOPES[name].model_fields, *ALIASES.get(name, {}), "unheard-of"]
    junk = st.dictionaries(st.sampled_from(keys), JUNK, max_size=3)
    return st.tuples(junk, st.fixed_dictionaries({}, optional=inner)).map(
        lambda each: each[0] | each[1]
    )


QUEUES = st.lists(
    st.tuples(
        st.fixed_dictionaries(
            {"name": st.sampled_from("abc")}, optional={"parent": st.sampled_from("abcd")}
        ),
        scope("queues", preemption=scope("preemption"), flavors=scope("flavors")),
    ).map(lambda each: each[0] | each[1]),
    max_size=3,
)
FILES = scope(
    "",
    queues=QUEUES | JUNK,
    bookings=st.lists(scope("bookings"), max_size=2) | JUNK,
    **{name: scope(name) | JUNK for name in KNOB_CHILDREN},
)


@given(FILES)
@settings(max_examples=examples(150, nightly=6_000))
def test_a_policy_is_understood_or_refused_in_words(data: dict[str, Any]) -> None:
    try:
        parse_policy(json.dumps(data), "p.yaml", flavors=["H100"])
    except InputError as error:
        assert "p.yaml" in error.message
        assert len(error.message) < 400
