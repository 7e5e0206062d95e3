"""Routes for questions about a past that was otherwise."""

from collections.abc import Iterable
from typing import Annotated, Any

from fastapi import Path, Query
from msgspec.structs import replace
from pydantic import Field

from ganglion.api.whatif.report import WhatIf, WhatIfPage, WhatIfReport
from ganglion.identity.roles import AccessVerb, ResourceKind
from ganglion.lifecycle.clusters import place_of
from ganglion.lifecycle.expand import gangs_of
from ganglion.model.errors import FieldError, NotFound
from ganglion.model.queue import Queue
from ganglion.model.workload import Gang
from ganglion.server.access.caller import Caller
from ganglion.server.access.checks import check_submit
from ganglion.server.access.owned_queues import require_above, within_parent
from ganglion.server.commands import policies
from ganglion.server.commands.submission import submit
from ganglion.server.requests.context import Here, ServerContext
from ganglion.server.rest.filters import instant
from ganglion.server.rest.inputs import Input
from ganglion.server.rest.pages import Paging, cut
from ganglion.server.rest.problems import ERRORS
from ganglion.server.rest.sending import Routes
from ganglion.server.routes.queues import check_parent, understood
from ganglion.server.whatif.questions import WhatIfQuestions
from ganglion.specs.policy.policy import PolicyFile, parse_policy
from ganglion.whatif.changes import WhatIfChange
from ganglion.whatif.figures import GroupedBy
from ganglion.whatif.wishes import OtherQueue, parse_nodes, parse_price, parse_queue

router = Routes(tags=["whatif"], responses=ERRORS)

SHOWN = 5
"""Most keys of a policy that the words of a question name."""
Text = Annotated[str, Field(max_length=300)]


class OtherPolicy(Input):
    """A policy file."""

    text: str = Field(min_length=1, description="YAML or JSON")
    file: str = Field("", max_length=1000, description="name of the file in errors")


class Question(Input):
    """What should have been otherwise; without anything, how well the past is replayed."""

    since: str = Field("7d", max_length=60, description="begin of the past: `7d` ago, or a date")
    until: str = Field("", max_length=60, description="its end; empty = now")
    policy: OtherPolicy | None = None
    nodes: list[Text] = Field([], max_length=20, description="`+4xH100:8` join, `-2xH100` leave")
    queues: list[Text] = Field([], max_length=100, description="as `research=quota:H100:16`")
    rules: dict[str, dict[str, Any]] = Field(
        {}, max_length=20, description="name of a queue -> all its rules, as a policy file has them"
    )
    prices: list[Text] = Field([], max_length=100, description="of a GPU-hour, as `H100=2.50`")
    workload: dict[str, Any] | None = Field(None, description="a workload file that is submitted")
    at: str = Field("", max_length=60, description="when it is submitted; needed with it")
    cluster: str = Field(
        "", max_length=63, description="whose past it is; empty = that of the server's own nodes"
    )


@router.post("/whatif", status_code=202)
def ask_what_if(here: Here, question: Question) -> WhatIf:
    """Ask what would have happened, had something been otherwise.

    A process of low priority answers; poll the question until its state is `done` or `failed`.
    """
    asked = _questions(here)
    here.take_dry_run()
    now = here.service.now()
    period = (
        instant(question.since, now, "since") or 0,
        instant(question.until, now, "until") or now,
    )
    if not period[0] < period[1] <= now:
        raise FieldError("the period is empty, or not over", key="until", hint="give it a past")
    if question.cluster:
        _check_cluster(here, question)
    change, words = _change(here, question, period)
    if question.cluster:
        words = (f"cluster {question.cluster}", *words)
    own = _own(here.caller, question.cluster)
    return _linked(here, asked.ask(here.user, now, period, change, words, question.cluster, own))


@router.get("/whatif")
def list_what_ifs(here: Here, page: Annotated[Paging, Query()]) -> WhatIfPage:
    """List questions without their answers, the newest first: all of them, or the caller's own."""
    mine = [each for each in _questions(here).all() if _sees(here.caller, each)]
    shown, following = cut("whatif", mine, lambda each: (-each.at, each.id), page)
    return WhatIfPage(items=tuple(shown), next=following)


