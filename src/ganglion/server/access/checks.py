"""What is asked of a caller beyond a role: queues in bodies and filters, and whose programs run."""

from hashlib import sha256
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ganglion.identity.roles import AccessVerb, ResourceKind
from ganglion.model.errors import FieldError, GanglionError, NoAccount
from ganglion.model.workload import UnixAccount
from ganglion.server.access.caller import Caller
from ganglion.server.access.visible import located
from ganglion.server.accounts.settings import SharedHost
from ganglion.server.commands.submission.submit_rules import queue_of
from ganglion.server.rest.filters import RowFilter
from ganglion.server.state.transaction import Mind
from ganglion.specs.workload.behaviour import awaited
from ganglion.specs.workload.workload import WorkloadFile

if TYPE_CHECKING:
    from ganglion.ledger.ledger import Ledger

NONE = frozenset({"/"})
"""No queue has this name."""
SERVERS = (
    "programs run as the account of this server, which may do everything here;"
    " only role admin on the whole fleet may have its own programs run so"
)
"""The rule by which programs of users without an account are refused."""
MAP = "the owner names an account for {user} in accounts.yaml: see docs/access.md#a-shared-host"


def account_of(caller: Caller, host: SharedHost | None) -> UnixAccount | None:
    """The account that programs of a caller run as; None = that of the server.

    Raises:
        NoAccount: it has none, and may not do everything here.
    """
    found = host.of(caller.subject.user) if host else None
    if found is None:
        _check_servers(caller)
    return found


def check_account(caller: Caller, host: SharedHost | None, account: UnixAccount | None) -> None:
    """Check that a caller may have programs run as the account that a workload has.

    Args:
        caller: who asks.
        host: accounts of users; None = there are none.
        account: of the workload; None = that of the server.

    Raises:
        NoAccount: it is that of another user.
    """
    own = host.of(caller.subject.user) if host else None
    if account is None:
        _check_servers(caller)
    elif account != own and not caller.may(AccessVerb.HALT, ResourceKind.SERVER).allowed:
        rule = f"its programs run as account {account}, which is another user's"
        raise caller.refused(rule, why=NoAccount, hint="submit one of your own")


def _check_servers(caller: Caller) -> None:
    """Raises NoAccount unless a caller can do as much by other ways as by a program."""
    if not caller.may(AccessVerb.HALT, ResourceKind.SERVER).allowed:
        hint = MAP.format(user=caller.subject.user)
        raise caller.refused(SERVERS, why=NoAccount, hint=hint)


def narrowed(caller: Caller, want: RowFilter) -> RowFilter:
    """A filter that passes only what the caller may see."""
    if caller.sees_all:
        return want
    seen = caller.queues & want.queues if want.queues else caller.queues
    return replace(want, queues=seen or NONE)


def check_submit(caller: Caller, mind: Mind, ledger: "Ledger", file: WorkloadFile) -> None:
    """Check that a caller may submit a workload file, and see what that waits for.

    Raises:
        Forbidden: it may see the queue, and not submit to it.
        FieldError: it names what the caller may not see, as what does not exist.
    """
    if caller.trusted:
        return
    check_target(caller, queue_of(mind.state, file))
    if file.schedule:
        # It would go on after the grants have ended.
        raise caller.refused("a schedule needs role admin on the whole fleet")
    if caller.sees_all:
        return
    for name in (*awaited(file.after, well=True), *awaited(file.after, well=False)):
        try:
            located(mind, ledger, name, caller)
        except GanglionError:
            raise FieldError(
                f"there is no workload {name!r} to wait for",
                key="after",
                hint="submit that one first",
            ) from None


def check_target(caller: Caller, queue: str) -> None:
    """Check that a caller may have work in a queue.

    Raises:
        Forbidden: it may see the queue, and not submit to it.
        FieldError: it may not see the queue, as where there is none.
    """
    if not caller.sees(queue):
        raise FieldError(f"there is no queue {queue!r}", key="queue", hint="see: ganglion queues")
    caller.require(AccessVerb.SUBMIT, ResourceKind.WORKLOAD, queue, caller.subject.user)


def may_audit(caller: Caller, queue: str) -> bool:
    """Whether a caller may see who entered the pods of a queue."""
    found = caller.may(AccessVerb.AUDIT, ResourceKind.ACCESS, queue)
    return found.allowed


def own_key(caller: Caller, key: str) -> str:
    """The idempotency key of a request; those of two users are never the same."""
    if not key or not caller.token:
        return key
    user = sha256(caller.subject.user.encode()).hexdigest()[:16]
    return f"{user}:{sha256(key.encode()).hexdigest()}"
