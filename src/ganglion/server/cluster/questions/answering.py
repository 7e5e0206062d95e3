"""Answers of a scheduler of clusters to the questions of a server, from its state."""

from collections.abc import Mapping
from functools import partial

from ganglion.api.asked.answers import QuestionAnswer
from ganglion.api.asked.questions import LOGS, WHY, ClusterQuestion, WhyQuestion
from ganglion.model.errors import NotFound
from ganglion.seams.clock import SYSTEM_CLOCK, Clock
from ganglion.seams.effects import SYSTEM
from ganglion.server.cluster.outbox.outbox import OutboxWish, token_in
from ganglion.server.cluster.questions.fetching import Answerer, QuestionFetcher, QuestionLine
from ganglion.server.cluster.questions.logs import LogAnswers
from ganglion.server.views.cluster import explanation
from ganglion.worlds.kubernetes.controller import ClusterController
from ganglion.worlds.kubernetes.scheduler import Scheduler
from ganglion.worlds.kubernetes.sign_in.config import ApiEndpoint

FEW = 16
"""Most pods of a gang that are named."""


class WhyAnswers:
    """Answers from the state of a scheduler, as its views do.

    Args:
        scheduler: whose state it is.
        clock: the time.
    """

    def __init__(self, scheduler: Scheduler, clock: Clock = SYSTEM_CLOCK) -> None:
        self._scheduler, self._clock = scheduler, clock

    def __call__(self, question: ClusterQuestion, within_s: float) -> QuestionAnswer:
        """Explain a gang; the state is held still meanwhile, and cannot be left half-way.

        Raises:
            NotFound: there is no such gang, or no longer.
        """
        del within_s
        assert isinstance(question, WhyQuestion)
        with self._scheduler.read() as controller:
            state, now = controller.scene.state, self._clock.now_ms()
            if question.gang not in state.gangs.records:
                raise NotFound(
                    f"there is no gang {question.gang!r} any more", "its end is on the way"
                )
            told = explanation(state, question.gang, now)
            return QuestionAnswer("", "", now, why=told, pods=_pods(controller, question.gang))


def _pods(controller: ClusterController, gang: str) -> tuple[str, ...]:
    """Names of the living pods of a gang; none where there are more than a few."""
    found = controller.scene.gangs.founds.get(gang)
    members = found.members if found else ()
    return tuple(each.pod.metadata.name for each in members) if len(members) <= FEW else ()


def answering(
    scheduler: Scheduler, endpoints: Mapping[str, ApiEndpoint], own: str, wish: OutboxWish
) -> QuestionFetcher:
    """What fetches the questions of the server that a scheduler delivers to, and answers them.

    Args:
        scheduler: that knows the answers.
        endpoints: its clusters by name.
        own: its id, as of its records.
        wish: where it delivers, and whether logs are read for that server.
    """
    line = QuestionLine(wish.url, wish.cluster, partial(token_in, SYSTEM.files, wish.token_file))

    def may() -> bool:
        return scheduler.leads() and scheduler.turns > 0

    answerers: dict[str, Answerer] = {WHY: WhyAnswers(scheduler)}
    if wish.logs:
        answerers[LOGS] = LogAnswers(scheduler, endpoints)
    return QuestionFetcher(own, line, answerers, may)
