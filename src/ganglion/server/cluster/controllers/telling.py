"""Events about the objects that are reconciled."""

from ganglion.worlds.kubernetes.submit.objects import Main
from ganglion.worlds.kubernetes.write_rules.series import About, Happened

KINDS = {
    "deployments": "Deployment",
    "statefulsets": "StatefulSet",
    "leaderworkersets": "LeaderWorkerSet",
    "jobs": "Job",
}
"""Collection -> kind."""


def about(collection: str, main: Main) -> About:
    """The object, for events."""
    meta = main.metadata
    prefix, _, plural = collection.rpartition("/")
    version = prefix.removeprefix("/apis/")
    return About(version, KINDS[plural], meta.namespace, meta.name, meta.uid)


def told(
    regarding: About, reason: str, note: str, *, action: str = "Scaling", warning: bool = False
) -> Happened:
    """An event."""
    return Happened(regarding, reason, action, note, warning)
