"""Keeps the gangs of a cluster while its pods and their owners come, change and go."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from msgspec import Struct, field, structs

from ganglion.model.errors import InputError
from ganglion.worlds.kubernetes.instance import FIRST, Instance
from ganglion.worlds.kubernetes.pod_groups import upstream
from ganglion.worlds.kubernetes.pod_groups.groups import NamedPodGroup, terms_of
from ganglion.worlds.kubernetes.pod_groups.terms import GroupTerms
from ganglion.worlds.kubernetes.requests import asks_otherwise
from ganglion.worlds.kubernetes.types.meta import Anything, Meta
from ganglion.worlds.kubernetes.types.pod import Pod
from ganglion.worlds.kubernetes.workload_discovery import marked, owned
from ganglion.worlds.kubernetes.workload_discovery.annotations import STANDARD_LABELS, Levels
from ganglion.worlds.kubernetes.workload_discovery.build import found_of
from ganglion.worlds.kubernetes.workload_discovery.draft import Draft
from ganglion.worlds.kubernetes.workload_discovery.found import FoundGang, with_latest
from ganglion.worlds.kubernetes.workload_discovery.home import GangName, home_of
from ganglion.worlds.kubernetes.workload_discovery.seats import Held
from ganglion.worlds.kubernetes.workload_discovery.sources import GangSources, Need, needs_met_by
from ganglion.worlds.kubernetes.workload_kinds.owners import Lookup, WantedOwner

Part = TypeVar("Part")


class _Band(Struct):
    """Living pods with one key, and what was made of them last."""

    key: str
    group: NamedPodGroup | None
    pods: dict[str, Pod] = field(default_factory=dict)
    unsettled: set[str] = field(default_factory=set)
    draft: Draft | None = None
    held: Held = field(default_factory=dict)
    found: dict[str, FoundGang] = field(default_factory=dict)
    needs: frozenset[Need] = frozenset()
    missing: frozenset[WantedOwner] = frozenset()

    def is_whole(self) -> bool:
        """Whether every pod has a seat that it keeps."""
        return all(not (e.lacking or e.refused or e.spare) for e in self.found.values())


class Grouping:
    """The gangs of one cluster.

    Changes cost the same whatever the size of the cluster; a gang is put together again when
    it is asked for, or for what changed, after one of its pods or owners did.

    Args:
        owners: looks up objects other than pods; those that are not known are in `wanted_owners`.
        levels: what node labels mean as levels of the topology.
        failed: gets what was raised about the pods of one key; says why, for people, or raises.
        instance: whose pods they are made of.
    """

    def __init__(
        self,
        owners: Lookup,
        levels: Levels = STANDARD_LABELS.get,
        failed: Callable[[str, Exception], str] | None = None,
        instance: Instance = FIRST,
    ) -> None:
        self._instance = instance
        self._owners = owners
        self._levels = levels
        self.failed = failed or _raised
        self._metas: dict[str, Meta] = {}
        self._ours: set[str] = set()
        self._bands: dict[str, _Band] = {}
        self._band_of: dict[str, str] = {}
        self._needed_by: dict[Need, set[str]] = {}
        self._wanted_by: dict[WantedOwner, set[str]] = {}
        self._stale: set[str] = set()
        self._exchanged: set[str] = set()
        self._dirty: set[str] = set()
        self._found: dict[str, FoundGang] = {}
        self._departing: dict[str, Pod] = {}

    def put(self, pod: Pod) -> None:
        """A pod is there, or has changed. Pods of others, and those that ended, are no members."""
        uid = pod.metadata.uid
        if uid not in self._ours and not self._instance.places(pod):
            return
        self._ours.add(uid)
        known = uid in self._metas
        self._metas[uid] = pod.metadata
        if known and self._exchange(pod):
            return
        if not known:
            self._changed((uid,))
            if pod.is_leaving:
                self._departing[uid] = pod
        if pod.is_over or pod.is_leaving:
            self._leave(uid)
        else:
            self._settle(pod)

    def drop(self, uid: str) -> None:
        """A pod is gone. Unknown ones are ignored."""
        self._ours.discard(uid)
        self._departing.pop(uid, None)
        self._leave(uid)
        if self._metas.pop(uid, None) is not None:
            self._changed((uid,))

    def owner_changed(self, thing: Anything) -> None:
        """An object that is not a pod is there, has changed, or is gone."""
        self._changed(needs_met_by(thing))

    def set_levels(self, levels: Levels) -> None:
        """Node labels mean these levels from now on."""
        self._levels = levels
        self._stale.update(self._bands)

    def touch(self, namespace: str) -> None:
        """Labels or annotations of a namespace have changed: its gangs are looked at again."""
        self._dirty.update(key for key in self._found if key.startswith(f"{namespace}/"))

    def take_dirty(self) -> set[str]:
        """Keys of gangs that have appeared, changed or gone since this was asked last."""
        self._flush()
        dirty, self._dirty = self._dirty, set()
        return dirty

    def found(self, key: str) -> FoundGang | None:
        """A gang; None = it has no living pods."""
        self._flush()
        return self._found.get(key)

    def all_keys(self) -> list[str]:
        """Keys of all gangs, sorted."""
        self._flush()
        return sorted(self._found)

    def of_leaving(self, pod: Pod) -> FoundGang:
        """What a pod that is a member no more would be by itself, as in the queue that is named."""
        sources = self._sources()
        home = home_of(pod, sources.chain(pod), sources.described)
        band = _Band(home.key, home.group, {pod.metadata.uid: pod})
        return next(self._understand(band, sources))

    def wanted_owners(self) -> set[WantedOwner]:
        """Objects that have to be known before some gang, or pod that leaves, can be understood."""
        self._flush()
        sources = self._sources()
        for pod in self._departing.values():
            home = home_of(pod, sources.chain(pod), sources.described)
            if home.group:
                sources.described(home.group.reference, pod.metadata.namespace)
        return set(self._wanted_by) | sources.missing

    def _changed(self, needs: Iterable[Need]) -> None:
        for need in needs:
            self._stale.update(self._needed_by.get(need, ()))

    def _exchange(self, pod: Pod) -> bool:
        """Take a pod in the place of its former self, if its gang stays as it is."""
        uid = pod.metadata.uid
        band = self._bands.get(self._band_of.get(uid, ""))
        if band is None or uid in band.unsettled or not _asks_as(band.pods[uid], pod):
            return False
        if pod.spec.node_name != band.pods[uid].spec.node_name and not band.is_whole():
            return False  # a pod with a node has the first choice of seats
        band.pods[uid] = pod
        self._exchanged.add(band.key)
        return True

    def _settle(self, pod: Pod) -> None:
        """Put a pod into the band it belongs to."""
        uid = pod.metadata.uid
        sources = self._sources()
        home = home_of(pod, sources.chain(pod), sources.described)
        before = self._band_of.get(uid)
        if before and not home.settled and uid not in self._bands[before].unsettled:
            # What made it is being deleted: it stays what it was.
            home = GangName(before, self._bands[before].group)
        if before and before != home.key:
            self._leave(uid)
        self._join(pod, home)

    def _join(self, pod: Pod, home: GangName) -> None:
        uid = pod.metadata.uid
        band = self._bands.setdefault(home.key, _Band(home.key, home.group))
        band.pods[uid] = pod
        if home.settled:
            band.unsettled.discard(uid)
        else:
            band.unsettled.add(uid)
        self._band_of[uid] = home.key
        self._stale.add(home.key)

    def _leave(self, uid: str) -> None:
        key = self._band_of.pop(uid, None)
        if key is None:
            return
        band = self._bands[key]
        del band.pods[uid]
        band.unsettled.discard(uid)
        band.held.pop(uid, None)
        self._stale.add(key)

    def _flush(self) -> None:
        """Put together what changed; pods whose owner became known may move meanwhile."""
        while self._stale:
            band = self._bands[self._stale.pop()]
            for uid in sorted(band.unsettled):
                self._settle(band.pods[uid])
            self._stale.discard(band.key)
            self._exchanged.discard(band.key)
            self._rebuild(band)
        exchanged, self._exchanged = sorted(self._exchanged), set()
        for each in exchanged:
            band = self._bands[each]
            for key, old in band.found.items():
                band.found[key] = found = with_latest(old, band.pods)
                if self._found.get(key) is old:
                    self._found[key] = found
            self._dirty.update(band.found)

    def _sources(self) -> GangSources:
        return GangSources(self._owners, self._metas.get)

    def _rebuild(self, band: _Band) -> None:
        sources = self._sources()
        try:
            found = {each.key: each for each in self._understand(band, sources)}
        except Exception as error:
            found = self._set_apart(band, self.failed(band.key, error))
        self._dirty.update(band.found, found)
        for key, old in band.found.items():
            # A pod that left may meanwhile have been put together under the same key elsewhere.
            if self._found.get(key) is old:
                del self._found[key]
        self._found.update(found)
        band.found = found
        self._note(band, frozenset(sources.needs), frozenset(sources.missing))
        if not band.pods:
            del self._bands[band.key]

    def _note(self, band: _Band, needs: frozenset[Need], missing: frozenset[WantedOwner]) -> None:
        """Remember what a band depends on."""
        _move(self._needed_by, band.key, band.needs, needs)
        _move(self._wanted_by, band.key, band.missing, missing)
        band.needs, band.missing = needs, missing

    def _understand(self, band: _Band, sources: GangSources) -> Iterator[FoundGang]:
        pods = sorted(band.pods.values(), key=lambda pod: pod.metadata.name)
        if not pods:
            return
        if band.group is None:
            found, things = self._of_owner(band, pods, sources), _things(_lines(pods, sources))
            yield structs.replace(found, groups=things) if things else found
        else:
            yield from self._of_group(band, band.group, pods, sources)

    def _set_apart(self, band: _Band, why: str) -> dict[str, FoundGang]:
        """Pods that cannot be understood: refused, or as they were where they were before."""
        if band.found:
            return {k: structs.replace(each, refused=why) for k, each in band.found.items()}
        pods = sorted(band.pods.values(), key=lambda pod: pod.metadata.name)
        drafts = [(marked.alone(pod), pod) for pod in pods]
        wrong = InputError(why)
        return {d.key: found_of(d, (pod,), {}, self._levels, wrong) for d, pod in drafts}

    def _of_owner(self, band: _Band, pods: Sequence[Pod], sources: GangSources) -> FoundGang:
        draft, wrong = owned.draft_of(band.key, pods, sources.chain, band.draft)
        found = found_of(draft, pods, band.held, self._levels, wrong, self._instance.gate)
        if not draft.missing and not wrong:
            band.draft = draft
            band.held = _held(found)
        return found

    def _of_group(
        self, band: _Band, group: NamedPodGroup, pods: Sequence[Pod], sources: GangSources
    ) -> Iterator[FoundGang]:
        described = sources.described(group.reference, pods[0].metadata.namespace)
        lines = _lines(pods, sources) if group.source == upstream.FIELD else {}
        parts = marked.split(pods, sources.chain, described)
        if group.kind == upstream.COMPOSITE:
            parts = marked.split_inner(parts, sources.chain, lines)
        for pod in parts.strangers:
            draft, error = marked.stranger(pod, group, parts.whose)
            yield found_of(draft, (pod,), {}, self._levels, error, self._instance.gate)
        terms, wrong = _terms(group, parts.rightful, described, lines)
        if terms.is_gang:
            found = [self._of_marks(band, group, parts.rightful, sources, described, terms, wrong)]
        else:
            found = [self._alone(pod, sources) for pod in parts.rightful]
        things = _things(lines)
        yield from (structs.replace(each, groups=things) if things else each for each in found)

    def _alone(self, pod: Pod, sources: GangSources) -> FoundGang:
        missing = sources.chain(pod).missing
        lacks = f"its {missing} is not known yet" if missing else ""
        draft = structs.replace(marked.alone(pod), missing=lacks)
        return found_of(draft, (pod,), {}, self._levels, gate=self._instance.gate)

    def _of_marks(
        self,
        band: _Band,
        group: NamedPodGroup,
        pods: Sequence[Pod],
        sources: GangSources,
        described: Anything | None,
        terms: GroupTerms,
        wrong: InputError | None,
    ) -> FoundGang:
        try:
            draft = marked.draft_of(
                band.key, group, pods, sources.chain, described, terms, band.draft
            )
        except InputError as error:
            draft, wrong = marked.crowd(band.key, group, pods), error
        found = found_of(draft, pods, band.held, self._levels, wrong, self._instance.gate)
        if not found.lacking and not found.refused:
            band.draft = draft
            band.held = _held(found)
        return found


def _asks_as(old: Pod, new: Pod) -> bool:
    """Whether a pod still says and asks what it did: only its node or its state has changed."""
    if new.is_over or new.is_leaving or asks_otherwise(old, new):
        return False
    version, node = new.metadata.resource_version, new.spec.node_name
    about = structs.replace(old.metadata, resource_version=version)
    return about == new.metadata and structs.replace(old.spec, node_name=node) == new.spec


def _raised(_key: str, error: Exception) -> str:
    raise error


def _lines(pods: Sequence[Pod], sources: GangSources) -> dict[str, upstream.GroupLine]:
    """Kubernetes' own PodGroups that the pods name, by name."""
    space = pods[0].metadata.namespace
    named = (name for name in upstream.members(pods) if name)
    return {name: upstream.line_of(name, space, sources.described) for name in named}


