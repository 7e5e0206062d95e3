"""What the server answers about many workloads at once."""

from pydantic import Field

from ganglion.server.wire.base import Model


class Refusal(Model):
    """One workload of many that was refused."""

    workload: str = Field(description="as it was given, or its id; of a batch, its name")
    code: str
    detail: str
    hint: str = ""


class BulkAnswer(Model):
    """What a bulk verb did, or with `dry_run` would try."""

    at: int = Field(description="when, in ms: as `until` it leaves out what is submitted later")
    matched: int = Field(description="workloads that it was about")
    done: int = Field(description="of these, with which it was done; with dry_run 0")
    refused: int = Field(description="of these, which the present state does not allow")
    workloads: tuple[str, ...] = Field(
        description="ids of those done; with dry_run, of those that it is about"
    )
    prefixes: dict[str, str] = Field(
        description="of the references given, those that are only the beginning of an id: its id"
    )
    problems: tuple[Refusal, ...] = Field(description="why, of the first 100 refused")


class BatchItem(Model):
    """One workload of a batch: accepted, or refused with a problem."""

    id: str = ""
    name: str = ""
    gangs: int = 0
    due: int | None = Field(None, description="first date of a schedule, in ms")
    problem: Refusal | None = None


class BatchAnswer(Model):
    """What became of a batch, one item per document, in the same order."""

    accepted: int
    refused: int
    items: tuple[BatchItem, ...]
