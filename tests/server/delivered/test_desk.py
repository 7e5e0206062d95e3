"""Questions to schedulers of clusters, between those who ask and the polls that fetch them."""

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from ganglion.api.asked.answers import QuestionAnswer
from ganglion.api.asked.questions import WHY, AskedQuestion, QuestionPoll, WhyQuestion
from ganglion.model.errors import Conflict, NotFound, RateLimited
from ganglion.seams.clock import SystemClock
from ganglion.seams.effects import SYSTEM
from ganglion.server.delivered import desk as module
from ganglion.server.delivered.desk import QuestionDesk, Unanswered

ASKED = WhyQuestion("lab/Job/train/uid")
LONG = 60.0


class SteadyClock(SystemClock):
    """A steady clock that is moved by hand, and counts who looks at it."""

    def __init__(self) -> None:
        self.time, self.looks = 1000.0, 0

    def monotonic(self) -> float:
        self.looks += 1
        return self.time


class Room:
    """A desk, what asks it and what polls it, in one loop."""

    def __init__(self) -> None:
        self.clock = SteadyClock()
        self.desk = QuestionDesk(SYSTEM._replace(clock=self.clock))

    def asks(
        self, cluster: str = "east", user: str = "ada", within_s: float = LONG
    ) -> asyncio.Task[QuestionAnswer]:
        return asyncio.create_task(self.desk.ask(cluster, ASKED, user, within_s))

    def polls(
        self, scheduler: str = "s1", cluster: str = "east", newest: str = "", **more: Any
    ) -> asyncio.Task[tuple[AskedQuestion, ...]]:
        more = {"kinds": (WHY,), "room": 4, "wait_ms": 25_000, **more}
        return asyncio.create_task(self.desk.poll(cluster, QuestionPoll(scheduler, **more), newest))

    async def polled(self, scheduler: str = "s1", **more: Any) -> tuple[AskedQuestion, ...]:
        return await self.polls(scheduler, **more, wait_ms=1)


def played(story: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(story, 30))


async def settled() -> None:
    """Until every task has come as far as it can."""
    for _ in range(10):
        await asyncio.sleep(0)


def test_a_question_wakes_the_poll_that_waits_and_its_answer_who_asked() -> None:
    async def story() -> None:
        room = Room()
        poll = room.polls()
        await settled()
        asked = room.asks()
        (found,) = await poll
        assert found.question == ASKED
        answer = QuestionAnswer("s1", found.id, 7)
        room.desk.answered("east", answer)
        assert await asked == answer
        assert (room.desk.open, room.desk.held) == (0, 0)

    played(story())


def test_a_question_waits_for_the_next_poll_of_a_scheduler_that_is_there() -> None:
    async def story() -> None:
        room = Room()
        assert await room.polled() == ()
        first, second = room.asks(), room.asks()
        await settled()
        assert len(await room.polled(room=1)) == 1
        assert room.desk.open == 2
        first.cancel()
        second.cancel()

    played(story())


def test_without_a_poll_for_a_while_or_for_its_kind_a_question_is_not_asked() -> None:
    async def story() -> None:
        room = Room()
        with pytest.raises(Unanswered, match="no scheduler of cluster east asks"):
            await room.asks()
        await room.polled(kinds=("later",))
        with pytest.raises(Unanswered, match=r"does not answer such questions \(why\)"):
            await room.asks()
        await room.polled()
        room.clock.time += module.PRESENT_S + 1
        with pytest.raises(Unanswered, match="no scheduler of cluster east asks"):
            await room.asks()
        room.polls()
        await settled()
        asked = room.asks()  # a poll is held, however long
        await settled()
        assert room.desk.open == 1
        asked.cancel()

    played(story())


def test_an_answer_after_the_time_is_dropped() -> None:
    async def story() -> None:
        room = Room()
        poll = room.polls()
        await settled()
        asked = room.asks(within_s=0.01)
        (found,) = await poll
        with pytest.raises(Unanswered, match=r"did not answer within 0\.01 s"):
            await asked
        with pytest.raises(NotFound, match="no open question"):
            room.desk.answered("east", QuestionAnswer("s1", found.id))
        with pytest.raises(Unanswered, match="did not ask for the question within"):
            await room.asks(within_s=0.01)
        assert await room.polled() == ()

    played(story())


