"""The client's calls, answered by a cluster instead of a server.

What is there, and how it fares, is read from the cluster; why it waits, from its scheduler where
that can be asked. Everything is done with the person's own credentials.
"""

import getpass
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Self, Unpack

from msgspec.structs import replace

from ganglion.api.events import EventView
from ganglion.api.reasons import Explained, Verdict, Why
from ganglion.api.workloads import (
    Accepted,
    GangView,
    Suspension,
    WorkloadDetail,
    WorkloadPage,
    WorkloadView,
)
from ganglion.cli.cluster import merging, views
from ganglion.cli.cluster.bridge import Bridge
from ganglion.cli.cluster.gangs import NO_PODS
from ganglion.cli.cluster.logs import Log, LogPart
from ganglion.cli.cluster.one_by_one import OneByOne
from ganglion.cli.cluster.scheduler import SchedulerViews
from ganglion.client.calls.terminals import Terminals
from ganglion.client.filters import Filters, passes
from ganglion.client.workload_client import LocalOnly, NoScheduler
from ganglion.lifecycle.expand import gang_count
from ganglion.model.errors import Conflict, FieldError, NotFound
from ganglion.model.plan import check_plan, digest_of_plan
from ganglion.model.policy import PriorityClass
from ganglion.model.workload import Workload
from ganglion.specs.grammar.words import PRIORITIES
from ganglion.specs.workload.workload import from_document, references, to_workload
from ganglion.worlds.kubernetes.http.client import Api
from ganglion.worlds.kubernetes.http.errors import Absent, ForbiddenRequest
from ganglion.worlds.kubernetes.sign_in.config import ApiEndpoint
from ganglion.worlds.kubernetes.submit import compile_workload, secrets_of, sleeping
from ganglion.worlds.kubernetes.submit.creating import create, is_there, rehearse
from ganglion.worlds.kubernetes.submit.finding import SeenWorkload, find, remove
from ganglion.worlds.kubernetes.submit.manifests.pod import Manifest, bare
from ganglion.worlds.kubernetes.submit.manifests.shape import gangs
from ganglion.worlds.kubernetes.submit.trouble import trouble_of
from ganglion.worlds.kubernetes.types.meta import Anything

Document = Mapping[str, Any]
PRIORITY_CLASS = "/apis/scheduling.k8s.io/v1/priorityclasses/"


