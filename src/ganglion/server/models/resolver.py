"""From a reference to a version and a digest, within a deadline."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

from ganglion.model.errors import FieldError, ModelRegistryDown
from ganglion.model.workload import ResolvedModel
from ganglion.seams.effects import SYSTEM, Effects
from ganglion.server.models.asking import AGAIN, RegistryClient
from ganglion.server.models.cache.sources import SUMS, FileStore, ModelSource
from ganglion.server.models.folder import FolderRegistry
from ganglion.server.models.hub import HubRegistry
from ganglion.server.models.mlflow.registry import MlflowRegistry
from ganglion.server.models.oci import OciRegistry
from ganglion.server.models.s3 import S3Registry
from ganglion.server.models.settings import FILE, ModelSettings, read_model_settings
from ganglion.specs.grammar.rules.models import ModelReference, reference_of

T = TypeVar("T")


class ModelResolver:
    """Resolves references by the settings of a home. Safe from any thread.

    Args:
        home: Ganglion's home directory.
        secret: reads secrets of the server's owner, which `models.yaml` names.
        effects: files and the clock.
        shares_account: whether programs run as the server's account by now, so that what a model
            of `file://` has in it is no secret to users.
        client: asks registries; None = over the network.

    Attributes:
        client: the same.
    """

    def __init__(
        self,
        home: Path,
        secret: Callable[[str], str | None] = lambda _name: None,
        effects: Effects = SYSTEM,
        *,
        shares_account: Callable[[], bool] = lambda: True,
        client: RegistryClient | None = None,
    ) -> None:
        self._home, self._effects, self._shares = home, effects, shares_account
        self.client = client or RegistryClient(secret)

    def settings(self) -> ModelSettings:
        """Return what is in force. Raises FileError where the file is not what it should be."""
        return read_model_settings(self._home, self._effects.files)

    async def resolve(self, reference: str) -> ResolvedModel:
        """Say what a reference means now.

        Raises:
            FieldError: there is no such model, or no registry of its kind is known.
            FileError: `models.yaml` is wrong.
            ModelRegistryDown: that cannot be found out now.
        """
        settings, wanted = self.settings(), reference_of(reference)
        registry = self._registry(settings, wanted)
        hint = AGAIN
        if wanted.scheme == "file":
            hint = f"write the digests down: cd {wanted.name} && sha256sum -b FILES > {SUMS}"
        return await self._in_time(registry.resolve(wanted), f"what {wanted} means", hint)

    async def in_time(self, asked: Awaitable[T], wanted: ModelReference) -> T:
        """What a registry answers about the files of a model.

        Raises:
            ModelRegistryDown: it takes longer than the deadline.
        """
        hint = f"`deadline` in {FILE} of the server allows more"
        return await self._in_time(asked, f"what {wanted} has in it", hint)

    async def _in_time(self, asked: Awaitable[T], what: str, hint: str) -> T:
        """What a registry answers.

        Raises:
            ModelRegistryDown: it takes longer than the deadline.
        """
        settings = self.settings()
        try:
            async with asyncio.timeout(settings.deadline_ms / 1000):
                return await asked
        except TimeoutError:
            problem = f"{what} was not found out within {settings.deadline}"
            raise ModelRegistryDown(problem, hint) from None

    def source(self, reference: str) -> ModelSource:
        """Where the files of a model come from.

        Raises:
            FieldError: no registry of its kind is known.
            FileError: `models.yaml` is wrong.
        """
        settings, wanted = self.settings(), reference_of(reference)
        registry = self._registry(settings, wanted)
        assert not isinstance(registry, FolderRegistry), "nothing is fetched that lies here"
        return registry

    def _store(self, settings: ModelSettings, at: ModelReference) -> FileStore:
        """Who has files of models that a registry elsewhere knows. Raises FieldError: not known."""
        registry = self._registry(settings, at)
        assert isinstance(registry, S3Registry | FolderRegistry), at.scheme
        return registry

    def _registry(
        self, settings: ModelSettings, wanted: ModelReference
    ) -> FolderRegistry | MlflowRegistry | HubRegistry | OciRegistry | S3Registry:
        if wanted.scheme == "file" and (self._shares() or settings.files):
            return FolderRegistry(self._effects.files, settings.files)
        if wanted.scheme == "models" and settings.mlflow:
            return MlflowRegistry(settings.mlflow, self.client, partial(self._store, settings))
        if wanted.scheme == "hf" and settings.hf:
            return HubRegistry(settings.hf, self.client)
        host = wanted.name.partition("/")[0]
        if wanted.scheme == "oci" and host in settings.oci:
            return OciRegistry(settings.oci[host], self.client)
        if wanted.scheme == "s3" and settings.s3:
            return S3Registry(settings.s3, self.client, self._effects.clock)
        raise _unknown_place(wanted, host)


async def no_registry(reference: str) -> ResolvedModel:
    """Refuse every reference, where a server asks no registry. Raises FieldError."""
    wanted = reference_of(reference)
    raise _unknown_place(wanted, wanted.name.partition("/")[0])


KEYS = {"models": "mlflow", "hf": "hf", "oci": "oci", "s3": "s3", "file": "files"}
"""Scheme -> key of `models.yaml`."""


def _unknown_place(wanted: ModelReference, host: str) -> FieldError:
    of = f" {host}" if wanted.scheme == "oci" else ""
    key = KEYS[wanted.scheme]
    what = "no folder for models is" if wanted.scheme == "file" else f"no registry{of} is"
    hint = f"the server's owner gives {FILE} in its home the key `{key}`"
    return FieldError(f"{what} known to this server, for {wanted}", key="model", hint=hint)