def test_a_question_that_was_lost_on_the_way_is_sent_again() -> None:
    async def story() -> None:
        room = Room()
        await room.polled()
        asked = room.asks()
        await settled()
        (first,) = await room.polled()
        assert await room.polled(open=(first.id,)) == ()
        (again,) = await room.polled()
        assert again.id == first.id
        room.desk.answered("east", QuestionAnswer("s1", first.id))
        await asked

    played(story())


def test_another_leader_gets_what_is_open_and_the_old_one_is_refused() -> None:
    async def story() -> None:
        room = Room()
        old = room.polls("s1")
        await settled()
        asked = room.asks()
        (found,) = await old
        (moved,) = await room.polled("s2")
        assert moved.id == found.id
        with pytest.raises(Conflict, match="not one to scheduler s1"):
            room.desk.answered("east", QuestionAnswer("s1", found.id))
        with pytest.raises(Conflict, match="s2 is"):
            await room.polled("s1")
        with pytest.raises(Conflict, match="s3 is"):
            await room.polled("s2", newest="s3")
        room.desk.answered("east", QuestionAnswer("s2", found.id, 9))
        assert (await asked).at == 9

    played(story())


def test_answers_to_what_was_not_asked_of_the_cluster_are_refused() -> None:
    async def story() -> None:
        room = Room()
        await room.polled()
        await room.polls("s1", "west", wait_ms=1)
        asked = room.asks()
        await settled()
        (found,) = await room.polled()
        for cluster, name in (("west", found.id), ("east", "guess"), ("north", found.id)):
            with pytest.raises(NotFound):
                room.desk.answered(cluster, QuestionAnswer("s1", name))
        assert not asked.done()
        asked.cancel()

    played(story())


def test_who_asks_the_same_within_a_moment_gets_the_same_answer() -> None:
    async def story() -> None:
        room = Room()
        poll = room.polls()
        await settled()
        asked = asyncio.create_task(room.desk.ask("east", ASKED, "ada", LONG, 2.0))
        (found,) = await poll
        answer = QuestionAnswer("s1", found.id, 7)
        room.desk.answered("east", answer)
        assert await asked == answer
        assert await room.desk.ask("east", ASKED, "eve", LONG, 2.0) == answer
        with pytest.raises(Unanswered):
            await room.desk.ask("east", WhyQuestion("other"), "eve", 0.01, 2.0)
        room.clock.time += 2.1
        with pytest.raises(Unanswered, match="did not ask for the question"):
            await room.desk.ask("east", ASKED, "eve", 0.01, 2.0)

    played(story())


def test_a_caller_and_a_cluster_have_a_bounded_number_of_questions_open() -> None:
    async def story() -> None:
        room = Room()
        await room.polled()
        mine = [room.asks() for _ in range(module.MOST_OF_CALLER)]
        await settled()
        with pytest.raises(RateLimited, match="ada has 8 questions"):
            await room.asks()
        others = [room.asks(user=f"u{n}") for n in range(module.MOST_OF_CLUSTER - len(mine))]
        await settled()
        with pytest.raises(RateLimited, match="cluster east has 32 questions"):
            await room.asks(user="last")
        for each in (*mine, *others):
            each.cancel()
        await settled()
        assert room.desk.open == 0
        await room.polled()
        again = room.asks()
        await settled()
        assert room.desk.open == 1
        again.cancel()

    played(story())


def test_a_later_poll_ends_those_before_it_and_the_end_of_the_server_all() -> None:
    async def story() -> None:
        room = Room()
        first = room.polls()
        await settled()
        second = room.polls()
        assert await first == ()
        room.desk.close()
        assert await second == ()
        assert await room.polls() == ()  # none is held any more

    played(story())


def test_a_thousand_polls_wait_and_a_question_wakes_one_of_them() -> None:
    async def story() -> None:
        room = Room()
        polls = {n: room.polls("s1", f"c{n}") for n in range(1000)}
        await settled()
        assert room.desk.held == 1000
        room.clock.looks = 0
        await settled()
        assert room.clock.looks == 0
        asked = room.asks("c500")
        assert len(await polls[500]) == 1
        assert room.desk.held == 999
        assert room.clock.looks < 10
        assert not any(each.done() for n, each in polls.items() if n != 500)
        asked.cancel()
        room.desk.close()
        await asyncio.gather(*polls.values())

    played(story())
