"""Questions of a server to the scheduler of a cluster: a closed list, and none changes anything.

A scheduler names the kinds that it knows with every poll, and is asked no others. A server or
scheduler of a version before this one has no questions.
"""

from hashlib import sha256

from msgspec import Struct

WHY = "why"
LOGS = "logs"


class WhyQuestion(Struct, frozen=True, tag_field="kind", tag=WHY):
    """Why a gang waits, and what would start it.

    Attributes:
        kind: of the question.
        gang: its id in the cluster.
    """

    gang: str


class LogQuestion(Struct, frozen=True, tag_field="kind", tag=LOGS):
    """Lines of the log of one pod of a gang, each behind its time.

    Attributes:
        kind: of the question.
        gang: its id in the cluster.
        namespace: of its pods.
        rank: number of the pod in the gang.
        limit: most bytes of the answer.
        previous: whether the pod, or the container, before is meant.
        tail: only the last lines, by number; None = from the begin on.
        since: lines from then on, as `2026-01-31T12:00:00Z`; empty = from the begin on.
        skip: lines since then that are known: they are left out.
        mark: digest of the last of them; another line there means that the log was rotated.
        after: time of the last of them: of a log that was rotated, lines behind it are meant.
    """

    gang: str
    namespace: str
    rank: int = 0
    limit: int = 0
    previous: bool = False
    tail: int | None = None
    since: str = ""
    skip: int = 0
    mark: str = ""
    after: str = ""


ClusterQuestion = WhyQuestion | LogQuestion


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


def mark_of(line: bytes) -> str:
    """The digest by which a line of a log is known again."""
    return sha256(line).hexdigest()[:32]
