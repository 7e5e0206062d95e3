"""What pods take, remembered."""

from collections.abc import Mapping

from ganglion.worlds.kubernetes.objects.pod import Pod
from ganglion.worlds.kubernetes.requests import Ask, ask_of


class Asks:
    """Works out once what a pod takes, as long as it is as it was seen last.

    Args:
        pods: as they were seen last, by UID.
    """

    def __init__(self, pods: Mapping[str, Pod]) -> None:
        self._pods = pods
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

    def forget(self, uid: str) -> None:
        """It takes something else, or is gone."""
        self._known.pop(uid, None)
