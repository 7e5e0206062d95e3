"""Numbers of pods when a gang goes on elsewhere: a pod that returns to its node keeps its index."""

from msgspec.structs import replace

from ganglion.model.placement import Placement, PodPlacement


def renumbered(old: Placement, new: Placement) -> Placement:
    """The same place with the numbers of the old one.

    Pods of a set are alike; what one has left on a node (data, caches) helps it most if it
    comes back there.

    Args:
        old: where the gang is.
        new: where it will be, as many pods of every set.
    """
    pods: list[PodPlacement] = []
    for name in dict.fromkeys(pod.pod_set for pod in new.pods):
        before = [pod for pod in old.pods if pod.pod_set == name]
        after = [pod for pod in new.pods if pod.pod_set == name]
        pods += _numbered(before, after) if len(before) == len(after) else after
    return replace(new, pods=tuple(pods))


def _numbered(before: list[PodPlacement], after: list[PodPlacement]) -> list[PodPlacement]:
    left, found = list(after), {}
    for same in (_place, _node):
        for pod in before:
            match = next((each for each in left if same(each) == same(pod)), None)
            if match and pod.index not in found:
                left.remove(match)
                found[pod.index] = match
    for pod in before:
        if pod.index not in found:
            found[pod.index] = left.pop(0)
    return [replace(found[index], index=index) for index in sorted(found)]


def _place(pod: PodPlacement) -> tuple[object, ...]:
    return (pod.node, pod.devices)


def _node(pod: PodPlacement) -> tuple[object, ...]:
    return (pod.node,)
