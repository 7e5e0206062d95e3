"""One of several that want the same Lease, and the rules by which it is had."""

from datetime import UTC, datetime
from math import ceil
from typing import Any

import msgspec

from ganglion.seams.clock import SYSTEM_CLOCK, Clock
from ganglion.worlds.kubernetes.http.client import Api
from ganglion.worlds.kubernetes.http.errors import Absent, ObjectConflict
from ganglion.worlds.kubernetes.types.lease import Lease, LeaseSpec


class LeaseCandidate:
    """Wants one Lease.

    The times in a Lease are written for people and never read: clocks of machines differ.
    Whether another's lease has run out is found by how long it has not changed, by our own clock
    since we first saw it so.

    Args:
        api: the cluster.
        namespace: of the Lease.
        name: of the Lease.
        identity: ours; no other candidate has it.
        lease_s: how long others leave us the Lease after we last confirmed it, in seconds.
        clock: the one since boot measures; the wall clock is written for people.

    Attributes:
        holder: the candidate that held it when we last looked; empty = none, or not looked yet.
    """

    def __init__(
        self,
        api: Api,
        namespace: str,
        name: str,
        identity: str,
        lease_s: float,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._api, self._identity, self._lease_s = api, identity, lease_s
        self._clock = clock
        self._paths = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
        self._name = name
        self._object: dict[str, Any] = {}
        """As last seen, with whatever others keep in it."""
        self._seen = LeaseSpec()
        self._since_s = 0.0
        """When `_seen` was first seen, by our clock."""
        self.holder = ""

    async def confirm(self) -> bool:
        """Take the Lease or confirm that it is ours; False = it is another's for now.

        Raises:
            ApiError: the server did not say.
            EnvironmentFault: credentials cannot be had.
        """
        if self.holder == self._identity:
            try:
                await self._write()
            except (ObjectConflict, Absent):
                pass  # another client wrote or deleted it: see what there is now
            else:
                return True
        return await self._look_and_take()

    async def give_back(self) -> None:
        """Let others have it at once; nothing happens when it is not ours.

        Raises:
            ApiError: the server did not say.
        """
        if self.holder == self._identity:
            now = self._now()
            self._note(await self._put(LeaseSpec("", 1, now, now, self._transitions)))

    @property
    def _transitions(self) -> int:
        return self._seen.lease_transitions

    async def _look_and_take(self) -> bool:
        try:
            self._note(await self._api.get(self._path, dict[str, Any], tries=1))
        except Absent:
            return await self._create()
        if not self._free():
            return False
        try:
            await self._write()
        except ObjectConflict:
            return False  # another was faster
        return True

    def _free(self) -> bool:
        """Whether it is ours to take: free, ours already, or expired."""
        if self.holder in ("", self._identity):
            return True
        lease_s = self._seen.lease_duration_seconds or self._lease_s
        return self._clock.since_boot() >= self._since_s + lease_s

    async def _create(self) -> bool:
        body = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": self._name},
            "spec": msgspec.to_builtins(self._taken()),
        }
        try:
            self._note(await self._api.create(self._paths, body, dict[str, Any]))
        except ObjectConflict:
            return False
        return True

    async def _write(self) -> None:
        self._note(await self._put(self._taken()))

    def _taken(self) -> LeaseSpec:
        """What the Lease says when it is ours from now on, or still."""
        seen, now = self._seen, self._now()
        still = self.holder == self._identity
        return LeaseSpec(
            holder_identity=self._identity,
            lease_duration_seconds=ceil(self._lease_s),
            acquire_time=seen.acquire_time if still else now,
            renew_time=now,
            lease_transitions=seen.lease_transitions + (not still and bool(seen.acquire_time)),
        )

    async def _put(self, spec: LeaseSpec) -> dict[str, Any]:
        written = {**self._object.get("spec", {}), **msgspec.to_builtins(spec)}
        if not spec.holder_identity:
            written["holderIdentity"] = ""
        return await self._api.replace(
            self._path, {**self._object, "spec": written}, dict[str, Any]
        )

    def _note(self, found: dict[str, Any]) -> None:
        """Remember what is there, and since when it has been so."""
        seen = msgspec.convert(found, Lease).spec
        self._object = found
        if seen != self._seen or not self._since_s:
            self._seen, self._since_s = seen, self._clock.since_boot()
        self.holder = seen.holder_identity

    @property
    def _path(self) -> str:
        return f"{self._paths}/{self._name}"

    def _now(self) -> str:
        now = datetime.fromtimestamp(self._clock.now_ns() / 1e9, UTC)
        return now.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
