"""What pods take and need, remembered."""

from collections.abc import Mapping

from ganglion.worlds.kubernetes.filters.crowd import Crowd
from ganglion.worlds.kubernetes.filters.needs import Needs
from ganglion.worlds.kubernetes.filters.reading import needs_of
from ganglion.worlds.kubernetes.objects.pod import Pod
from ganglion.worlds.kubernetes.requests import Ask, ask_of


class Asks:
    """Works out once what a pod takes, as long as it is as it was seen last.

    Args:
        pods: as they were seen last, by UID.
        crowd: those of them that are on nodes.
    """

    def __init__(self, pods: Mapping[str, Pod], crowd: Crowd) -> None:
        self._pods, self._crowd = pods, crowd
        self._known: dict[str, Ask] = {}

    def of(self, pod: Pod) -> Ask:
        """What one pod takes.

        Raises:
            InputError: a quantity is none.
        """
        uid = pod.metadata.uid
        if self._pods.get(uid) is not pod:
            return ask_of(pod)
        if uid not in self._known:
            self._known[uid] = ask_of(pod)
        return self._known[uid]

    def needs(self, pod: Pod) -> Needs:
        """What a pod needs of its node and of those around it.

        Raises:
            InputError: a quantity is none.
        """
        uid = pod.metadata.uid
        known = self._crowd.needs(uid) if self._pods.get(uid) is pod else None
        return known or needs_of(pod)

    def forget(self, uid: str) -> None:
        """It takes something else, or is gone."""
        self._known.pop(uid, None)