class ClusterClient:
    """A connection to a cluster: a `WorkloadClient`.

    Args:
        endpoint: which cluster, with which credentials.
        namespace: where workloads are; empty = that of the endpoint.
        timeout_s: longest time for one request, in seconds.

    Attributes:
        namespace: where workloads are.
    """

    def __init__(
        self, endpoint: ApiEndpoint, namespace: str = "", *, timeout_s: float = 30.0
    ) -> None:
        self._bridge = Bridge()
        self.namespace = namespace or endpoint.namespace
        self._api = self._bridge.call(_open(endpoint, timeout_s))
        self._scheduler = SchedulerViews(self._api, self.namespace)

    def close(self) -> None:
        """Close all connections."""
        self._bridge.call(self._api.close())
        self._bridge.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Submitting

    def manifests(self, document: Document) -> tuple[Manifest, ...]:
        """The objects that a document becomes; nothing is asked of the cluster.

        Raises:
            FieldError: a key asks for what a cluster cannot do, or one that it needs is missing.
        """
        workload = self.understood(document)
        return compile_workload(
            workload,
            namespace=self.namespace,
            secrets=secrets_of(workload),
            document=document,
        )

    def understood(self, document: Document) -> Workload:
        """The workload that a document means; priority classes are the cluster's."""
        file = from_document(dict(document))
        if file.model:
            hint = "give the program the address of the model itself, as a variable of `env`"
            raise FieldError("no registry of models is asked in a cluster", key="model", hint=hint)
        own = isinstance(file.priority, str) and file.priority not in PRIORITIES
        classes = {str(file.priority): PriorityClass(0)} if own else {}
        user = getpass.getuser()
        understood = to_workload(file, user=user, default_queue="", classes=classes)
        given = {name: value or "" for name, value in references(file).items()}
        run = understood.run
        return replace(understood, run=replace(run, env=run.env | given))

    def rehearse(self, document: Document) -> None:
        """Let the cluster check a workload without taking it; raises what a submit would."""
        self._bridge.call(self._check_class(document))
        self._bridge.call(rehearse(self._api, self.manifests(document)))

    def submit(
        self, document: Document, *, key: str = "", force: bool = False, if_plan: str = ""
    ) -> Accepted:
        """Create the objects of a workload: all or none, once for each key.

        Args:
            document: keys as in a workload file.
            key: idempotency key.
            force: nothing is refused here for being too large.
            if_plan: `plan` of a verdict. Between the answer of the scheduler and the objects,
                others may be submitted.

        Raises:
            PlanChanged: by now something else would happen; nothing was created.
            NoScheduler: the scheduler cannot be asked; nothing was created.
            GanglionError: as `create`.
        """
        del force
        manifests = self.manifests(document)
        self._bridge.call(self._check_class(document))
        if if_plan and not self._bridge.call(is_there(self._api, manifests)):
            check_plan(self.verdict(document).plan, if_plan)
        self._bridge.call(create(self._api, manifests, key=key))
        name = str(document["name"])
        commands = tuple(f"ganglion {verb} {name}" for verb in ("why", "logs -f", "cancel"))
        return Accepted(name, name, gang_count(self.understood(document)), commands)

    def verdict(self, document: Document) -> Verdict:
        """Where the first gang of a workload would start, or why it would wait.

        Raises:
            FieldError: as `manifests`.
            StateError: the scheduler would not place it.
            NoScheduler: the scheduler cannot be asked.
        """
        made = self.manifests(document)
        first = gangs(self.understood(document))[0]
        objects = [bare(each) for each in made[: len(first.crews)]]
        found = self._bridge.call(self._scheduler.verdict(objects))
        if found is None:
            raise NoScheduler(
                f"no scheduler says where {document.get('name', 'it')} would start",
                "submit it without a plan, and ask `ganglion why`",
            )
        plan = digest_of_plan((_public(made), found.plan)) if found.plan else ""
        return replace(found, plan=plan)

    async def _check_class(self, document: Document) -> None:
        """Pods of an unknown class would be refused later, where no user looks."""
        name = self.understood(document).priority_class
        if name in ("", *PRIORITIES):
            return
        try:
            await self._api.get(PRIORITY_CLASS + name, Anything)
        except Absent as error:
            hint = f"use 0..100, {', '.join(PRIORITIES)}, or a PriorityClass of the cluster"
            raise FieldError(
                f"the cluster has no PriorityClass {name!r}", key="priority", hint=hint
            ) from error
        except ForbiddenRequest:
            return  # without the right to read, the pods will show it

    # Looking

    def workloads(
        self,
        *,
        ended: bool = False,
        limit: int | None = None,
        after: str | None = None,
        **filters: Unpack[Filters],
    ) -> WorkloadPage:
        """List the workloads of the namespace, newest first, in one page."""
        del after
        now = time.time_ns() // 1_000_000
        found = [
            view
            for view in self._bridge.call(self._listed())
            if passes(view, filters, ended=ended, now=now)
        ]
        found.sort(key=lambda view: (-view.submitted, view.name))
        return WorkloadPage(tuple(found[:limit]))

    async def _listed(self) -> list[WorkloadView]:
        seen = await find(self._api, self.namespace)
        items = await self._scheduler.workloads() or []
        found: list[WorkloadView] = []
        taken: set[str] = set()
        for each in seen:
            mine = merging.matching(each, items, self.namespace)
            taken |= {item.id for item in mine}
            found.append(merging.enriched(views.view(each), mine))
        return found + [
            _renamed(item, self.namespace)
            for item in items
            if item.id not in taken and merging.plain_name(item, self.namespace)
        ]

    def workload(self, ref: str) -> WorkloadDetail:
        """Everything about a workload; `ref` is a name or the only beginning of one."""
        return self._bridge.call(self._detail(ref.partition("/")[0]))

    async def _detail(self, ref: str) -> WorkloadDetail:
        seen, items = await self._resolved(ref)
        known = [
            item for each in items if (item := await self._scheduler.workload(each.id)) is not None
        ]
        if seen is not None:
            return merging.enriched_detail(views.detail(seen), known)
        if not known:
            raise self._no_workload(ref)
        known[0].id = known[0].name = merging.plain_name(known[0], self.namespace)
        return known[0]

    def why(self, ref: str) -> Why:
        """Say why a workload waits; `ref` may end in `/3` for one gang."""
        name, slash, number = ref.partition("/")
        return self._bridge.call(self._why(name, int(number) if slash else None))

    async def _why(self, ref: str, index: int | None) -> Why:
        seen, items = await self._resolved(ref)
        told = [why for item in items if (why := await self._scheduler.why(item.id))]
        explained = [each for why in told for each in why.explanations]
        name = seen.name if seen else ref
        if seen is not None and not explained:
            explained = await self._explained(seen)
        if not explained:
            raise self._no_workload(ref)
        chosen = [each for each in explained if index is None or _number(each.gang) == index]
        if not chosen:
            raise NotFound(f"{name} has no number {index}")
        return Why(name, tuple(chosen), len(explained))

    async def _explained(self, seen: SeenWorkload) -> list[Explained]:
        """What the objects themselves say, and what went wrong with making their pods."""
        gangs = views.detail(seen).gangs
        pods_lack = any(gang.reason and gang.reason.message == NO_PODS for gang in gangs)
        trouble = await trouble_of(self._api, self.namespace, seen) if pods_lack else ""
        return [_explained(gang, trouble) for gang in gangs]

    async def _resolved(self, ref: str) -> tuple[SeenWorkload | None, Sequence[WorkloadView]]:
        """The workload that a reference means, and what the scheduler calls it."""
        exact = await find(self._api, self.namespace, ref) if ref else ()
        items = await self._scheduler.workloads() or []
        foreign = [i for i in items if ref in (i.id, merging.plain_name(i, self.namespace))]
        if not exact and not foreign:
            exact = self._beginning(ref, await find(self._api, self.namespace))
        if exact:
            return exact[0], merging.matching(exact[0], items, self.namespace)
        return None, foreign

    def _beginning(self, ref: str, found: tuple[SeenWorkload, ...]) -> tuple[SeenWorkload, ...]:
        fitting = [each for each in found if ref and each.name.startswith(ref)]
        if not fitting:
            raise self._no_workload(ref)
        if len(fitting) > 1:
            names = ", ".join(each.name for each in fitting)
            raise Conflict(f"{ref!r} fits several workloads", f"write more of the name: {names}")
        return tuple(fitting)

    def _no_workload(self, ref: str) -> NotFound:
        hint = "see `ganglion ps --all`, and --namespace"
        return NotFound(f"there is no workload {ref!r} in namespace {self.namespace}", hint)

    def events(self, after: int = 0, *, follow: bool = True) -> Iterator[EventView]:
        """Raises LocalOnly: what happened is in the ledger of a server."""
        del after, follow
        raise LocalOnly("a cluster has no ledger of events", "in the cluster: kubectl get events")

    # Doing

    @property
    def terminals(self) -> Terminals:
        """Raises LocalOnly: a server enters the pods of its own machine."""
        raise LocalOnly("a cluster's pods are not entered through Ganglion", "use `kubectl exec`")

    @property
    def bulk(self) -> OneByOne:
        """Many workloads at once, as far as commands with --context need it."""
        return OneByOne(self)

    def cancel(self, ref: str, *, force: bool = False) -> None:
        """Delete the objects of a workload: gently, or at once with `force`."""
        name, slash, number = ref.partition("/")
        index = int(number) if slash else None
        self._bridge.call(self._cancel(name, index, force=force))

    async def _cancel(self, ref: str, index: int | None, *, force: bool) -> None:
        exact = await find(self._api, self.namespace, ref)
        seen = exact or self._beginning(ref, await find(self._api, self.namespace))
        await remove(self._api, self.namespace, seen[0].name, index=index, force=force)

    def suspend(self, ref: str, *, dry_run: bool = False) -> Suspension:
        """Stop a workspace until it is resumed; with `dry_run` only say what would be lost."""
        return self._bridge.call(self._suspend(ref, dry_run))

    async def _suspend(self, ref: str, dry_run: bool) -> Suspension:
        found = await sleeping.workspaces(self._api, self.namespace, ref)
        lost = await sleeping.loss(self._api, self.namespace, found)
        user = getpass.getuser()
        await sleeping.suspend(self._api, self.namespace, found, user, dry_run=dry_run)
        return Suspension(found.name, lost)

    def resume(self, ref: str) -> WorkloadDetail:
        """Let a suspended workspace start again."""
        return self._bridge.call(self._resume(ref))

    async def _resume(self, ref: str) -> WorkloadDetail:
        found = await sleeping.workspaces(self._api, self.namespace, ref)
        document = views.detail(found).document
        counts = sleeping.counts_of(self.manifests(document)) if document else {}
        await sleeping.resume(self._api, self.namespace, found, counts)
        return views.detail(await sleeping.workspaces(self._api, self.namespace, found.name))

    @contextmanager
    def logs(
        self,
        ref: str,
        *,
        index: int | None = None,
        rank: int = 0,
        tail: int | None = None,
        since: str | None = None,
        follow: bool = False,
        previous: bool = False,
    ) -> Iterator[Iterator[bytes]]:
        """Open the log of a pod; with `follow` it ends when the gang ends."""
        seen, _ = self._bridge.call(self._resolved(ref))
        if seen is None:
            raise NotFound(
                f"{ref} was not submitted by Ganglion", f"kubectl logs -l job-name={ref}"
            )
        log = Log(self._api, self.namespace, seen.name, index or 0, rank)
        source = self._bridge.stream(log.read(LogPart(tail, since, follow, previous)))
        yield source


