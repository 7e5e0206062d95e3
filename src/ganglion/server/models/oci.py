"""Registries of OCI artifacts, with the flow of tokens that most of them ask for.

Sources: OCI Distribution Specification 1.1; "Token Authentication Specification" of CNCF
Distribution; RFC 9110, section 11, for challenges.
"""

import re
from collections.abc import Mapping
from hashlib import sha256
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from ganglion.model.errors import ModelRegistryDown
from ganglion.model.workload import ResolvedModel
from ganglion.server.models.asking import (
    MISSING,
    RegistryAnswer,
    RegistryClient,
    decoded,
    strange,
    unknown,
)
from ganglion.server.models.cache.sources import FileRequest, RemoteFile, checked_files, odd
from ganglion.server.models.settings import OciHost
from ganglion.specs.grammar.rules.models import DIGEST, ModelReference

MANIFESTS = (
    "application/vnd.oci.image.manifest.v1+json, application/vnd.oci.image.index.v1+json, "
    "application/vnd.docker.distribution.manifest.v2+json, "
    "application/vnd.docker.distribution.manifest.list.v2+json"
)
UNAUTHORIZED = frozenset({401})
TITLE = "org.opencontainers.image.title"
"""Annotation of a layer that is a file: its name."""

_PART = re.compile(
    r"[\s,]*(?:(?P<key>[\w-]+)\s*=\s*(?:\"(?P<quoted>(?:[^\"\\]|\\.)*)\"|(?P<bare>[^\s,\"]*))"
    r"|(?P<scheme>[\w-]+)(?=[\s,]|$))"
)
_TOKEN = re.compile(r"[\x21-\x7e]{1,16384}")


class OciRegistry:
    """A registry of OCI artifacts, images among them.

    It is asked without `user` and `password` first, and with them as its challenge wants: by HTTP
    Basic, or at the server of tokens that it names, whose token it then gets.

    Args:
        settings: where it is.
        client: asks it.
    """

    def __init__(self, settings: OciHost, client: RegistryClient) -> None:
        self._settings, self._client = settings, client

    async def resolve(self, wanted: ModelReference) -> ResolvedModel:
        """See `ModelSource`."""
        url = self._url(wanted, f"manifests/{wanted.at}")
        said, _ = await self._manifest(wanted, "HEAD")
        if said.status in MISSING:
            raise unknown(wanted)
        digest = said.headers.get("docker-content-digest", "")
        pinned = wanted.at if wanted.mark == "@" else digest
        if said.status != 200 or not DIGEST.fullmatch(digest) or digest != pinned:
            raise strange(url)
        version = "" if wanted.mark == "@" else wanted.at
        return ResolvedModel(str(wanted), f"oci://{wanted.name}@{digest}", version, digest)

    async def contents(self, wanted: ModelReference, model: ResolvedModel) -> list[RemoteFile]:
        """See `ModelSource`."""
        url = self._url(wanted, f"manifests/{wanted.at}")
        said, _ = await self._manifest(wanted, "GET")
        if said.status in MISSING:
            raise unknown(wanted)
        if said.status != 200 or f"sha256:{sha256(said.body).hexdigest()}" != model.digest:
            raise strange(url)
        try:
            layers = decoded(said, url).get("layers") or []
            files = [self._layer(wanted, each) for each in layers]
        except (KeyError, TypeError, ValueError, AttributeError):
            raise odd(model, "has layers without names: it is a container image") from None
        return checked_files(files, model)

    def _layer(self, wanted: ModelReference, said: Mapping[str, Any]) -> RemoteFile:
        path, digest = str(said["annotations"][TITLE]), str(said["digest"])
        if not DIGEST.fullmatch(digest):
            raise ValueError(digest)
        return RemoteFile(path, self._url(wanted, f"blobs/{digest}"), int(said["size"]), digest)

    async def request(self, wanted: ModelReference, file: RemoteFile) -> FileRequest:
        """See `ModelSource`."""
        _, headers = await self._manifest(wanted, "HEAD")
        return FileRequest(headers, file.check)

    def _url(self, wanted: ModelReference, path: str) -> str:
        repository = wanted.name.partition("/")[2]
        return f"{self._settings.url.rstrip('/')}/v2/{repository}/{path}"

    async def _manifest(
        self, wanted: ModelReference, method: str
    ) -> tuple[RegistryAnswer, dict[str, str]]:
        """The answer about a manifest, and the headers that it took: signed in where needed."""
        own, headers = self._settings, {"accept": MANIFESTS}
        url = self._url(wanted, f"manifests/{wanted.at}")
        if own.token:
            headers |= self._client.credentials(own)
            return await self._client.ask(url, headers, method=method), headers
        first = await self._client.ask(url, headers, method=method, answers=UNAUTHORIZED)
        if first.status not in UNAUTHORIZED:
            return first, headers
        repository = wanted.name.partition("/")[2]
        headers |= await self._signed_in(challenges(first.headers), repository)
        return await self._client.ask(url, headers, method=method), headers

    async def _signed_in(
        self, asked: Mapping[str, Mapping[str, str]], repository: str
    ) -> dict[str, str]:
        """Headers that answer the challenge; none where there is nothing to answer with."""
        realm = asked.get("bearer", {}).get("realm", "")
        if not realm:
            return self._client.credentials(self._settings)
        self._check_realm(realm)
        wanted = asked["bearer"]
        scope = wanted.get("scope") or f"repository:{repository}:pull"
        place, _, query = realm.partition("?")
        params = [*parse_qsl(query), *(("scope", each) for each in scope.split())]
        if wanted.get("service"):
            params.append(("service", wanted["service"]))
        credentials = self._client.credentials(self._settings)
        said = await self._client.ask(f"{place}?{urlencode(params)}", credentials)
        found = decoded(said, place)
        token = found.get("token") or found.get("access_token")
        if said.status != 200 or not isinstance(token, str) or not _TOKEN.fullmatch(token):
            raise strange(place)
        return {"authorization": f"Bearer {token}"}

    def _check_realm(self, realm: str) -> None:
        """Only servers that the settings name get a password, or are asked at all."""
        own = self._settings
        if _origin(realm) and _origin(realm) in (_origin(own.url), _origin(own.auth)):
            return
        where = _origin(realm) or "a place that is no URL"
        raise ModelRegistryDown(
            f"the registry of models at {urlsplit(own.url).netloc} wants a token of {where}",
            f"where that is right, the server's owner adds it in models.yaml: `auth: {where}`"
            if _origin(realm)
            else "check the URL of the registry in models.yaml",
        )


def challenges(headers: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Scheme in lower case -> its parameters, of the header WWW-Authenticate."""
    found: dict[str, dict[str, str]] = {}
    text, at, last = headers.get("www-authenticate", ""), 0, ""
    while part := _PART.match(text, at):
        at = part.end()
        if part["scheme"]:
            last = part["scheme"].lower()
            found.setdefault(last, {})
        elif last:
            quoted = part["quoted"]
            value = part["bare"] if quoted is None else re.sub(r"\\(.)", r"\1", quoted)
            found[last].setdefault(part["key"].lower(), value)
    return found


def _origin(url: str) -> str:
    """Scheme, host and port of a URL; empty = it is none of HTTP."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return ""
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username is not None:
        return ""
    usual = {"http": 80, "https": 443}[parts.scheme]
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{parts.scheme}://{host}" + (f":{port}" if port and port != usual else "")
