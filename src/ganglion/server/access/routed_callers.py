"""Decides for the router who may reach which service or workspace by its role."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ganglion.model.errors import Forbidden
from ganglion.model.workload import UnixAccount
from ganglion.router.decisions import (
    AskedRole,
    CredentialKind,
    RoleAnswer,
    RoleAnswerKind,
    RoleQuestion,
)
from ganglion.server.access.caller import Caller
from ganglion.server.access.denials import Denials
from ganglion.server.access.operations import ROUTER
from ganglion.server.access.permissions import BadSession, BadToken, Permissions

if TYPE_CHECKING:
    from ganglion.server.loop.service import Service

OPERATION = "connect"
"""What the event of a denial says that such a caller wanted."""
WRONG = "the personal token or session counts for nothing here"


class RoutedCallers:
    """Answers questions of the router; one thread at a time.

    Args:
        service: owns the state.
        permissions: who may do what.
        check: raises NoAccount unless a caller may have programs run as an account.
    """

    def __init__(
        self,
        service: "Service",
        permissions: Permissions,
        check: Callable[[Caller, UnixAccount | None], None],
    ) -> None:
        self._service, self._permissions = service, permissions
        self._check, self._denials = check, Denials(service)

    def answers(self, asked: Sequence[AskedRole]) -> list[RoleAnswer]:
        """Decide each question by the rules as they are now; may wait for a turn to end.

        Raises:
            GanglionError: the rules cannot be read.
        """
        return [self._answer(each) for each in asked]

    def _answer(self, asked: AskedRole) -> RoleAnswer:
        question = asked.question
        try:
            caller = self._caller(question, used=asked.used)
        except (BadToken, BadSession) as error:
            self._denials.note_here("", OPERATION, WRONG)
            return RoleAnswer(question, RoleAnswerKind.UNKNOWN, error.message)
        try:
            kind, message = self._decided(caller, question.workload)
        except Forbidden as error:
            kind, message = RoleAnswerKind.REFUSED, error.message
        self._denials.record_here(caller, OPERATION)
        return RoleAnswer(question, kind, message)

    def _caller(self, question: RoleQuestion, *, used: bool) -> Caller:
        """Who holds a credential. Raises BadToken or BadSession."""
        if question.kind is CredentialKind.TOKEN:
            return self._permissions.holder(question.id, question.digest)
        return self._permissions.signed_in(question.id, question.digest, used=used)

    def _decided(self, caller: Caller, id: str) -> tuple[RoleAnswerKind, str]:
        """Decide about a workload. Raises Forbidden where the caller may know that there is one."""
        with self._service.read() as mind:
            entry = mind.book.entries.get(id)
        rule = ROUTER.get(entry.workload.kind) if entry else None
        if entry is None or rule is None:
            return RoleAnswerKind.HIDDEN, ""
        queue, user = entry.workload.queue, entry.workload.user
        if not caller.sees(queue):
            caller.refused(f"no grant to view queue {queue}", queue)
            return RoleAnswerKind.HIDDEN, ""
        caller.require(rule.verb, rule.kind, queue, user)
        if rule.runs_programs:
            self._check(caller, entry.workload.account)
        return RoleAnswerKind.ALLOWED, ""
