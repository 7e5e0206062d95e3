"""Stores that speak S3: one object, or all objects of a folder.

Source: HeadObject, GetObject, ListObjectVersions and ListObjectsV2 of the Amazon S3 API Reference.
"""

from base64 import b64decode
from collections.abc import Iterator
from hashlib import sha256
from urllib.parse import quote, unquote
from xml.etree import ElementTree

import msgspec

from ganglion.model.errors import FieldError, ModelRegistryDown
from ganglion.model.workload import ResolvedModel
from ganglion.seams.clock import Clock
from ganglion.server.models.asking import (
    MISSING,
    SIGN_IN,
    RegistryAnswer,
    RegistryClient,
    refused,
    strange,
    unknown,
)
from ganglion.server.models.cache.sources import (
    FileRequest,
    RemoteFile,
    changed,
    checked_files,
)
from ganglion.server.models.settings import ObjectStore
from ganglion.specs.grammar.rules.models import ModelReference
from ganglion.transport.aws_signature import SigningKey, signed

MOST_OBJECTS = 10_000
"""Objects of a folder, and versions of them, that are read."""
PAGE = 500
"""Objects that one answer lists; a page is far below what is read of an answer."""
GONE = frozenset({404, 410})
UNVERSIONED = frozenset({400, 403, 405, 501})
"""How stores answer that do not list versions, or not to this key."""

Entry = tuple[str, str, str, str]
"""Key, size, ETag, and version or nothing."""


class S3Registry:
    """A store that speaks S3.

    Args:
        settings: where it is.
        client: asks it.
        clock: the time that requests are signed with.
    """

    def __init__(self, settings: ObjectStore, client: RegistryClient, clock: Clock) -> None:
        self._settings, self._client, self._clock = settings, client, clock

    async def resolve(self, wanted: ModelReference) -> ResolvedModel:
        """See `ModelSource`."""
        if wanted.name.endswith("/"):
            return await self._folder(wanted)
        return _object(wanted, await self._head(wanted, wanted.name, wanted.at))

    async def contents(self, wanted: ModelReference, model: ResolvedModel) -> list[RemoteFile]:
        """See `ModelSource`."""
        if wanted.name.endswith("/"):
            return checked_files(await self._objects_of(wanted, model), model)
        said = await self._head(wanted, wanted.name, wanted.at)
        if _object(wanted, said).digest != model.digest:
            raise changed(model)
        name, size = wanted.name.rpartition("/")[2], said.headers.get("content-length", "")
        if not size.isdecimal():
            raise strange(self._url(wanted.name))
        place = self._place(wanted.name, wanted.at)
        return checked_files([RemoteFile(name, place, int(size), "", _etag(said))], model)

    async def _objects_of(self, wanted: ModelReference, model: ResolvedModel) -> list[RemoteFile]:
        entries = await self._entries(wanted)
        if _digest_of(entries) != model.digest:
            raise changed(model)
        return self._files(wanted, entries)

    async def below(self, wanted: ModelReference) -> list[RemoteFile]:
        """See `FileStore`."""
        return self._files(wanted, await self._entries(wanted))

    def _files(self, wanted: ModelReference, entries: list[Entry]) -> list[RemoteFile]:
        bucket, _, folder = wanted.name.partition("/")
        if not all(size.isdecimal() for _, size, _, _ in entries):
            raise FieldError(f"{wanted} has an object without a size", key="model")
        return [
            RemoteFile(
                *(key.removeprefix(folder), self._place(f"{bucket}/{key}", version), int(size)),
                tag=etag,
            )
            for key, size, etag, version in entries
        ]

    async def request(self, wanted: ModelReference, file: RemoteFile) -> FileRequest:
        """See `ModelSource`."""
        name, _, at = file.url.removeprefix(self._url("")).partition("?versionId=")
        its = ModelReference("s3", unquote(name), "?versionId=" if at else "", unquote(at))
        said = await self._head(its, its.name, its.at)
        if _etag(said) != file.tag:
            raise FieldError(f"{file.path} of {wanted} is another one by now", key="model")
        headers = self._signed("GET", file.url, {"if-match": f'"{file.tag}"'})
        found = said.headers.get("x-amz-checksum-sha256", "")
        if not found or "-" in found:  # with a number of parts it is a digest of their digests
            return FileRequest(headers)
        try:
            return FileRequest(headers, f"sha256:{b64decode(found).hex()}")
        except ValueError:
            raise strange(file.url) from None

    async def _head(self, wanted: ModelReference, name: str, version: str) -> RegistryAnswer:
        """What the store says about an object, which has an ETag."""
        query = {"versionId": version} if version else {}
        said = await self._asked("HEAD", name, query, {"x-amz-checksum-mode": "ENABLED"})
        if said.status in MISSING:
            raise unknown(wanted)
        if said.status != 200 or not _etag(said):
            raise strange(self._url(name))
        return said

    def _place(self, name: str, version: str) -> str:
        query = f"?versionId={quote(version, safe='-_.~')}" if version else ""
        return self._url(name) + query

    async def _folder(self, wanted: ModelReference) -> ResolvedModel:
        """A folder by what lies in it: it has no version of its own."""
        digest = _digest_of(await self._entries(wanted))
        return ResolvedModel(str(wanted), str(wanted), "", digest)

    async def _entries(self, wanted: ModelReference) -> list[Entry]:
        entries = await self._versions(wanted)
        if entries is None:
            entries = await self._objects(wanted)
        if not entries:
            raise unknown(wanted)
        return entries

    async def _versions(self, wanted: ModelReference) -> list[Entry] | None:
        """What a folder has, with the latest versions; None = the store does not list them."""
        found: list[Entry] = []
        query, seen = {"versions": ""}, 0
        while True:
            page = await self._page(wanted, query)
            if isinstance(page, int):
                if seen or page not in UNVERSIONED:
                    raise self._failed(wanted, page)
                return None
            for each in _children(page, "Version", "DeleteMarker"):
                seen += 1
                if _name(each) == "Version" and _text(each, "IsLatest") == "true":
                    found.extend(_entry(each))
            if _text(page, "IsTruncated") != "true":
                return found
            markers = {
                "key-marker": _text(page, "NextKeyMarker"),
                "version-id-marker": _text(page, "NextVersionIdMarker"),
            }
            self._check_progress(wanted, seen, markers["key-marker"])
            query = {"versions": "", **{key: each for key, each in markers.items() if each}}

    async def _objects(self, wanted: ModelReference) -> list[Entry]:
        found: list[Entry] = []
        query, seen = {"list-type": "2"}, 0
        while True:
            page = await self._page(wanted, query)
            if isinstance(page, int):
                raise self._failed(wanted, page)
            for each in _children(page, "Contents"):
                seen += 1
                found.extend(_entry(each))
            if _text(page, "IsTruncated") != "true":
                return found
            more = _text(page, "NextContinuationToken")
            self._check_progress(wanted, seen, more)
            query = {"list-type": "2", "continuation-token": more}

    def _check_progress(self, wanted: ModelReference, seen: int, more: str) -> None:
        """A listing goes on only with something in it, and up to a bound."""
        if seen >= MOST_OBJECTS:
            problem = f"{wanted} has more than {MOST_OBJECTS:,} objects, or versions of them"
            hint = "name a folder further down, or one object: an archive, the index of the weights"
            raise FieldError(problem, key="model", hint=hint)
        if not seen or not more:
            raise strange(self._url(wanted.name))

    def _failed(self, wanted: ModelReference, status: int) -> ModelRegistryDown:
        url = self._url(wanted.name)
        return refused(url, status) if status in SIGN_IN else strange(url)

    async def _page(
        self, wanted: ModelReference, query: dict[str, str]
    ) -> ElementTree.Element | int:
        """What an answer lists; the status where it lists nothing."""
        bucket, _, prefix = wanted.name.partition("/")
        asked = {**query, "prefix": prefix, "max-keys": str(PAGE)}
        said = await self._asked("GET", bucket, asked)
        if said.status in GONE:
            raise unknown(wanted)
        if said.status != 200:
            return said.status
        try:
            if b"<!DOCTYPE" in said.body:
                raise strange(self._url(bucket))
            return ElementTree.fromstring(said.body)
        except ElementTree.ParseError:
            raise strange(self._url(bucket)) from None

    def _url(self, name: str) -> str:
        return f"{self._settings.url.rstrip('/')}/{quote(name, safe='/-_.~')}"

    async def _asked(
        self,
        method: str,
        name: str,
        query: dict[str, str],
        headers: dict[str, str] | None = None,
    ) -> RegistryAnswer:
        pairs = sorted((quote(k, safe="-_.~"), quote(v, safe="-_.~")) for k, v in query.items())
        said = "&".join(f"{key}={value}" for key, value in pairs)
        url = self._url(name) + (f"?{said}" if said else "")
        answers = UNVERSIONED if method == "GET" else frozenset()
        sent = self._signed(method, url, headers or {})
        return await self._client.ask(url, sent, method=method, answers=answers)

    def _signed(self, method: str, url: str, headers: dict[str, str]) -> dict[str, str]:
        own = self._settings
        if not own.access_key:
            return headers
        key = SigningKey(own.access_key, self._client.secret(own.secret_key), own.region)
        return signed(method, url, headers, key, self._clock.now_ms())


