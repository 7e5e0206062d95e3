"""The policy in force: understood, checked, set and rolled back; each within one turn."""

from collections.abc import Iterable, Sequence

import structlog
from msgspec.structs import replace

from ganglion.api.policies import PolicyChange, PolicyOutcome
from ganglion.engine.plugins.builtin import check_scores
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.extensions import POINTS, load, of_kinds
from ganglion.model.causes import Cause, CauseKind
from ganglion.model.errors import FieldError, NotFound, PluginError
from ganglion.model.events import PolicySet
from ganglion.model.fleet.booking import Booking
from ganglion.model.policy import Policy
from ganglion.model.queue import Queue
from ganglion.server.commands import bookings, queue_changes
from ganglion.server.state.transaction import Mind, Transaction
from ganglion.specs.policy.policy import PolicyFile, parse_policy
from ganglion.specs.policy.printing import Change, changes, policy_document
from ganglion.specs.policy.queue_tree import (
    below_quota,
    entitled_to_nothing,
    lent_beyond_quota,
    overcommitted,
    parents_first,
)
from ganglion.specs.wording import first_of, noted

BARE = Policy(scores=())
DEFAULT = "preset: default\n"
"""Version 0: what is in force before any policy was set."""
APPLIED = Cause(CauseKind.POLICY_APPLIED)
"""Cause of a policy that came by request."""
STARTED = Cause(CauseKind.POLICY_OF_SERVER)
"""Cause of a policy that came by `ganglion up`."""

log = structlog.get_logger(__name__)


def flavors_of(state: ClusterState) -> list[str]:
    """Flavors of the nodes there are, by name."""
    nodes = state.fleet.nodes.items()
    there = [node for name, node in nodes if not state.fleet.tree.is_gone(name)]
    return sorted({name for node in there for name in (node.kind, node.cpu_kind)})


def current(mind: Mind) -> PolicySet:
    """The policy in force with where it came from."""
    if mind.book.policies:
        return mind.book.policies[-1]
    return PolicySet(
        0, mind.state.config.policy, 0, cause=Cause(CauseKind.POLICY_BUILT_IN), text=DEFAULT
    )


def version(mind: Mind, number: int) -> PolicySet:
    """A policy that was once in force. Raises NotFound."""
    if number == 0:
        return PolicySet(0, Policy(), 0, cause=Cause(CauseKind.POLICY_BUILT_IN), text=DEFAULT)
    for each in mind.book.policies:
        if each.version == number:
            return each
    last = current(mind).version
    raise NotFound(f"there is no version {number} of the policy", f"the newest is {last}")


def check(mind: Mind, file: PolicyFile) -> PolicyOutcome:
    """Say what setting a policy would do; nothing changes.

    Raises:
        FieldError: it names what does not exist; all that is wrong.
        Conflict: a queue that is in use would go or move.
    """
    booked = _checked(mind, file)
    queue_changes.check(mind.state, file)
    found = _differences(mind, file, booked)
    return PolicyOutcome(current(mind).version, changed(found), tuple(warnings(mind, file)))


def check_queue(mind: Mind, queue: Queue) -> PolicyOutcome:
    """Say what setting one queue would do; nothing changes. Of warnings those that are new.

    Raises:
        FieldError: its guarantees do not fit those above and below it; all that is wrong.
        Conflict: it would lie under itself, get gangs and queues at once, or move in use.
    """
    present = mind.state.queues.by_name
    queue_changes.check_one(mind.state, queue)
    after = parents_first({**present, queue.name: queue}.values())
    policy, places = mind.state.config.policy, {queue.name: 0}
    found = check(mind, PolicyFile(policy, after, places=places))
    known = warnings(mind, PolicyFile(policy, tuple(present.values())))
    return replace(found, warnings=tuple(each for each in found.warnings if each not in known))


def changed(found: Iterable[Change]) -> tuple[PolicyChange, ...]:
    """Differences of two policies as they are answered."""
    return tuple(PolicyChange(each.key, each.before, each.after) for each in found)


def _checked(
    mind: Mind, file: PolicyFile, problems: Iterable[FieldError] = ()
) -> tuple[Booking, ...] | None:
    """The bookings of a policy. Raises FieldError with the given problems and all others."""
    found = list(problems)
    noted(lambda: check_plugins(file), found)
    booked = noted(lambda: bookings.of_file(mind, file), found)
    if found:
        raise first_of(found)
    return booked