def _things(lines: Mapping[str, upstream.GroupLine]) -> tuple[Anything, ...]:
    """The PodGroups, and what gathers them, each once."""
    found = {each.metadata.uid: each for line in lines.values() for each in line.things}
    return tuple(found.values())


def _terms(
    group: NamedPodGroup,
    pods: Sequence[Pod],
    described: Anything | None,
    lines: Mapping[str, upstream.GroupLine],
) -> tuple[GroupTerms, InputError | None]:
    if group.reference and described is None:
        return GroupTerms(), None
    named = upstream.members(pods) if lines else {}
    mine = {name: lines[name] for name in named}
    missing = next((each.missing for each in mine.values() if each.missing), "")
    if missing:
        return GroupTerms(lacking=f"its {missing} is not known yet"), None
    try:
        if mine:
            return upstream.terms_of(mine, named), None
        return terms_of(group, pods, described), None
    except InputError as error:
        return GroupTerms(), error


def _held(found: FoundGang) -> Held:
    return {each.pod.metadata.uid: (each.pod_set, each.index) for each in found.members}


def _move(
    index: dict[Part, set[str]], key: str, before: frozenset[Part], after: frozenset[Part]
) -> None:
    for each in before - after:
        index[each].discard(key)
        if not index[each]:
            del index[each]
    for each in after - before:
        index.setdefault(each, set()).add(key)
