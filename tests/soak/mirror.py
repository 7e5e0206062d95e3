"""Every pod of a cluster at every revision, and what is wrong at one of them.

The API server reports each change in the order in which it was stored, so that what is counted
here holds at every instant and not only at those at which a check ran.
"""

import json
import ssl
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import httpx2

from benchmarks.controlplane.control_plane import ControlPlane
from tests.controlplane.amounts import Amounts, requested
from tests.controlplane.manifests import GPU, Object

GANG, JOB = "ganglion.dev/gang", "job-name"
VICTIM_OF = "ganglion.dev/victim-of"
FRACTION, DEVICES = "ganglion.dev/gpu-fraction", "ganglion.dev/devices"
ENDED = frozenset({"Succeeded", "Failed"})
WHOLE = 1000
PODS = "/api/v1/pods"
MOST_KEPT = 20


def gang_of(pod: Object) -> str:
    """Name of the gang of a pod; empty = it is alone."""
    labels = pod["metadata"].get("labels") or {}
    return str(labels.get(GANG) or labels.get(JOB) or "")


def is_bound(pod: Object) -> bool:
    """Whether it has a node."""
    return bool(pod["spec"].get("nodeName"))


def lives(pod: Object) -> bool:
    """Whether it has not ended."""
    return pod["status"].get("phase") not in ENDED


class Books:
    """What the pods of a cluster hold, kept change by change.

    Args:
        rooms: name of a node -> what it has, in thousandths.

    Attributes:
        pods: by UID, as they are.
        gangs: gang -> UIDs of its pods.
        over: what was requested of a node or device beyond what there is, the first of them.
        overs: at how many revisions that was so.
        looked: revisions that were looked at.
        bound: pods that were seen with a node.
        marked: pods that were seen marked as victims -> for whom.
        resized: gangs that users made larger or smaller: those that grow are bound in part until
            there is a place for more.
        longest_half_s: longest time for which some pods of another gang had nodes and others had
            none.
    """

    def __init__(self, rooms: Mapping[str, Amounts]) -> None:
        self._rooms = rooms
        self.pods: dict[str, Object] = {}
        self.gangs: dict[str, set[str]] = defaultdict(set)
        self._on: dict[str, set[str]] = defaultdict(set)
        self._half_since: dict[str, float] = {}
        self.over: list[str] = []
        self.overs = self.looked = 0
        self.bound: set[str] = set()
        self.marked: dict[str, str] = {}
        self.resized: set[str] = set()
        self.longest_half_s = 0.0
        self.longest_half = ""

    def put(self, pod: Object, now_s: float) -> None:
        """A pod is so from now on."""
        uid = pod["metadata"]["uid"]
        self.pods[uid] = pod
        gang, node = gang_of(pod), pod["spec"].get("nodeName", "")
        if gang:
            self.gangs[gang].add(uid)
        if asker := (pod["metadata"].get("annotations") or {}).get(VICTIM_OF):
            self.marked[uid] = asker
        if node:
            self.bound.add(uid)
            self._on[node].add(uid)
        self._look(node, gang, now_s)

    def drop(self, uid: str, now_s: float) -> None:
        """A pod is no more."""
        pod = self.pods.pop(uid, None)
        if pod is None:
            return
        gang, node = gang_of(pod), pod["spec"].get("nodeName", "")
        self._on[node].discard(uid)
        if gang:
            self.gangs[gang].discard(uid)
            if not self.gangs[gang]:
                del self.gangs[gang]
        self._look(node, gang, now_s)

    def replace(self, pods: list[Object], now_s: float) -> None:
        """All pods, listed anew."""
        here = {pod["metadata"]["uid"] for pod in pods}
        for uid in [each for each in self.pods if each not in here]:
            self.drop(uid, now_s)
        for pod in pods:
            self.put(pod, now_s)

    def halves(self) -> dict[str, list[str]]:
        """Gangs of which some pods have nodes and others have none -> those that have none."""
        found = {}
        for gang in sorted(self._half_since):
            own = (self.pods[uid] for uid in self.gangs[gang])
            found[gang] = sorted(p["metadata"]["name"] for p in own if lives(p) and not is_bound(p))
        return found

    def _look(self, node: str, gang: str, now_s: float) -> None:
        self.looked += 1
        if node and (wrong := self._beyond(node)):
            self.overs += 1
            if len(self.over) < MOST_KEPT:
                self.over.append(f"{node}: {wrong}")
        if gang:
            self._note_half(gang, now_s)

    def _note_half(self, gang: str, now_s: float) -> None:
        own = [self.pods[uid] for uid in self.gangs.get(gang, ())]
        states = {is_bound(pod) for pod in own if lives(pod)}
        if len(states) > 1:
            self._half_since.setdefault(gang, now_s)
            return
        took_s = now_s - self._half_since.pop(gang, now_s)
        if took_s > self.longest_half_s and gang not in self.resized:
            self.longest_half_s, self.longest_half = took_s, gang

    def _beyond(self, node: str) -> str:
        """What is requested of a node beyond what it has, in words; empty = nothing."""
        held = [pod for pod in (self.pods[uid] for uid in self._on[node]) if lives(pod)]
        used: Counter[str] = Counter()
        parts: Counter[str] = Counter()
        for pod in held:
            used.update(requested(pod))
            if part := _part(pod):
                device = pod["metadata"]["annotations"].get(DEVICES, "none")
                parts[device] += part
        used[GPU] += WHOLE * len(parts)
        room = self._rooms.get(node, {})
        wrong = [
            f"{name} {n} of {room.get(name, 0)}"
            for name, n in used.items()
            if n > room.get(name, 0)
        ]
        wrong += [f"device {device}: {n}" for device, n in parts.items() if n > WHOLE]
        wrong += ["a part of no device"] if "none" in parts else []
        return "; ".join(wrong)


