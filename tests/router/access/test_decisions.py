"""Answers about callers count for as long as they say, and questions reach the next server."""

import asyncio

import pytest

from ganglion.router import decisions as module
from ganglion.router.decisions import (
    GRACE_S,
    LASTS_S,
    WAIT_S,
    AskedRole,
    CredentialKind,
    RoleAnswer,
    RoleAnswerKind,
    RoleDecisions,
    RoleQuestion,
    question_of,
)
from tests.faults.clock import HandClock

K = RoleAnswerKind
ASKED = question_of("w-1", CredentialKind.TOKEN, "secret")


class Router:
    """The questions of one router, and a server that answers them on request."""

    def __init__(self) -> None:
        self.clock = HandClock()
        self.decisions = RoleDecisions(self.clock)

    async def ask(self, question: RoleQuestion, says: RoleAnswerKind | None) -> RoleAnswerKind:
        """Ask as a request does; a server decides meanwhile, unless there is none."""
        found = asyncio.create_task(self.decisions.answer(question))
        await asyncio.sleep(0)
        if says:
            taken = await self.decisions.questions(0)
            self.decisions.decided([RoleAnswer(each.question, says) for each in taken])
        return (await found).kind


def test_an_answer_counts_for_a_second() -> None:
    async def story() -> None:
        router = Router()
        assert await router.ask(ASKED, K.ALLOWED) is K.ALLOWED
        router.clock.sleep(LASTS_S * 0.9)
        assert await router.ask(ASKED, K.REFUSED) is K.ALLOWED
        router.clock.sleep(LASTS_S * 0.2)
        assert await router.ask(ASKED, K.REFUSED) is K.REFUSED

    asyncio.run(story())


def test_without_a_server_what_was_allowed_counts_for_a_minute_and_refusals_do_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "WAIT_S", 0.01)

    async def story() -> None:
        router, other = Router(), question_of("w-1", CredentialKind.TOKEN, "other")
        assert await router.ask(ASKED, K.ALLOWED) is K.ALLOWED
        assert await router.ask(other, K.REFUSED) is K.REFUSED
        router.clock.sleep(GRACE_S - 1)
        assert await router.ask(ASKED, None) is K.ALLOWED
        assert await router.ask(other, None) is K.UNDECIDED
        router.clock.sleep(2)
        assert await router.ask(ASKED, None) is K.UNDECIDED

    asyncio.run(story())


def test_a_question_that_a_server_took_to_its_grave_goes_to_the_next_one() -> None:
    async def story() -> None:
        router = Router()
        found = asyncio.create_task(router.decisions.answer(ASKED))
        await asyncio.sleep(0)
        assert await router.decisions.questions(0) == (AskedRole(ASKED),)
        assert await router.decisions.questions(0) == ()
        router.clock.sleep(WAIT_S * 1.1)
        assert await router.decisions.questions(0) == (AskedRole(ASKED),)
        router.decisions.decided([RoleAnswer(ASKED, K.ALLOWED)])
        assert (await found).kind is K.ALLOWED

    asyncio.run(story())


def test_so_many_open_questions_are_kept_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_OPEN", 2)

    async def story() -> None:
        router = Router()
        first, second, third = (
            question_of("w-1", CredentialKind.TOKEN, name) for name in ("a", "b", "c")
        )
        waiting = [asyncio.create_task(router.decisions.answer(each)) for each in (first, second)]
        await asyncio.sleep(0)
        assert await router.ask(third, None) is K.UNDECIDED
        assert await router.ask(first, K.ALLOWED) is K.ALLOWED
        assert [each.kind for each in await asyncio.gather(*waiting)] == [K.ALLOWED, K.ALLOWED]

    asyncio.run(story())
