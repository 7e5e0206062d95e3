"""What is done to etcd behind the API server's back: old revisions and whole objects go.

Over etcd's JSON gateway, https://etcd.io/docs/v3.6/dev-guide/api_grpc_gateway/.
"""

import base64
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import httpx2

from ganglion.model.errors import EnvironmentFault

ROOT = "/registry/"
_BATCH = 100  # etcd takes 128 operations in one transaction


class Etcd:
    """One member.

    Args:
        url: its client URL.
    """

    def __init__(self, url: str) -> None:
        self._client = httpx2.Client(base_url=url, timeout=60.0, trust_env=False)

    def close(self) -> None:
        """Close its connections."""
        self._client.close()

    def ready(self) -> bool:
        """Whether it answers."""
        try:
            return self._client.get("/health").status_code == httpx2.codes.OK
        except httpx2.TransportError:
            return False

    def all_keys(self) -> list[str]:
        """Keys of all objects, in order."""
        found = self._all()
        return [base64.b64decode(entry["key"]).decode() for entry in found.get("kvs", [])]

    def compact(self) -> int:
        """Forget all revisions but the present one, whose number is returned."""
        revision = int(self._all(count_only=True)["header"]["revision"])
        self._call("kv/compaction", {"revision": revision, "physical": True})
        return revision

    def delete(self, keys: Iterable[str], prefixes: Iterable[str] = ()) -> None:
        """Delete these keys, and everything that starts with one of these prefixes."""
        ranges = [{"key": _code(key)} for key in keys]
        ranges += [{"key": _code(start), "range_end": _code(_after(start))} for start in prefixes]
        for some in _batches([{"request_delete_range": each} for each in ranges]):
            self._call("kv/txn", {"success": some})

    def _all(self, **options: bool) -> dict[str, Any]:
        whole = {"key": _code(ROOT), "range_end": _code(_after(ROOT))}
        return self._call("kv/range", {**whole, "keys_only": True, **options})

    def _call(self, what: str, body: dict[str, Any]) -> dict[str, Any]:
        answer = self._client.post(f"/v3/{what}", json=body)
        if not answer.is_success:
            raise EnvironmentFault(f"etcd refused {what}: {answer.text.strip()}")
        found: dict[str, Any] = answer.json()
        return found


def _code(key: str) -> str:
    return base64.b64encode(key.encode()).decode()


def _after(prefix: str) -> str:
    """The first key that does not start with `prefix`, of those that follow it."""
    return prefix[:-1] + chr(ord(prefix[-1]) + 1)


def _batches(items: Sequence[Any]) -> Iterator[Sequence[Any]]:
    for start in range(0, len(items), _BATCH):
        yield items[start : start + _BATCH]
