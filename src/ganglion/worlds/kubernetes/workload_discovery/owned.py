"""Gangs that follow from what made their pods."""

from collections.abc import Callable, Sequence

from msgspec import structs

from ganglion.model.errors import InputError
from ganglion.model.workload import Kind
from ganglion.worlds.kubernetes.types.meta import Anything, Meta
from ganglion.worlds.kubernetes.types.pod import Pod
from ganglion.worlds.kubernetes.workload_discovery.annotations import created_ms
from ganglion.worlds.kubernetes.workload_discovery.draft import Draft
from ganglion.worlds.kubernetes.workload_discovery.found import GangOwner
from ganglion.worlds.kubernetes.workload_discovery.home import owner_key
from ganglion.worlds.kubernetes.workload_discovery.rules import family_of
from ganglion.worlds.kubernetes.workload_kinds import reading
from ganglion.worlds.kubernetes.workload_kinds.kinds import (
    INFERENCE_SERVICE,
    KINDS,
    LLM_INFERENCE_SERVICE,
    RAY_SERVICE,
    path_of,
)
from ganglion.worlds.kubernetes.workload_kinds.owners import Chain, ident
from ganglion.worlds.kubernetes.workload_kinds.shape import (
    MAIN,
    ClaimedSeat,
    KindView,
    SetShape,
    of_count,
)

_SERVING = frozenset((INFERENCE_SERVICE, LLM_INFERENCE_SERVICE, RAY_SERVICE))

Chains = Callable[[Pod], Chain]
"""Pod -> its makers."""


def draft_of(
    key: str, pods: Sequence[Pod], chains: Chains, known: Draft | None
) -> tuple[Draft, InputError | None]:
    """The gang of pods with one maker, and what is malformed about it, if anything.

    Args:
        key: of the gang.
        pods: its living pods, by name.
        chains: their makers.
        known: what it was when its makers could last be looked at.
    """
    chain = chains(pods[0])
    if chain.missing and known:
        text = f"its {chain.missing} is not known any more"
        return structs.replace(known, missing=text), None
    draft = _outline(key, pods, chain)
    if chain.missing:
        return structs.replace(draft, missing=f"its {chain.missing} is not known yet"), None
    family = family_of(ident(chain.owner) if chain.owner else None, pods[0])
    view = KindView(chain.owner or Anything(), _below(pods, chains), tuple(pods))
    try:
        shapes, deadlines = tuple(family.sets(view)), _deadlines(chain)
    except InputError as error:
        return (known or draft), error
    return structs.replace(
        draft,
        kind=_kind(family.kind, shapes, chain),
        shapes=shapes,
        seat_of=lambda pod: family.seat(pod, chains(pod).below),
        deadline_s=deadlines,
    ), None


def _outline(key: str, pods: Sequence[Pod], chain: Chain) -> Draft:
    """What does not depend on the form of the owner."""
    owner, top = chain.owner, chain.top
    part = key.removeprefix(owner_key(owner)).strip("/") if owner else ""
    single = owner is None or (part and not part.isdecimal())
    return Draft(
        key=key,
        workload=owner_key(top) if top else key,
        name=top.metadata.name if top else pods[0].metadata.name,
        kind=Kind.BATCH,
        shapes=_crowd(pods),
        seat_of=lambda _: ClaimedSeat(MAIN),
        layers=tuple(each.metadata for each in chain.things),
        owner=owner_of(owner, bool(part) or owner is not top) if owner else None,
        created_ms=0 if single or owner is None else created_ms(owner.metadata),
        index=int(part) if part.isdecimal() else 0,
        top=top.metadata if top else Meta(),
    )


def _crowd(pods: Sequence[Pod]) -> tuple[SetShape, ...]:
    """Pods of which nothing is known but that they exist."""
    return (structs.replace(of_count(MAIN, len(pods), pods[0]), strict=False),)


def _below(pods: Sequence[Pod], chains: Chains) -> tuple[Anything, ...]:
    found = {each.metadata.uid: each for pod in pods for each in chains(pod).below}
    return tuple(sorted(found.values(), key=lambda each: (each.kind, each.metadata.name)))


def _kind(usual: Kind, shapes: tuple[SetShape, ...], chain: Chain) -> Kind:
    """Services by what is above them; one pod that trains nothing with others is a batch job."""
    if any(ident(each) in _SERVING for each in chain.things):
        return Kind.SERVICE
    alone = sum(each.seats for each in shapes) <= 1
    return Kind.BATCH if alone and usual is Kind.TRAIN else usual


def _deadlines(chain: Chain) -> tuple[int, ...]:
    """Limits to the run time in seconds that fields of the makers set."""
    found = []
    for thing in chain.things[: chain.head + 1]:
        policy = reading.branch(thing, "runPolicy")
        for where, holder in (("spec", thing.spec), ("spec.runPolicy", policy)):
            found.append(
                reading.number(holder, "activeDeadlineSeconds", 0, where, reading.MOST_SECONDS)
            )
    return tuple(each for each in found if each)


def owner_of(thing: Anything, shared: bool) -> GangOwner:
    """The owner of a gang; one that answers for more than the gang is not to be suspended."""
    resource = KINDS[ident(thing)]
    meta = thing.metadata
    return GangOwner(
        api_version=thing.api_version,
        kind=thing.kind,
        namespace=meta.namespace,
        name=meta.name,
        uid=meta.uid,
        path=path_of(thing.api_version, resource.plural, meta.namespace, meta.name),
        suspend=() if shared else resource.suspend,
        suspended=_switch(thing, resource.suspend),
    )


def _switch(thing: Anything, fields: tuple[str, ...]) -> bool:
    value: object = thing.spec
    for name in fields[1:]:
        value = value.get(name) if isinstance(value, dict) else None
    return value is True
