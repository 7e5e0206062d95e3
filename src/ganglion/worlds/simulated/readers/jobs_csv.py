"""The common job table: one row per job, columns in any order."""

from pathlib import Path

from ganglion.model.errors import FieldError, FileError
from ganglion.model.events import Outcome
from ganglion.model.workload import Gang
from ganglion.worlds.simulated.job import Shapes, SimJob
from ganglion.worlds.simulated.readers.text import CsvTable, Row

SECONDS, MINUTES = 1, 60
SUBMIT = {"submit_s": SECONDS, "submit_time": SECONDS, "arrival_s": SECONDS, "submit_min": MINUTES}
DURATION = {
    "duration_s": SECONDS,
    "duration": SECONDS,
    "run_s": SECONDS,
    "duration_v100_s": SECONDS,
    "duration_min": MINUTES,
}
GPUS = ("num_gpus", "num_gpu", "gpus")
QUEUE = ("vc", "queue")
JOB_ID = ("job_id", "id", "name")
NAME = ("job_name", "name")
ANY_TYPE = ("", "any", "unknown")
OUTCOMES = {
    "failed": Outcome.FAILED,
    "fail": Outcome.FAILED,
    "killed": Outcome.CANCELLED,
    "cancelled": Outcome.CANCELLED,
    "canceled": Outcome.CANCELLED,
    "timeout": Outcome.TIMED_OUT,
}
MOST_GPUS = 1_000_000


def matches(columns: list[str]) -> bool:
    """Whether a heading is that of a job table."""
    return all(any(name in columns for name in names) for names in (SUBMIT, DURATION, GPUS))


def read_jobs(
    path: Path, *, gpus_per_node: int = 8, default_queue: str = "default"
) -> list[SimJob]:
    """Read a job table.

    Columns: submit (`submit_s`, `submit_time`, `submit_min`), duration (`duration_s`,
    `duration`, `duration_min`), GPUs (`num_gpus`, `num_gpu`, `gpus`); optional `vc` or `queue`,
    `user`, `status`, `gpu_type`, `job_id`, `job_name` or `name`. All others are ignored.

    Args:
        path: CSV file, gzipped or not.
        gpus_per_node: larger jobs become gangs of pods with that many GPUs.
        default_queue: queue of rows without one.

    Returns:
        Jobs by submit time, then by row.

    Raises:
        FileError: the file is unreadable, or a needed column is missing.
        FieldError: a value cannot be used; names file, line and column.
    """
    reader = _Reader(CsvTable(path), gpus_per_node, default_queue)
    jobs = [reader.job(row) for row in reader.table]
    if not jobs:
        raise FileError(f"{path} holds no jobs")
    return sorted(jobs, key=lambda job: job.gang.submitted)


class _Reader:
    """Knows where the columns of one table are."""

    def __init__(self, table: CsvTable, gpus_per_node: int, default_queue: str) -> None:
        self.table = table
        self.submit = table.find(tuple(SUBMIT), "the submit time")
        self.duration = table.find(tuple(DURATION), "the duration")
        self.gpus = table.find(GPUS, "the number of GPUs")
        self.queue, self.user = table.maybe(QUEUE), table.maybe(("user",))
        self.status, self.job_id = table.maybe(("status",)), table.maybe(JOB_ID)
        self.type, self.name = table.maybe(("gpu_type",)), table.maybe(NAME)
        self.shapes = Shapes(gpus_per_node)
        self.default_queue = default_queue

    def job(self, row: Row) -> SimJob:
        workload = f"{row.text(self.job_id) or 'job'}-{row.line - 1}"
        gpu_type = row.text(self.type)
        gang = Gang(
            id=f"{workload}/0",
            workload=workload,
            queue=row.text(self.queue) or self.default_queue,
            user=row.text(self.user),
            pod_sets=self.shapes.gpus(
                self._gpus(row), "" if gpu_type.lower() in ANY_TYPE else gpu_type
            ),
            submitted=self._time(row, self.submit, SUBMIT),
            name=row.text(self.name),
        )
        outcome = OUTCOMES.get(row.text(self.status).lower(), Outcome.SUCCEEDED)
        return SimJob(gang, self._time(row, self.duration, DURATION), outcome)

    def _time(self, row: Row, place: int, units: dict[str, int]) -> int:
        column = self.table.columns[place]
        return row.thousandths(place, column) * units[column]

    def _gpus(self, row: Row) -> int:
        column = self.table.columns[self.gpus]
        count = row.number(self.gpus, column)
        if count > MOST_GPUS:
            raise FieldError(
                f"{count} GPUs are more than any cluster has",
                key=column,
                file=str(row.path),
                line=row.line,
            )
        return count
