"""Answers of the scheduler of a cluster to questions of a server."""

from msgspec import Struct

from ganglion.api.reasons import Explained


class LogLines(Struct, frozen=True):
    """Lines of a log, whole ones.

    Attributes:
        text: lines as the kubelet has them, each behind its time.
        pod: name of the pod.
        uid: of the pod: another one took its place where it differs.
        container: that wrote them.
        more: whether there are more lines now.
        over: whether the container writes no more.
    """

    text: bytes
    pod: str
    uid: str
    container: str
    more: bool = False
    over: bool = False


class AnswerTrouble(Struct, frozen=True):
    """Why there is no answer.

    Attributes:
        code: of the error, as `state.not_found`.
        said: one sentence.
        hint: what to do; empty = nothing is known.
    """

    code: str
    said: str
    hint: str = ""


class QuestionAnswer(Struct, frozen=True):
    """The answer to one question: what it asks for, or the trouble.

    Attributes:
        scheduler: id of the one that answers.
        id: of the question.
        at: time of the state that it was read from, in ms.
        why: of a gang; its ids, queues and nodes are those of the cluster.
        pods: names of its pods, where they are few.
        log: lines of a log.
        trouble: None = it is answered.
    """

    scheduler: str
    id: str
    at: int = 0
    why: Explained | None = None
    pods: tuple[str, ...] = ()
    log: LogLines | None = None
    trouble: AnswerTrouble | None = None


class AnswerTaken(Struct):
    """An answer came in time."""