async def _open(endpoint: ApiEndpoint, timeout_s: float) -> Api:
    """Within the loop that it belongs to."""
    return Api(endpoint, timeout_s=timeout_s)


def _public(manifests: Sequence[Manifest]) -> list[Manifest]:
    """Objects without the values of secrets: a hash that is printed says nothing of them."""
    return [
        {**each, "stringData": sorted(each.get("stringData", {}))}
        if each["kind"] == "Secret"
        else each
        for each in manifests
    ]


def _renamed(item: WorkloadView, namespace: str) -> WorkloadView:
    item.id = item.name = merging.plain_name(item, namespace)
    return item


def _number(gang: str) -> int | None:
    last = gang.rpartition("/")[2]
    return int(last) if last.isdecimal() else None


def _explained(gang: GangView, trouble: str) -> Explained:
    if gang.reason is None:
        text = f"{gang.id} does not wait: it is {gang.phase}"
        return Explained(gang=gang.id, phase=gang.phase, text=text)
    message = gang.reason.message
    if trouble and message == NO_PODS:
        message = f"{NO_PODS}: {trouble}"
    reason = type(gang.reason)(gang.reason.token, message, remedy=gang.reason.remedy)
    text = f"{gang.id} waits ({reason.token}): {message}"
    return Explained(gang=gang.id, phase=gang.phase, reason=reason, text=text)
