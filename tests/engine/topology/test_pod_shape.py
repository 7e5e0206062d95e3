"""Shapes that are derived from others keep what the others say."""

from collections.abc import Callable

import pytest

from ganglion.engine.topology.pod_shape import Shape, excluding, of_type, shapes_of, times
from ganglion.model.kinds import Weighted
from tests.engine.build import gang

DERIVED: dict[str, tuple[str, Callable[[Shape], Shape]]] = {
    "other flavors": ("without", lambda shape: excluding(shape, ("H100",))),
    "one type": ("request", lambda shape: of_type(shape, "H100")),
    "several as one": ("request", lambda shape: times(shape, 2, None)),
}


@pytest.mark.parametrize(("changed", "derive"), DERIVED.values(), ids=DERIVED)
def test_a_derived_shape_is_scored_and_ranked_as_the_one_it_comes_from(
    changed: str, derive: Callable[[Shape], Shape]
) -> None:
    (plain,) = shapes_of(gang("g"), (), (Weighted("memory"),))
    shape = Shape(
        **{name: getattr(plain, name) for name in Shape.__struct_fields__} | {"ranks": ((1,),)}
    )
    derived = derive(shape)
    same = [each for each in Shape.__struct_fields__ if each != changed]
    assert [getattr(derived, each) for each in same] == [getattr(shape, each) for each in same]
    assert getattr(derived, changed) != getattr(shape, changed)
