"""HPC logs: the Standard Workload Format (Feitelson et al.) and MetaCentrum's table."""

from pathlib import Path

from ganglion.model.errors import FieldError, FileError
from ganglion.model.events import Outcome
from ganglion.model.workload import Gang
from ganglion.worlds.simulated.job import Shapes, SimJob
from ganglion.worlds.simulated.readers.text import CsvTable, Row, as_number, lines, thousandths

FIELDS = (
    "job", "submit", "wait", "run", "procs", "cpu_time", "memory", "req_procs", "req_time",
    "req_memory", "status", "user", "group", "executable", "queue", "partition", "preceding",
    "think",
)  # fmt: skip
JOB, SUBMIT, RUN, PROCS, CPU_TIME, REQ_PROCS, REQ_TIME, STATUS, USER, EXECUTABLE, QUEUE = (
    FIELDS.index(name)
    for name in (
        "job", "submit", "run", "procs", "cpu_time", "req_procs", "req_time", "status", "user",
        "executable", "queue",
    )
)  # fmt: skip
OUTCOMES = {"0": Outcome.FAILED, "5": Outcome.CANCELLED}
UNKNOWN = -1
META_COLUMNS = ("job_id", "submit_s", "run_s", "procs", "req_time_s")


def is_metacentrum(columns: list[str]) -> bool:
    """Whether a heading is that of the MetaCentrum table."""
    return set(META_COLUMNS) <= set(columns)


def read_swf(path: Path, *, cpus_per_node: int) -> list[SimJob]:
    """Read a log in SWF: 18 numbers per line, `;` starts a comment, -1 is unknown.

    A job of p processors asks for p CPU cores. Its run time is field 4, or the mean CPU time
    (field 6) where that is unknown; jobs with neither, or without processors, never ran and
    are left out. The time limit is the requested time (field 9), but never below the run time,
    since the log shows that the job was let run. Jobs of one executable (field 14) have one name.
    Memory is not modelled.

    Args:
        path: SWF file, gzipped or not.
        cpus_per_node: larger jobs become gangs of pods with that many cores.

    Returns:
        Jobs by submit time, then by line.

    Raises:
        FileError: unreadable, or no job in it.
        FieldError: a line has not 18 fields or a value is no number.
    """
    shapes, jobs = Shapes(cpus_per_node), []
    for number, line in lines(path):
        fields = line.partition(";")[0].split()
        if fields:
            job = _swf_job(fields, str(path), number, shapes)
            jobs.extend([job] if job else [])
    return _sorted(jobs, path)


def _sorted(jobs: list[SimJob], path: Path) -> list[SimJob]:
    if not jobs:
        raise FileError(f"{path} holds no jobs")
    return sorted(jobs, key=lambda job: job.gang.submitted)


def _swf_job(fields: list[str], file: str, line: int, shapes: Shapes) -> SimJob | None:
    if len(fields) != len(FIELDS):
        raise FieldError(f"{len(fields)} fields instead of {len(FIELDS)}", file=file, line=line)

    def first(*places: int) -> int:
        found = (_milli(fields[place], FIELDS[place], file, line) for place in places)
        return next((value for value in found if value >= 0), UNKNOWN)

    run, procs = first(RUN, CPU_TIME), first(PROCS, REQ_PROCS) // 1000
    if run < 0 or procs < 1:
        return None
    workload = f"job-{as_number(fields[JOB], 'job', file, line)}"
    queue = fields[QUEUE]
    gang = _gang(
        workload,
        queue="default" if queue == str(UNKNOWN) else f"q{queue}",
        user=fields[USER],
        name="" if fields[EXECUTABLE] == str(UNKNOWN) else f"app{fields[EXECUTABLE]}",
        submitted=thousandths(fields[SUBMIT], "submit", file, line),
        limit=max(run, first(REQ_TIME)),
        shape=(shapes, procs),
    )
    return SimJob(gang, run, OUTCOMES.get(fields[STATUS], Outcome.SUCCEEDED))


def _milli(text: str, column: str, file: str, line: int) -> int:
    return UNKNOWN if text.startswith("-") else thousandths(text, column, file, line)


def _gang(
    workload: str,
    *,
    queue: str,
    user: str,
    submitted: int,
    limit: int,
    shape: tuple[Shapes, int],
    name: str = "",
) -> Gang:
    shapes, procs = shape
    return Gang(
        id=f"{workload}/0",
        workload=workload,
        queue=queue,
        user=user,
        pod_sets=shapes.cpus(procs),
        submitted=submitted,
        time_limit_ms=limit,
        name=name,
    )


def read_metacentrum(path: Path, *, cpus_per_node: int) -> list[SimJob]:
    """Read the MetaCentrum table: SWF's meaning under column names.

    Needs `job_id, submit_s, run_s, procs, req_time_s`; `queue` and `user` are read where
    present. Rows that never ran (`run_s` <= 0) are left out.

    Args:
        path: CSV file, gzipped or not.
        cpus_per_node: larger jobs become gangs of pods with that many cores.

    Returns:
        Jobs by submit time, then by row.

    Raises:
        FileError: unreadable, empty, or a column is missing.
        FieldError: a value cannot be used; names file, line and column.
    """
    table, shapes = CsvTable(path), Shapes(cpus_per_node)
    places = {name: table.find((name,), name) for name in META_COLUMNS}
    optional = {name: table.maybe((name,)) for name in ("queue", "user")}
    jobs = [_meta_job(row, places, optional, shapes) for row in table]
    return _sorted([job for job in jobs if job], path)


def _meta_job(
    row: Row, places: dict[str, int], optional: dict[str, int | None], shapes: Shapes
) -> SimJob | None:
    if row.number(places["run_s"], "run_s", least=-(10**12)) <= 0:
        return None
    run = row.thousandths(places["run_s"], "run_s")
    gang = _gang(
        f"job-{row.text(places['job_id'])}",
        queue=row.text(optional["queue"]) or "default",
        user=row.text(optional["user"]),
        submitted=row.thousandths(places["submit_s"], "submit_s"),
        limit=max(run, row.thousandths(places["req_time_s"], "req_time_s")),
        shape=(shapes, row.number(places["procs"], "procs", least=1)),
    )
    return SimJob(gang, run)
