"""Models of live workloads. Times are milliseconds since 1970."""

from typing import TYPE_CHECKING

from ganglion.api.use import ModelList, ModelRow
from ganglion.api.workloads import WorkloadDetail
from ganglion.client.http import path_of

if TYPE_CHECKING:
    from ganglion.client.http import Http


class Models:
    """Part of `Client`; every method raises what its methods raise.

    Args:
        http: the connection.
    """

    def __init__(self, http: "Http") -> None:
        self._http = http

    def list(self) -> tuple[ModelRow, ...]:
        """List live workloads with a model, and what their references mean by now."""
        return self._http.call("GET", "/models", ModelList).items

    def update(
        self, ref: str, *, to: str = "", back: bool = False, surge: int = 1
    ) -> WorkloadDetail:
        """Replace the replicas of a service by ones with another model, one after the other.

        Args:
            ref: id, unique prefix or name.
            to: a reference; empty = what its own means by now.
            back: to the model before the last update.
            surge: replicas beyond those wanted meanwhile; 0 = one goes before another comes.
        """
        body = {"to": to, "back": back, "surge": surge}
        path = path_of("/workloads", ref, "model")
        return self._http.call("POST", path, WorkloadDetail, body=body)