def set_policy(
    draft: Transaction,
    file: PolicyFile,
    user: str,
    cause: Cause,
    *,
    allow_unknown_flavors: bool = False,
) -> PolicyOutcome:
    """Let a policy decide from now on; one that changes nothing is not set.

    Raises:
        InputError: it names something that does not exist.
        Conflict: a queue that is in use would go or move.
    """
    if file.unknown and not allow_unknown_flavors:
        _checked(draft.mind, file, map(_unknown, file.unknown))
    found = check(draft.mind, file)
    if not found.changes:
        return found
    before = draft.state.config.policy
    queue_changes.carry_out(draft, file.queues)
    bookings.carry_out(draft, bookings.of_file(draft.mind, file))
    number = found.version + 1
    draft.record(
        PolicySet(draft.now, file.policy, number, user, cause, file.text, queues=file.queues)
    )
    if plugin_names(before) != plugin_names(file.policy):
        draft.renewed = True
    return replace(found, version=number)


def roll_back(draft: Transaction, number: int, user: str) -> PolicyOutcome:
    """Put a former version in force again, as a new one; bookings stay.

    Raises:
        NotFound: there is no such version.
        PluginError: it names a plugin that is gone.
        Conflict: a queue that is in use would go or move.
    """
    former = version(draft.mind, number)
    file = PolicyFile(former.policy, former.queues, text=former.text)
    cause = Cause(CauseKind.POLICY_ROLLED_BACK, number=number)
    return set_policy(draft, file, user, cause, allow_unknown_flavors=True)


def keep(draft: Transaction, file: PolicyFile, user: str) -> None:
    """Take in the policy that a server was started with, unless it was the last time too.

    So a policy that was set since then stays in force over any restart.

    Raises:
        InputError, Conflict: as `set_policy`.
    """
    before = [each for each in draft.book.policies if each.cause == STARTED]
    here = parse_policy(file.text, file.name, flavors_of(draft.state))
    if before and (before[-1].policy, before[-1].queues) == (here.policy, here.queues):
        return
    found = set_policy(draft, here, user, STARTED, allow_unknown_flavors=True)
    for each in found.warnings:
        log.warning("policy", warning=each)


def owns_queues(mind: Mind) -> bool:
    """Whether a policy has defined the queues, so that no other file does."""
    return any(each.queues is not None for each in mind.book.policies)


def warnings(mind: Mind, file: PolicyFile) -> list[str]:
    """What looks wrong but is no error."""
    queues = tuple(mind.state.queues.by_name.values()) if file.queues is None else file.queues
    found = [f"{each}{f' ({each.hint})' if each.hint else ''}" for each in file.unknown]
    checks = (overcommitted, below_quota, lent_beyond_quota, entitled_to_nothing)
    odd = [each for check in checks for each in check(queues)]
    return found + [f"{each.problem}: {each.hint}" for each in odd]


def plugin_names(policy: Policy) -> tuple[object, ...]:
    """What decides which plugins are loaded."""
    return (
        policy.scores,
        policy.filters,
        policy.permits,
        policy.preempts,
        of_kinds(policy),
    )


def check_plugins(file: PolicyFile) -> None:
    """Every plugin of a policy can be loaded. Raises FieldError with all that cannot."""
    problems: list[FieldError] = []
    for point in POINTS:
        try:
            load(replace(BARE, **{point: getattr(file.policy, point)}))
        except PluginError as error:
            problems.append(file.wrong(error.message, (point,), error.hint))
    try:
        loaded = load(replace(BARE, kinds=file.policy.kinds))
    except PluginError as error:
        raise first_of([*problems, file.wrong(error.message, ("kinds",), error.hint)]) from error
    for queue in file.queues or ():
        for kind, each in queue.kinds.items():
            try:
                check_scores(loaded, each.scores)
            except FieldError as error:
                path = ("queues", file.places[queue.name], "kinds", str(kind), "scores")
                problems.append(file.wrong(error.problem, path, error.hint))
    if problems:
        raise first_of(problems)


def _unknown(each: FieldError) -> FieldError:
    hint = f"{each.hint}; --allow-unknown-flavors takes it for nodes that are to come"
    return FieldError(
        each.problem, key=each.key, file=each.file, line=each.line, column=each.column, hint=hint
    )


def _differences(mind: Mind, file: PolicyFile, booked: Sequence[Booking] | None) -> list[Change]:
    state, present = mind.state, tuple(bookings.there_are(mind).values())
    queues = state.queues.by_name.values() if file.queues is None else file.queues
    before = policy_document(state.config.policy, _by_name(state.queues.by_name.values()), present)
    after = policy_document(file.policy, _by_name(queues), present if booked is None else booked)
    return changes(before, after)


def _by_name(queues: Iterable[Queue]) -> list[Queue]:
    return sorted(queues, key=lambda each: each.name)
