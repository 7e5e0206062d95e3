"""Leases: which of several holds something, and when that was last confirmed."""

from ganglion.worlds.kubernetes.types.meta import Meta, Object


class LeaseSpec(Object, frozen=True):
    """`spec` of a Lease. Times are RFC 3339 with microseconds, by the holder's own clock."""

    holder_identity: str = ""
    lease_duration_seconds: int = 0
    acquire_time: str = ""
    renew_time: str = ""
    lease_transitions: int = 0


class Lease(Object, frozen=True):
    """A Lease of `coordination.k8s.io/v1`."""

    metadata: Meta = Meta()
    spec: LeaseSpec = LeaseSpec()
