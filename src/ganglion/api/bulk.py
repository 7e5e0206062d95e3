"""Many workloads at once."""

from msgspec import Struct


class Refusal(Struct):
    """One workload of many that was refused.

    Attributes:
        workload: as it was given, or its id; of a batch, its name.
        code: of the error.
        detail: what is wrong.
        hint: what to do about it.
    """

    workload: str
    code: str
    detail: str
    hint: str = ""


class BeforeUpdate(Struct, omit_defaults=True):
    """What was changed of a workload, as it was before; None = it was not changed.

    Attributes:
        workload: its id.
        priority, queue, held: as of an update.
    """

    workload: str
    priority: int | None = None
    queue: str | None = None
    held: bool | None = None


class BulkAnswer(Struct):
    """What a bulk verb did, or with `dry_run` would try.

    Attributes:
        at: when, in ms; as `until` it leaves out what is submitted later.
        matched: workloads that it was about.
        done: of these, with which it was done.
        refused: of these, which the present state does not allow.
        workloads: ids of those done; with `dry_run`, of those that it is about.
        prefixes: references that are only the beginning of an id -> that id.
        problems: why, of the first 100 refused.
        before: of whole workloads that were updated, what was changed of them as it was before.
    """

    at: int
    matched: int
    done: int
    refused: int
    workloads: tuple[str, ...] = ()
    prefixes: dict[str, str] = {}
    problems: tuple[Refusal, ...] = ()
    before: tuple[BeforeUpdate, ...] = ()


class BatchItem(Struct):
    """One workload of a batch.

    Attributes:
        id: of the workload; empty = it was refused.
        name: as given, or made up.
        gangs: how many gangs it has.
        due: first date of a schedule, in ms; None = it is none.
        problem: why it was refused; None = it was accepted.
    """

    id: str = ""
    name: str = ""
    gangs: int = 0
    due: int | None = None
    problem: Refusal | None = None


class BatchAnswer(Struct):
    """What became of a batch, one item per document, in the same order.

    Attributes:
        accepted: how many there are now.
        refused: how many are not.
    """

    accepted: int = 0
    refused: int = 0
    items: tuple[BatchItem, ...] = ()
