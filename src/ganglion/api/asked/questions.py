"""Questions of a server to the scheduler of a cluster: a closed list, and none changes anything.

A scheduler names the kinds that it knows with every poll, and is asked no others. A server or
scheduler of a version before this one has no questions.
"""

from msgspec import Struct

WHY = "why"


class WhyQuestion(Struct, frozen=True, tag_field="kind", tag=WHY):
    """Why a gang waits, and what would start it.

    Attributes:
        gang: its id in the cluster.
    """

    gang: str


ClusterQuestion = WhyQuestion


class QuestionPoll(Struct, frozen=True):
    """A scheduler waits for questions.

    Attributes:
        scheduler: its id, as of its records.
        kinds: of questions that it knows.
        room: how many it takes at once.
        open: ids of questions that it has and has not answered.
        wait_ms: how long it waits.
    """

    scheduler: str
    kinds: tuple[str, ...] = ()
    room: int = 1
    open: tuple[str, ...] = ()
    wait_ms: int = 0


class AskedQuestion(Struct, frozen=True):
    """A question on its way.

    Attributes:
        id: names it in its answer.
        question: what is asked.
        within_ms: an answer that comes later is dropped.
    """

    id: str
    question: ClusterQuestion
    within_ms: int


class QuestionPage(Struct):
    """Questions for a scheduler; none = it may poll again."""

    items: tuple[AskedQuestion, ...] = ()