def _object(wanted: ModelReference, said: RegistryAnswer) -> ResolvedModel:
    """What a reference to one object means, by what the store says about that."""
    version = said.headers.get("x-amz-version-id", "")
    version = "" if version == "null" else version
    uri = f"s3://{wanted.name}" + (f"?versionId={version}" if version else "")
    checksum = said.headers.get("x-amz-checksum-sha256", "")
    digest = f"sha256-base64:{checksum}" if checksum else f"etag:{_etag(said)}"
    return ResolvedModel(str(wanted), uri, version, digest)


def _digest_of(entries: list[Entry]) -> str:
    return f"listing-sha256:{sha256(msgspec.json.encode(sorted(entries))).hexdigest()}"


def _etag(said: RegistryAnswer) -> str:
    return said.headers.get("etag", "").strip('"')


def _entry(listed: ElementTree.Element) -> Iterator[Entry]:
    """What the digest is made of; nothing for an object that only marks a folder."""
    key, etag = _text(listed, "Key"), _text(listed, "ETag").strip('"')
    if not key.endswith("/"):
        version = _text(listed, "VersionId")
        yield key, _text(listed, "Size"), etag, "" if version == "null" else version


def _children(page: ElementTree.Element, *names: str) -> Iterator[ElementTree.Element]:
    return (each for each in page if _name(each) in names)


def _name(element: ElementTree.Element) -> str:
    """Without the namespace, which not all stores give."""
    return element.tag.rpartition("}")[2]


def _text(element: ElementTree.Element, name: str) -> str:
    return next((each.text or "" for each in _children(element, name)), "")