@router.get("/whatif/{question}")
def show_what_if(here: Here, question: Annotated[str, Path(max_length=100)]) -> WhatIf:
    """Return a question with its answer, or how far it is.

    A caller who does not see the whole fleet gets what is about the queues that it sees, and of all
    others sums alone.
    """
    found = _questions(here).find(question)
    if not _sees(here.caller, found):
        raise NotFound(f"there is no question {question!r}", "see: ganglion whatif list")
    if found.report is not None and not here.caller.sees_all:
        found = replace(found, report=narrowed(found.report, here.caller))
    return _linked(here, found)


def narrowed(report: WhatIfReport, caller: Caller) -> WhatIfReport:
    """What a caller may see of a report: of queues that it sees, and sums over all others."""
    mine = tuple(g for g in report.groups if g.by == "queue" and caller.sees(g.name))
    others = tuple(g for g in report.groups if g.by == GroupedBy.OTHERS)
    return replace(
        report,
        jobs=sum(each.jobs for each in (*mine, *others)),
        groups=(*mine, *others),
        winners=tuple(each for each in report.winners if caller.sees(each.queue)),
        losers=tuple(each for each in report.losers if caller.sees(each.queue)),
        starts=tuple(
            each if caller.sees(each.queue) else replace(each, message="") for each in report.starts
        ),
        assumptions=(),
    )


def _own(caller: Caller, cluster: str) -> tuple[str, ...] | None:
    """Queues that a caller may see, as the past that it asks about names them; None = all."""
    if caller.sees_all:
        return None
    if not cluster:
        return tuple(sorted(caller.queues))
    above = place_of(cluster)
    if caller.sees(above):
        return None
    return tuple(
        sorted(each.removeprefix(above) for each in caller.queues if each.startswith(above))
    )


def _linked(here: ServerContext, found: WhatIf) -> WhatIf:
    """A question with the link of its page, where a portal is served."""
    if here.portal_trouble:
        return found
    return replace(found, url=f"{here.pages_at}/what-if/{found.id}")


def _sees(caller: Caller, found: WhatIf) -> bool:
    return caller.sees_all or found.user == caller.subject.user


def _questions(here: ServerContext) -> WhatIfQuestions:
    if here.questions is None:
        raise NotFound("this server answers no questions about the past")
    return here.questions


def _change(
    here: ServerContext, question: Question, period: tuple[int, int]
) -> tuple[WhatIfChange, tuple[str, ...]]:
    """What is otherwise, and the same in words.

    Raises:
        Forbidden: the caller may not see the policy, or not submit to the queue.
        FieldError, Conflict: a part of it is wrong.
    """
    of_fleet = question.policy or question.nodes or question.prices
    if of_fleet or (question.cluster and question.queues):
        here.caller.require(AccessVerb.VIEW, ResourceKind.POLICY)
    words = list[str]()
    file: PolicyFile | None = None
    if question.policy is not None:
        file, said = _policy(here, question.policy, question.cluster)
        words.append(said)
    nodes = tuple(parse_nodes(each) for each in question.nodes)
    above = place_of(question.cluster) if question.cluster else ""
    queues = tuple(parse_queue(each.removeprefix(above)) for each in question.queues)
    prices = tuple(parse_price(each) for each in question.prices)
    if not question.cluster:
        _check_wishes(here, queues)
    rules = list[Queue]()
    for name, document in question.rules.items():
        found, said = _rules(here, name, document)
        rules.append(found)
        words.append(said)
    words += [f"nodes {each}" for each in question.nodes]
    words += [f"queue {each}" for each in question.queues]
    words += [f"price {each}" for each in question.prices]
    gangs: tuple[Gang, ...] = ()
    if question.workload is not None:
        gangs = _gangs(here, question, period)
        words.append(f"submit {gangs[0].name} at {question.at}")
    change = WhatIfChange(
        file.policy if file else None,
        file.queues if file else None,
        nodes,
        queues,
        prices,
        gangs,
        tuple(rules),
    )
    return change, tuple(words)


