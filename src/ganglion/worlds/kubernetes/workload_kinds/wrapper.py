"""AppWrappers: several objects that start together."""

from typing import Any

from msgspec import ValidationError, convert, structs

from ganglion.model.errors import InputError
from ganglion.model.workload import Kind
from ganglion.worlds.kubernetes.types.meta import Anything
from ganglion.worlds.kubernetes.types.pod import Pod
from ganglion.worlds.kubernetes.workload_kinds import reading
from ganglion.worlds.kubernetes.workload_kinds.families import FAMILIES
from ganglion.worlds.kubernetes.workload_kinds.kinds import POD
from ganglion.worlds.kubernetes.workload_kinds.owners import ident
from ganglion.worlds.kubernetes.workload_kinds.shape import (
    MAIN,
    ClaimedSeat,
    Family,
    KindView,
    SetShape,
    of_count,
)


def sets(view: KindView) -> list[SetShape]:
    """Those of all components, each named for its own."""
    where = "spec.components"
    found = reading.listing(view.owner.spec.get("components"), where)
    return [
        shape
        for index, each in enumerate(found)
        for shape in _component(view, each, f"{where}[{index}].template")
    ]


def _component(view: KindView, found: dict[str, Any], where: str) -> list[SetShape]:
    body = reading.mapping(found.get("template"), where)
    thing = _thing(body, where)
    name = thing.metadata.name
    if ident(thing) == POD:
        return [of_count(name, 1, reading.template(body, where))]
    family = FAMILIES.get(ident(thing))
    if family is None:
        return []
    live = next((each for each in view.below if _same(each, thing)), thing)
    inner = KindView(live, view.below, view.pods)
    return [structs.replace(each, name=_joined(name, each.name)) for each in family.sets(inner)]


def _thing(body: dict[str, Any], where: str) -> Anything:
    try:
        return convert(body, Anything, strict=False)
    except ValidationError as error:
        raise InputError(f"{where} is no object: {error}") from None


def _same(one: Anything, other: Anything) -> bool:
    return ident(one) == ident(other) and one.metadata.name == other.metadata.name


def _joined(component: str, name: str) -> str:
    return component if name == MAIN else f"{component}-{name}"


def seat(pod: Pod, below: tuple[Anything, ...]) -> ClaimedSeat:
    """Where the component puts it."""
    if not below:
        return ClaimedSeat(pod.metadata.name, 0)
    component = below[-1]
    family = FAMILIES.get(ident(component))
    inner = family.seat(pod, below[:-1]) if family else ClaimedSeat(MAIN)
    return structs.replace(inner, pod_set=_joined(component.metadata.name, inner.pod_set))


FAMILY = Family(Kind.TRAIN, sets, seat)
