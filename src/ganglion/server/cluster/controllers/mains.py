"""The objects that are reconciled, as a cluster has them at present."""

from collections.abc import Callable, Mapping

import structlog
from msgspec import Struct

from ganglion.model.errors import GanglionError
from ganglion.server.cluster.controllers.life import Life, life_of
from ganglion.worlds.kubernetes.http.client import Api
from ganglion.worlds.kubernetes.http.reflect import ObjectChange, Reflector
from ganglion.worlds.kubernetes.instance import FIRST, Instance
from ganglion.worlds.kubernetes.names import INSTANCE
from ganglion.worlds.kubernetes.submit.manifests import marks
from ganglion.worlds.kubernetes.submit.objects import Main
from ganglion.worlds.kubernetes.types.pod import Pod

log = structlog.get_logger(__name__)

DEPLOYMENTS = "/apis/apps/v1/deployments"
STATEFUL_SETS = "/apis/apps/v1/statefulsets"
LEADER_WORKER_SETS = "/apis/leaderworkerset.x-k8s.io/v1/leaderworkersets"
JOBS = "/apis/batch/v1/jobs"
COLLECTIONS = (DEPLOYMENTS, STATEFUL_SETS, LEADER_WORKER_SETS, JOBS)

SELECTOR = f"{marks.KIND} in (service,workspace,sweep)"
_LEADER = {"leaderworkerset.sigs.k8s.io/worker-index": "0"}
_GROUP = "leaderworkerset.sigs.k8s.io/name"


class ReconciledObject(Struct, frozen=True):
    """An object that is reconciled.

    Attributes:
        collection: path of its kind.
        main: the object.
        life: how it is managed.
    """

    collection: str
    main: Main
    life: Life

    @property
    def uid(self) -> str:
        """Its UID."""
        return self.main.metadata.uid

    @property
    def path(self) -> str:
        """Its path."""
        group, _, plural = self.collection.rpartition("/")
        meta = self.main.metadata
        return f"{group}/namespaces/{meta.namespace}/{plural}/{meta.name}"

    @property
    def speaks(self) -> Mapping[str, str]:
        """Labels of those of its pods that answer requests."""
        if self.collection == LEADER_WORKER_SETS:
            return {_GROUP: self.main.metadata.name, **_LEADER}
        return self.main.spec.selector.match_labels

    def has(self, pod: Pod) -> bool:
        """Whether a pod of its namespace is one of those that answer requests."""
        labels, speaks = pod.metadata.labels, self.speaks
        return bool(speaks) and all(labels.get(key) == value for key, value in speaks.items())


class Mains:
    """Objects by UID, kept up to date by reflectors.

    Args:
        api: the cluster's.
        wrong: called with an object whose labels and annotations make no sense, and why.
        instance: of several schedulers, the one whose objects they are.
    """

    def __init__(
        self,
        api: Api,
        wrong: Callable[[str, Main, GanglionError], None],
        instance: Instance = FIRST,
    ) -> None:
        self._wrong, self._instance = wrong, instance
        self._kept: dict[str, ReconciledObject] = {}
        self.reflectors = [self._reflector(api, path) for path in COLLECTIONS]

    @property
    def kept(self) -> list[ReconciledObject]:
        """All objects that make sense, by path."""
        return sorted(self._kept.values(), key=lambda each: each.path)

    def _reflector(self, api: Api, path: str) -> Reflector[Main]:
        def sink(changes: list[ObjectChange[Main]]) -> None:
            for each in changes:
                if each.item is not None:
                    self._take(path, each.item, gone=each.kind == "gone")

        return Reflector(api, path, Main, sink, params={"labelSelector": SELECTOR})

    def _is_kept(self, main: Main) -> bool:
        return self._instance.keeps(_scheduler(main), main.metadata.namespace)

    def _take(self, path: str, main: Main, *, gone: bool) -> None:
        uid = main.metadata.uid
        if gone or main.metadata.deletion_timestamp or not self._is_kept(main):
            self._kept.pop(uid, None)
            return
        try:
            life = life_of(main.metadata.labels, main.metadata.annotations)
        except GanglionError as error:
            # What is known of it stands until it is mended.
            self._wrong(path, main, error)
            return
        if life:
            self._kept[uid] = ReconciledObject(path, main, life)


def _scheduler(main: Main) -> str:
    """The scheduler that places its pods; kinds with other templates say it by a label."""
    return main.metadata.labels.get(INSTANCE) or main.spec.template.spec.scheduler_name
