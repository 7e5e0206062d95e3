"""What a scheduler knows of its clusters, for those who look after services."""

from collections.abc import Sequence

from ganglion.server.lives.keeper import Eyes
from ganglion.worlds.kubernetes.objects.pod import Pod
from ganglion.worlds.kubernetes.scheduler import Scheduler


def eyes_of(scheduler: Scheduler, cluster: str) -> Eyes:
    """Look at one of a scheduler's clusters."""

    def pods(namespace: str) -> Sequence[Pod]:
        with scheduler.read() as brain:
            known = brain.sites[cluster].pods.values()
            return [each for each in known if each.metadata.namespace == namespace]

    def worst(pods: Sequence[Pod], count: int) -> Sequence[str]:
        """Those that came last go first."""
        late = sorted(pods, key=lambda pod: pod.metadata.creation_timestamp, reverse=True)
        return [each.metadata.uid for each in late[:count]]

    return Eyes(pods, worst)
