"""Routes for usage over a period, and for the report of a fleet."""

from typing import Annotated

from fastapi import Query

from ganglion.api.money.usage import UsagePage, UsageRow
from ganglion.api.queues import ReclaimPage
from ganglion.api.use import OverheadRow, Report
from ganglion.identity.grants import Tree, lineage
from ganglion.server.access.caller import Caller
from ganglion.server.requests.context import Here
from ganglion.server.rest.filters import PeriodQuery, UsageQuery, leaves, past_period
from ganglion.server.rest.pages import Rank, cut
from ganglion.server.rest.problems import ERRORS
from ganglion.server.rest.sending import Routes
from ganglion.server.views.past.reclaims import ReclaimReader, reclaims_present
from ganglion.server.views.report import (
    ReportWanted,
    SchedulerFigures,
    cluster_uses,
    open_waits,
    report,
)
from ganglion.server.views.usage import lent_rows, opened, usage_report
from ganglion.server.views.use import measured, snapshot

router = Routes(tags=["cluster"], responses=ERRORS)


@router.get("/usage")
def list_usage(here: Here, query: Annotated[UsageQuery, Query()]) -> UsagePage:
    """Sum up the GPU time that attempts held over a period, by queue, user, flavor or day.

    Who may see the whole fleet is also given what there was, what was idle and what was
    unavailable.
    """
    now, caller = here.service.now(), here.caller
    since, until = past_period(query.since, query.until, now)
    by = tuple(dict.fromkeys(query.by))
    with here.service.read() as mind:
        found = opened(mind, here.service.ledger, now, here.curves.activity.unwritten)
    queues, fleet = _queues(query, caller, found.tree), caller.sees_all and not query.queue
    report = usage_report(here.service.ledger, found, by, (since, until), queues, fleet=fleet)
    items, more = cut("usage", report.rows, _rank, query)
    return UsagePage(
        since=since,
        until=until,
        metered_since=found.since,
        items=tuple(items),
        total=report.total,
        fleet=report.fleet,
        currency=found.prices.currency,
        corrections=report.corrections,
        lent=lent_rows(here.service.ledger, found, (since, until), queues),
        guessed=found.guessed,
        lost_since=found.lost_since,
        next=more,
    )


@router.get("/report")
def show_report(here: Here, query: Annotated[PeriodQuery, Query()]) -> Report:
    """Report GPU utilisation, waiting times and scheduling overhead over a period.

    Takes half a second if what is used now was not asked before. Who may see the whole fleet is
    also given what there was, and what the server spends.
    """
    now, caller = here.service.now(), here.caller
    since, until = past_period(query.since, query.until, now)
    with here.service.read() as mind:
        found = opened(mind, here.service.ledger, now, here.curves.activity.unwritten)
        waits, holding = open_waits(mind, here.service.ledger), snapshot(mind.state)
        away, tree = cluster_uses(mind), mind.tree()
    using = (*measured(holding, here.home.root, here.uses, now).gangs, *away)
    fleet = caller.sees_all and not query.queue
    wanted = ReportWanted(since, until, _queues(query, caller, tree), fleet)
    overhead = tuple(OverheadRow(*each) for each in here.metrics.timings())
    figures = SchedulerFigures(overhead, here.metrics.cpu_ms())
    return report(here.service.ledger, found, waits, using, figures, wanted, now)


@router.get("/reclaims")
def list_reclaims(here: Here, query: Annotated[PeriodQuery, Query()]) -> ReclaimPage:
    """Say which queues had work of which others stopped or made smaller, and why.

    By the causes of decisions of the server, and of schedulers of clusters. Lines are of the
    queues that the caller sees; of other queues in them the names are left out.
    """
    now = here.service.now()
    period = past_period(query.since, query.until, now)
    with here.service.read() as mind:
        present, tree = reclaims_present(mind, now), mind.tree()
    queues = _below(leaves(query.queue), tree) if query.queue else None
    return ReclaimReader(here.service.ledger, present, here.caller.sees).page(period, queues)


def _rank(row: UsageRow) -> Rank:
    """The group, and a name that no other has."""
    group = (row.queue, row.user, row.workload, row.flavor, row.day, row.kind)
    return *group, "\n".join(group)


def _queues(query: PeriodQuery, caller: Caller, tree: Tree) -> frozenset[str] | None:
    """Leaf queues that are asked for and may be seen; None = all that ever were."""
    seen = None if caller.sees_all else caller.queues
    if not query.queue:
        return seen
    below = _below(leaves(query.queue), tree)
    return below if seen is None else below & seen


def _below(wanted: frozenset[str], tree: Tree) -> frozenset[str]:
    """Queues and all those under them; one that is gone is itself."""
    under = (name for name in tree if not wanted.isdisjoint(lineage(name, tree)))
    return wanted.union(under)