def _part(pod: Object) -> int:
    """What part of a GPU it holds, in thousandths; 0 = none, or whole ones."""
    notes = pod["metadata"].get("annotations") or {}
    return round(WHOLE * float(notes.get(FRACTION, "0")))


class Mirror:
    """Follows the pods of a cluster in a thread of its own, past every proxy.

    Args:
        plane: the control plane.
        books: kept up to date.

    Attributes:
        gaps: how often changes were missed and all pods were listed anew.
        lock: held while the books are changed.
    """

    def __init__(self, plane: ControlPlane, books: Books) -> None:
        self.books, self.gaps = books, 0
        self.lock = threading.Lock()
        self._over = threading.Event()
        self._version = ""
        self._client = httpx2.Client(
            base_url=plane.url,
            verify=ssl.create_default_context(cafile=plane.ca),
            headers={"Authorization": f"Bearer {plane.token()}"},
            timeout=httpx2.Timeout(30.0, read=90.0),
            trust_env=False,
        )
        self._thread = threading.Thread(target=self._run, daemon=True, name="mirror")

    def start(self) -> None:
        """List, then follow."""
        self._list()
        self._thread.start()

    def stop(self) -> None:
        """Follow no more."""
        self._over.set()

    def pods(self) -> list[Object]:
        """All pods as they are."""
        with self.lock:
            return list(self.books.pods.values())

    def halves(self) -> dict[str, list[str]]:
        """Gangs that are bound in part -> their pods without nodes."""
        with self.lock:
            return self.books.halves()

    def _list(self) -> None:
        found = self._client.get(PODS).raise_for_status().json()
        with self.lock:
            self.books.replace(found["items"], time.monotonic())
        self._version = found["metadata"]["resourceVersion"]

    def _run(self) -> None:
        while not self._over.is_set():
            with suppress(httpx2.TransportError):
                self._follow()
            self._over.wait(0.1)

    def _follow(self) -> None:
        params = {"watch": "1", "resourceVersion": self._version, "allowWatchBookmarks": "1"}
        with self._client.stream("GET", PODS, params=params) as answer:
            if answer.status_code == httpx2.codes.GONE:
                self._expired()
                return
            for line in answer.iter_lines():
                if self._over.is_set() or not self._take(json.loads(line)):
                    return

    def _take(self, event: dict[str, Any]) -> bool:
        """One change; False = it has to be listed anew, and was."""
        kind, pod = event["type"], event["object"]
        if kind == "ERROR":
            self._expired()
            return False
        self._version = pod["metadata"]["resourceVersion"]
        if kind == "BOOKMARK":
            return True
        with self.lock:
            if kind == "DELETED":
                self.books.drop(pod["metadata"]["uid"], time.monotonic())
            else:
                self.books.put(pod, time.monotonic())
        return True

    def _expired(self) -> None:
        self.gaps += 1
        self._list()
