"""A cluster in memory that does what steps say, as the API server, kubelets and controllers would.

It refuses what must never happen: too much on a node, a victim without a beneficiary whom it
helps, a pod bound twice.
"""

from collections import Counter
from dataclasses import dataclass, field

from ganglion.model.workload import Kind
from ganglion.worlds.kubernetes.act.bind import BindOrder
from ganglion.worlds.kubernetes.act.conditions import VICTIM_OF
from ganglion.worlds.kubernetes.act.outcome import Ref
from ganglion.worlds.kubernetes.act.resume import Seen
from ganglion.worlds.kubernetes.act.standing import Standing
from ganglion.worlds.kubernetes.act.steps import (
    Bind,
    Evict,
    Mark,
    Nominate,
    Place,
    Spare,
    Step,
    Suspend,
    TakeApart,
    Unsuspend,
    Withdraw,
)
from ganglion.worlds.kubernetes.gangs.found import Found, FoundSet, Member, Owner
from ganglion.worlds.kubernetes.objects.meta import Condition, Meta
from ganglion.worlds.kubernetes.objects.pod import Pod, PodSpec, PodStatus

PLAN = "plan"


@dataclass
class ToyPod:
    gang: str
    index: int
    uid: str
    node: str = ""
    nominated: str = ""
    victim_of: str = ""
    leaving: bool = False
    plan: str = ""

    @property
    def ref(self) -> Ref:
        return Ref("ns", f"{self.gang}-{self.index}", self.uid)

    def seen(self) -> Pod:
        notes = {VICTIM_OF: self.victim_of} if self.victim_of else {}
        target = Condition("DisruptionTarget", "True", "PreemptionByScheduler")
        meta = Meta(
            name=self.ref.name,
            namespace="ns",
            uid=self.uid,
            annotations=notes,
            deletion_timestamp="now" if self.leaving else "",
        )
        status = PodStatus(
            nominated_node_name=self.nominated,
            conditions=(target,) if self.victim_of else (),
        )
        return Pod(meta, PodSpec(node_name=self.node), status)


@dataclass
class ToyGang:
    key: str
    size: int
    count: int
    least: int
    switch: bool = False
    suspended: bool = False
    suspended_for: str = ""
    deleted: bool = False

    @property
    def owner(self) -> Owner:
        fields = ("spec", "suspend") if self.switch else ()
        return Owner("v1", "Job", "ns", self.key, self.key, "", fields, self.suspended)


