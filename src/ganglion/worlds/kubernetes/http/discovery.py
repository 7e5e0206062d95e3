"""Which version of a kind a server has: it is asked, never guessed."""

from msgspec import Struct

from ganglion.worlds.kubernetes.http.client import Api
from ganglion.worlds.kubernetes.http.errors import Absent


class _Version(Struct, rename="camel"):
    group_version: str


class _Group(Struct, rename="camel"):
    versions: tuple[_Version, ...] = ()
    preferred_version: _Version | None = None


class _Resource(Struct):
    name: str


class _Resources(Struct):
    resources: tuple[_Resource, ...] = ()


async def served_path(api: Api, path: str) -> str:
    """Path of a collection in the version that the server prefers among those that have it.

    Args:
        api: the cluster.
        path: of the collection in any version, as `/apis/batch/v1/jobs`.

    Raises:
        Absent: no version has it.
        ApiError: the server did not answer.
    """
    _, root, group, _, plural = path.split("/")
    found = await api.get(f"/{root}/{group}", _Group)
    first = (found.preferred_version,) if found.preferred_version else ()
    for version in dict.fromkeys(each.group_version for each in (*first, *found.versions)):
        listed = await api.get(f"/{root}/{version}", _Resources)
        if any(each.name == plural for each in listed.resources):
            return f"/{root}/{version}/{plural}"
    raise Absent(f"no version of {group} has {plural}")