def _check_wishes(here: ServerContext, wishes: Iterable[OtherQueue]) -> None:
    """Check that a caller who may not see the policy may set what it wishes for queues.

    Raises:
        Forbidden: it may not, or there is no such queue.
        FieldError: the queue would have more than the one above it.
    """
    caller = here.caller
    if caller.may(AccessVerb.VIEW, ResourceKind.POLICY).allowed:
        return
    with here.service.read() as mind:
        for wish in wishes:
            present = mind.state.queues.by_name.get(wish.name)
            require_above(caller, mind.state, wish.name, present.parent if present else "")
            if present:
                within_parent(caller, mind.state, wish.of(present))


def _rules(here: ServerContext, name: str, document: dict[str, Any]) -> tuple[Queue, str]:
    """A queue with all its rules, which the caller may set, and what changes in words.

    Raises:
        Forbidden: it may not.
        NotFound: there is no such parent.
        FieldError, Conflict: a rule is wrong.
    """
    queue, _ = understood(here, name, document)
    with here.service.read() as mind:
        require_above(here.caller, mind.state, name, queue.parent)
        check_parent(mind.state, queue)
        queue = within_parent(here.caller, mind.state, queue)
        changes = policies.check_queue(mind, queue).changes
    keys = [each.key.removeprefix(f"queues.{name}").lstrip(".") for each in changes]
    shown = ", ".join(filter(None, keys[:SHOWN])) or ("as it is" if not keys else "a new queue")
    return queue, f"queue {name}: {shown}{', …' if len(keys) > SHOWN else ''}"


def _check_cluster(here: ServerContext, question: Question) -> None:
    """Check that the past of a cluster is asked for what the server knows of it.

    Raises:
        NotFound: no such cluster delivers, as far as the caller may see.
        FieldError: it is about a workload that is submitted, or about all rules of a queue.
    """
    name = question.cluster
    with here.service.read() as mind:
        book = mind.book.clusters.of.get(name)
        places = [place_of(name), *(place_of(name, each) for each in book.parents)] if book else []
    if not any(map(here.caller.sees, places)):
        raise NotFound(f"there is no cluster {name!r}", "see: ganglion clusters")
    if question.rules:
        raise FieldError(
            "rules of queues of a cluster are those of its own objects",
            key="rules",
            hint="give settings: queues: [research=weight:2]",
        )
    if question.workload is not None:
        raise FieldError(
            "which pods a cluster would make of a workload is known to its scheduler alone",
            key="workload",
            hint="ask it what would happen now: ganglion submit --dry-run --context NAME",
        )


def _policy(here: ServerContext, proposal: OtherPolicy, cluster: str) -> tuple[PolicyFile, str]:
    if cluster:
        return parse_policy(proposal.text, proposal.file), f"policy {proposal.file or 'as given'}"
    with here.service.read() as mind:
        file = parse_policy(proposal.text, proposal.file, policies.flavors_of(mind.state))
        changes = policies.check(mind, file).changes
    keys = ", ".join(each.key for each in changes[:SHOWN]) or "as it is in force"
    more = ", …" if len(changes) > SHOWN else ""
    return file, f"policy {proposal.file or 'as given'}: {keys}{more}"


def _gangs(here: ServerContext, question: Question, period: tuple[int, int]) -> tuple[Gang, ...]:
    """The gangs of a workload that is submitted in the past; it waits for no other."""
    at = instant(question.at, here.service.now(), "at")
    if at is None or not period[0] <= at < period[1]:
        raise FieldError(
            "the time of the submission lies outside of the period",
            key="at",
            hint="give a time of the past, as 24h (ago) or 2026-11-01T14:00",
        )
    request = submit.checked(question.workload or {}, user=here.user)
    with here.service.read() as mind:
        check_submit(here.caller, mind, here.service.ledger, request.file)
        workload = submit.understood(mind, here.service.ledger, request, here.service.now())
    bare = replace(workload, after=(), after_any=(), held=False)
    return gangs_of(f"whatif-{workload.name}", bare, at)