@dataclass
class Toy:
    nodes: dict[str, int]
    gangs: dict[str, ToyGang] = field(default_factory=dict)
    pods: dict[str, ToyPod] = field(default_factory=dict)
    told: set[str] = field(default_factory=set)
    made: int = 0

    def gang(
        self,
        key: str,
        size: int,
        nodes: tuple[str, ...],
        *,
        least: int = 0,
        switch: bool = False,
    ) -> None:
        """Add a gang with a pod per entry of `nodes`; "" = it waits."""
        self.gangs[key] = ToyGang(key, size, len(nodes), least or len(nodes), switch)
        for index, node in enumerate(nodes):
            self.add(key, index, node)

    def add(self, key: str, index: int, node: str = "") -> ToyPod:
        self.made += 1
        made = self.pods[f"u{self.made}"] = ToyPod(key, index, f"u{self.made}", node)
        return made

    def of(self, key: str) -> list[ToyPod]:
        return sorted((p for p in self.pods.values() if p.gang == key), key=lambda p: p.index)

    def free(self, without: frozenset[str] = frozenset(), *, but: str = "") -> Counter[str]:
        """GPUs by node that nobody holds or, except for gang `but`, was promised."""
        free = Counter(self.nodes)
        for pod in self.pods.values():
            promised = "" if pod.gang == but else pod.nominated
            if pod.uid not in without and (pod.node or promised):
                free[pod.node or promised] -= self.gangs[pod.gang].size
        return free

    def found(self) -> list[Found]:
        return [self._found(gang) for gang in self.gangs.values() if not gang.deleted]

    def _found(self, gang: ToyGang) -> Found:
        members = tuple(Member(pod.seen(), "main", pod.index) for pod in self.of(gang.key))
        one = FoundSet("main", gang.count, gang.least, Pod(), upfront=gang.count)
        return Found(
            key=gang.key,
            workload=gang.key,
            name=gang.key,
            namespace="ns",
            kind=Kind.TRAIN,
            queue="",
            priority=0,
            preemptible=True,
            preempts=True,
            sets=(one,),
            members=members,
            owner=gang.owner,
        )

    def noted(self) -> dict[str, str]:
        """Where pods go that have no node, as the first pod of their gang says."""
        plans = {p.gang: p.plan.split(",") for p in self.pods.values() if p.plan and not p.leaving}
        return {
            pod.uid: plans[pod.gang][pod.index]
            for pod in self.pods.values()
            if pod.gang in plans and not pod.node
        }

    def room(self, key: str, without: frozenset[str]) -> bool:
        free = self.free(without, but=key)
        standing = Standing(self._found(self.gangs[key]), self.noted())
        for member in standing.promised:
            free[standing.place_of(member)] -= self.gangs[key].size
        return all(free[standing.place_of(m)] >= 0 for m in standing.promised)

    def seen(self, overdue: frozenset[str] = frozenset()) -> Seen:
        suspended = {g.key: g.suspended_for for g in self.gangs.values() if g.suspended_for}
        others = [p.seen() for p in self.pods.values() if self.gangs[p.gang].deleted]
        return Seen(self.found(), self.room, others, self.noted(), suspended, overdue=overdue)

    def apply(self, step: Step) -> None:
        match step:
            case Nominate():
                self._on(step.pod).nominated = step.node
            case Withdraw():
                self._on(step.pod).nominated = ""
            case Mark():
                self._on(step.pod).victim_of = step.beneficiary
            case Spare():
                self._spare(self._on(step.pod))
            case Suspend():
                self._switch(self.gangs[step.owner.name], step.beneficiary)
            case Unsuspend():
                self._switch(self.gangs[step.owner.name], "")
            case Evict():
                self._evict(self._on(step.pod))
            case Bind():
                self._bind(step.orders)
            case TakeApart():
                for ref in step.pods:
                    self._on(ref).leaving = True
            case Place():
                self._place(step)

    def _on(self, ref: Ref) -> ToyPod:
        """The pod, or one that nobody looks at when it is gone."""
        return self.pods.get(ref.uid) or ToyPod("", 0, ref.uid)

    def _spare(self, pod: ToyPod) -> None:
        if not pod.leaving:
            pod.victim_of = ""

    def _switch(self, gang: ToyGang, beneficiary: str) -> None:
        if beneficiary:
            assert all(pod.victim_of for pod in self.of(gang.key) if pod.node), "unmarked victims"
        gang.suspended, gang.suspended_for = bool(beneficiary), beneficiary

    def _evict(self, pod: ToyPod) -> None:
        if pod.uid in self.pods:
            assert pod.victim_of, f"{pod.ref.name} was told to go for nobody"
            beneficiary = self.gangs[pod.victim_of]
            assert not beneficiary.deleted, "told to go for somebody who is gone"
            assert not all(p.node for p in self.of(beneficiary.key)), "it runs already"
            pod.leaving = True
            self.told.add(pod.victim_of)

    def _bind(self, orders: tuple[BindOrder, ...]) -> None:
        for order in orders:
            pod = self.pods.get(order.uid)
            if pod is None:
                continue
            assert not pod.node, f"{order.name} is bound twice"
            pod.node, pod.nominated = order.node, ""
            pod.plan = dict(order.notes).get(PLAN, "")
        assert min(self.free(but="*").values()) >= 0 or self._promises_broken(), (
            "too much on a node"
        )

    def _promises_broken(self) -> bool:
        """Whether only promises, and nothing bound, are too much."""
        held = Counter(self.nodes)
        for pod in self.pods.values():
            held[pod.node] -= self.gangs[pod.gang].size if pod.node else 0
        return min(held.values()) >= 0

    def _place(self, step: Place) -> None:
        """Promise places that are free, or are being left, to all of the pods or to none."""
        going = {p.uid for p in self.pods.values() if p.leaving or p.victim_of == step.gang}
        free, places = self.free(frozenset(going | {ref.uid for ref in step.pods})), []
        for ref in step.pods:
            size = self.gangs[step.gang].size
            node = next((n for n in sorted(self.nodes) if free[n] >= size), "")
            if not node:
                return
            free[node] -= size
            places.append(Nominate(ref, node))
        for each in places:
            self.apply(each)

    def time_passes(self) -> None:
        """Who was told to go is gone; controllers make anew what is missing."""
        for gang in self.gangs.values():
            for pod in self.of(gang.key):
                if gang.suspended or gang.deleted:
                    pod.leaving = True
                if pod.leaving:
                    del self.pods[pod.uid]
            here = {pod.index for pod in self.of(gang.key)}
            if not gang.suspended and not gang.deleted:
                for index in set(range(gang.count)) - here:
                    self.add(gang.key, index)

    def delete(self, key: str) -> None:
        """Its user deletes a gang."""
        self.gangs[key].deleted = True
        for pod in self.of(key):
            if pod.node:
                pod.leaving = True
            else:
                del self.pods[pod.uid]
