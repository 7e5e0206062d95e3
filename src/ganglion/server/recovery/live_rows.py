"""The live workloads as the table `workloads` has them, after the events have been taken in.

A row that cannot be read, or is gone, stops nothing else: it is named, and rebuilt from the last
checkpoint, or else from the workload file in the row. Where neither can be, its gangs go on as
they are, and no decision is made about them until a person makes one.
"""

from collections.abc import Iterable, Mapping
from functools import partial

import msgspec

from ganglion.engine.store.queue_rules import rules_to_come
from ganglion.ledger.records import Filed, Flaw
from ganglion.lifecycle.expand import gangs_of
from ganglion.model.errors import GanglionError
from ganglion.model.workload import Workload
from ganglion.server.recovery.replay import name_flaw, set_apart
from ganglion.server.state.registry import LiveWorkload
from ganglion.server.state.transaction import Mind
from ganglion.specs.workload.workload import from_document, to_workload

Known = Mapping[str, LiveWorkload]
"""Workloads as a checkpoint had them, by id."""


def enter_live(mind: Mind, filed: Iterable[Filed], known: Known) -> None:
    """Take in the live workloads of a ledger.

    Args:
        mind: with all events; gets the workloads, and flaws by the number of the workload below 0.
        filed: the rows of workloads that have not ended.
        known: what the last checkpoint had of them.
    """
    rows = {each.id: each for each in filed}
    for each in rows.values():
        if each.id not in mind.book.gangs:
            flaw = each.flaw or f"workload {each.id} has no gangs: what submitted them"
            name_flaw(mind, Flaw(-each.number, "workload", flaw + " could not be taken in"))
    mind.book.load(each for each in rows.values() if not each.flaw and each.id in mind.book.gangs)
    for workload in [each for each in mind.book.gangs if each not in mind.book.entries]:
        _recover(mind, workload, rows.get(workload), known)


def _recover(mind: Mind, workload: str, row: Filed | None, known: Known) -> None:
    """Enter a workload whose row is of no use; the book lists it where it was rebuilt."""
    number = _number(mind, workload, row)
    why = row.flaw if row else f"the row of workload {workload} is gone"
    entry, how = known.get(workload), "as the last checkpoint has it"
    if entry is None:
        entry, how = _from_file(mind, workload, row), "from its workload file"
    if entry is not None:
        mind.book.enter(entry)
        mind.book.rebuilt.append(entry)
        name_flaw(mind, Flaw(-number, "workload", f"{why}; it was rebuilt {how}"))
        return
    mind.book.enter(_made_up(mind, workload, number, row))
    for gang in mind.book.gangs[workload]:
        problem = f"{why}, and cannot be rebuilt"
        set_apart(mind, Flaw(-number, "workload", problem, gang), mind.state.progress.clock)


def _number(mind: Mind, workload: str, row: Filed | None) -> int:
    """The number of a workload, by its row or its id; else one that no event has."""
    digits = workload.rpartition("-")[2]
    if digits.isascii() and digits.isdigit():
        return int(digits)
    return row.number if row and row.number else len(mind.book.flaws) + 1


def _from_file(mind: Mind, workload: str, row: Filed | None) -> LiveWorkload | None:
    """Read the workload file in a row again; None = its gangs are not what it asks for."""
    if row is None:
        return None
    gang = mind.state.gangs.records[mind.book.gangs[workload][0]].gang
    try:
        document = msgspec.json.decode(row.document, type=dict[str, object])
        found = to_workload(
            from_document(document),
            user=gang.user,
            default_queue=gang.queue,
            classes=mind.state.config.policy.priorities,
            rules=partial(rules_to_come, mind.state),
        )
        found = msgspec.structs.replace(
            found, name=gang.name or found.name, after=gang.after, after_any=gang.after_any
        )
        asked = {each.pod_sets for each in gangs_of(workload, found, gang.submitted)}
    # Whatever the row holds: it is damaged.
    except (GanglionError, msgspec.MsgspecError, ValueError, TypeError, KeyError):
        return None
    if (found.kind, found.name) != (gang.kind, gang.name) or gang.pod_sets not in asked:
        return None
    found = msgspec.structs.replace(found, queue=gang.queue, priority=gang.priority)
    number = _number(mind, workload, row)
    return LiveWorkload(workload, number, gang.submitted, row.document, found)


def _made_up(mind: Mind, workload: str, number: int, row: Filed | None) -> LiveWorkload:
    """What its gangs say of a workload: enough to show and to cancel it."""
    gang = mind.state.gangs.records[mind.book.gangs[workload][0]].gang
    made = Workload(
        gang.name or (row.workload.name if row else "") or workload,
        kind=gang.kind,
        queue=gang.queue,
        user=gang.user,
        priority=gang.priority,
        preemptible=gang.preemptible,
        pod_sets=gang.pod_sets,
        time_limit_ms=gang.time_limit_ms,
        checkpoint=gang.checkpoint,
    )
    return LiveWorkload(workload, number, gang.submitted, b"{}", made)
