"""Puts together what is known of a gang and its living pods."""

from collections.abc import Sequence

from msgspec import structs

from ganglion.model.errors import InputError
from ganglion.model.plan import SavePoint
from ganglion.model.workload import SPARE, Kind, Topology
from ganglion.worlds.kubernetes import markers, names
from ganglion.worlds.kubernetes.types.bounds import brief
from ganglion.worlds.kubernetes.types.pod import Pod
from ganglion.worlds.kubernetes.workload_discovery.annotations import Levels, Said, created_ms
from ganglion.worlds.kubernetes.workload_discovery.complete import at_odds, is_coming, lacking
from ganglion.worlds.kubernetes.workload_discovery.draft import Draft, found_sets, gang_topology
from ganglion.worlds.kubernetes.workload_discovery.found import FoundGang, FoundSet, Member
from ganglion.worlds.kubernetes.workload_discovery.seats import Held, Seating

NEVER = "Never"


def found_of(
    draft: Draft,
    pods: Sequence[Pod],
    held: Held,
    levels: Levels,
    wrong: InputError | None = None,
    gate: str = names.GATE,
) -> FoundGang:
    """The gang of a draft with these living pods, of which there is at least one.

    Args:
        draft: what is known apart from the pods.
        pods: living pods.
        held: where they sat before.
        levels: what node labels mean.
        wrong: what is malformed about its owner, if anything.
        gate: scheduling gate that is ours to lift.
    """
    members, spare = Seating(draft.shapes, draft.seat_of, held).seat(pods)
    first = members[0].pod if members else spare[0]
    said = Said((first.metadata, *draft.layers))
    lacks = lacking(draft, members, gate)
    bare = structs.replace(
        _bare(draft, members, spare, first, said),
        lacking=lacks,
        is_coming=bool(lacks and members) and is_coming(draft, members, gate),
    )
    if wrong:
        return structs.replace(bare, refused=_reason(wrong))
    try:
        return _complete(bare, draft, said, first, levels)
    except InputError as error:
        return structs.replace(bare, refused=_reason(error))


def _reason(error: InputError) -> str:
    return brief(f"{error.message}; {error.hint}" if error.hint else error.message)


def _bare(
    draft: Draft, members: tuple[Member, ...], spare: tuple[Pod, ...], first: Pod, said: Said
) -> FoundGang:
    """What cannot be malformed."""
    pods = [each.pod for each in members] or list(spare)
    return FoundGang(
        key=draft.key,
        workload=draft.workload,
        name=draft.name,
        namespace=first.metadata.namespace,
        kind=draft.kind,
        queue=said.queue(),
        priority=first.spec.priority or 0,
        preemptible=True,
        preempts=all(each.spec.preemption_policy != NEVER for each in pods),
        sets=_plain_sets(draft, members),
        members=members,
        spare=spare,
        owner=draft.owner,
        created_ms=draft.created_ms or min(created_ms(each.metadata) for each in pods),
        index=draft.index,
        creator=_creator(draft, first),
    )


def _creator(draft: Draft, first: Pod) -> str:
    """Who created the topmost object; what others created in between has the controllers' names.

    A pod with a controller is never asked: its template may say anything.
    """
    maker = draft.top if first.metadata.controller else first.metadata
    return maker.annotations.get(names.CREATED_BY, "")


def _plain_sets(draft: Draft, members: tuple[Member, ...]) -> tuple[FoundSet, ...]:
    first = {each.pod_set: each.pod for each in reversed(members)}
    return tuple(
        FoundSet(
            name=each.name,
            count=each.count,
            least=each.least,
            request=first.get(each.name, each.template),
            seats=each.seats,
            upfront=each.upfront,
        )
        for each in draft.shapes
    )


def _complete(bare: FoundGang, draft: Draft, said: Said, first: Pod, levels: Levels) -> FoundGang:
    sets = found_sets(draft, bare.members, levels)
    topology = gang_topology(draft.layers, sets, levels) if draft.layers else Topology()
    grace_s = first.spec.termination_grace_period_seconds

    def queue_of(pod: Pod) -> str:
        return Said((pod.metadata, *draft.layers)).queue()

    kind = said.kind(draft.kind)
    spare = kind is Kind.SWEEP and said.is_spare(bare.index)
    claimed = 0 if bare.priority or spare else said.priority()
    return structs.replace(
        bare,
        kind=kind,
        priority=SPARE if spare else bare.priority or claimed,
        claimed=claimed,
        preemptible=said.truth(names.PREEMPTIBLE, True),
        sets=sets,
        topology=topology,
        refused=at_odds(bare.members, queue_of),
        time_limit_ms=said.duration(names.TIME_LIMIT) or _deadline(draft, said, first),
        ready_within_ms=said.ready_within(),
        expected_ms=said.duration(names.EXPECTED),
        deadline_ms=said.deadline(bare.created_ms),
        checkpoint=said.checkpoint(grace_s),
        saved=_saved(bare.members, draft),
        floor=said.floor(),
    )


def _deadline(draft: Draft, said: Said, first: Pod) -> int:
    """The tightest of the limits that others enforce, in ms."""
    fields = (1000 * each for each in (*draft.deadline_s, first.spec.active_deadline_seconds or 0))
    limits = (said.seconds(markers.KUEUE_LIMIT), *fields)
    return min((each for each in limits if each), default=0)


def _saved(members: tuple[Member, ...], draft: Draft) -> SavePoint | None:
    """The latest checkpoint that any pod, or the owner, wrote down."""
    layers = (*(each.pod.metadata for each in members), *draft.layers)
    saved = (Said((each,)).saved() for each in layers)
    return max((each for each in saved if each), key=lambda each: each.at, default=None)
