"""The rules among the pods of one gang while it is placed pod by pod."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from ganglion.worlds.kubernetes.cluster_view.cluster_view import ClusterView
from ganglion.worlds.kubernetes.feasibility.needs import Needs, Resident
from ganglion.worlds.kubernetes.feasibility.node_preferences import taste_of
from ganglion.worlds.kubernetes.feasibility.reading import resident
from ganglion.worlds.kubernetes.feasibility.rule import PodRule, obstacle, rule_of
from ganglion.worlds.kubernetes.pod_rules.barred import Openness
from ganglion.worlds.kubernetes.pod_rules.gang_check import in_place
from ganglion.worlds.kubernetes.pod_rules.preferences import Preferences
from ganglion.worlds.kubernetes.types.pod import Pod
from ganglion.worlds.kubernetes.workload_discovery.found import FoundGang


class GangFilter:
    """Says which nodes are open to each pod of a gang while those before it are placed.

    Args:
        site: the cluster.
        found: the gang.
        suppose: puts a pod on a node for the time being.
        prefers: whether it counts what the pods prefer.
    """

    def __init__(
        self,
        site: ClusterView,
        found: FoundGang,
        suppose: Callable[[Resident], None],
        *,
        prefers: bool = False,
    ) -> None:
        self._site, self._suppose, self.prefers = site, suppose, prefers
        self._pods = members_by_set(found)
        self._found = found
        self._placed: list[tuple[str, Resident]] = []
        self._counts = dict.fromkeys((each.name for each in found.sets), 0)
        self._next: dict[str, tuple[Pod, Needs]] = {}
        self._keys = tuple(sorted(self._label_keys()))
        self._is_uneven = any(
            each.ports or each.extras or each.claims for each in map(self._needs, self._counts)
        )

    def opened(self, pod_set: str) -> Callable[[str], bool]:
        """Whether a node, by name, is open to the next pod of a set; holds until one is placed."""
        pod, needs = self._following(pod_set)
        site, prefix = self._site, self._site.prefix
        openness = Openness(needs, site.crowd, site.fleet)
        rule = rule_of(pod, site.volumes) if pod.spec.volumes else None
        if rule is None:
            return openness.allows if not prefix else _within(prefix, openness.allows)

        def allows(node: str) -> bool:
            return openness.allows(node) and not self._obstacle(rule, node)

        return _within(prefix, allows)

    def put(self, pod_set: str, node: str) -> None:
        """The next pod of a set is placed on a node."""
        pod, needs = self._following(pod_set)
        uid = pod.metadata.uid or f"{self._found.key} {pod_set} {self._counts[pod_set]}"
        one = resident(pod, node.removeprefix(self._site.prefix), uid, needs)
        self._suppose(one)
        self._placed.append((pod_set, one))
        self._counts[pod_set] += 1

    def take_back(self) -> None:
        """The pod that was placed last is not."""
        pod_set, one = self._placed.pop()
        self._counts[pod_set] -= 1
        self._site.crowd.drop(one.uid)

    def holds(self) -> bool:
        """Whether all pods may be where they are placed, whatever the order."""
        placed = [one for _, one in self._placed]
        return in_place(placed, self._site.crowd, self._site.fleet) is None

    def alike(self, node: str) -> Hashable:
        """Nodes with equal answers are in the same domains of all these rules."""
        view = self._site.fleet.views.get(node.removeprefix(self._site.prefix))
        if self._is_uneven or self.prefers or view is None:
            return node
        return tuple(view.labels.get(key) for key in self._keys)

    def order(self, pod_set: str, nodes: Iterable[str]) -> Iterator[str]:
        """Nodes, the one that the next pod of a set prefers first; equals stay as they are."""
        pod, needs = self._following(pod_set)
        site = self._site
        preferences = Preferences(needs, taste_of(pod), site.crowd, site.fleet)
        found = preferences.order(node.removeprefix(site.prefix) for node in nodes)
        return (site.prefix + node for node in found)

    def _following(self, pod_set: str) -> tuple[Pod, Needs]:
        number = self._counts[pod_set]
        pods = self._pods[pod_set]
        pod = pods[number] if number < len(pods) else nameless(self._found, pod_set, number)
        return pod, self._site.asks.needs(pod)

    def _needs(self, pod_set: str) -> Needs:
        return self._following(pod_set)[1]

    def _label_keys(self) -> set[str]:
        return {key for pod_set in self._counts for key in label_keys(self._needs(pod_set))}

    def _obstacle(self, rule: PodRule, node: str) -> str:
        return obstacle(rule, self._site.fleet.views[node].asked)


def label_keys(needs: Needs) -> set[str]:
    """The node labels that rules among pods are about."""
    terms = {each.key for each in (*needs.near, *needs.apart)}
    return terms | {each.among.key for each in needs.spreads}


def members_by_set(found: FoundGang) -> Mapping[str, Sequence[Pod]]:
    """The pods of each set, in their order."""
    pods: dict[str, list[Pod]] = {each.name: [] for each in found.sets}
    for member in found.members:
        pods.setdefault(member.pod_set, []).append(member.pod)
    return pods


def nameless(found: FoundGang, pod_set: str, number: int) -> Pod:
    """A pod that is yet to be made: it mounts what all mount, not what another has for itself."""
    pod = next(each.request for each in found.sets if each.name == pod_set)
    living = [each.pod for each in found.members if each.pod_set == pod_set]
    volumes = pod.spec.volumes if len(living) != 1 else ()
    volumes = tuple(v for v in volumes if all(v in each.spec.volumes for each in living))
    return replace(
        pod,
        metadata=replace(pod.metadata, uid=f"{found.key} {pod_set} {number}"),
        spec=replace(pod.spec, volumes=volumes),
    )


def _within(prefix: str, allows: Callable[[str], bool]) -> Callable[[str], bool]:
    return lambda node: allows(node.removeprefix(prefix))
