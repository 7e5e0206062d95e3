"""From a reference to a version and a digest, within a deadline."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Protocol, TypeVar

from ganglion.model.errors import FieldError, ModelRegistryDown
from ganglion.model.workload import ResolvedModel
from ganglion.seams.effects import SYSTEM, Effects
from ganglion.server.models.asking import AGAIN, RegistryClient
from ganglion.server.models.cache.sources import UNFETCHED, ModelSource
from ganglion.server.models.folder import SUMS, FolderRegistry
from ganglion.server.models.oci import OciRegistry
from ganglion.server.models.registries import HubRegistry, MlflowRegistry
from ganglion.server.models.s3 import S3Registry
from ganglion.server.models.settings import FILE, ModelSettings, read_model_settings
from ganglion.specs.grammar.rules.models import ModelReference, reference_of

T = TypeVar("T")


class ModelRegistry(Protocol):
    """Where models of one scheme are kept."""

    async def resolve(self, wanted: ModelReference) -> ResolvedModel:
        """Say what a reference means now.

        Raises:
            FieldError: there is no such model.
            ModelRegistryDown: that cannot be found out now.
        """


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
        return await self.in_time(registry.resolve(wanted), wanted)

    async def in_time(self, asked: Awaitable[T], wanted: ModelReference) -> T:
        """What a registry answers about a model.

        Raises:
            ModelRegistryDown: it takes longer than the deadline.
        """
        settings = self.settings()
        try:
            async with asyncio.timeout(settings.deadline_ms / 1000):
                return await asked
        except TimeoutError:
            hint = AGAIN
            if wanted.scheme == "file":
                hint = f"write the digests down: cd {wanted.name} && sha256sum -b FILES > {SUMS}"
            raise ModelRegistryDown(
                f"what {wanted} means was not found out within {settings.deadline}", hint
            ) from None

    def source(self, reference: str) -> ModelSource:
        """Where the files of a model come from.

        Raises:
            FieldError: models of its kind are not fetched, or no registry of its kind is known.
            FileError: `models.yaml` is wrong.
        """
        settings, wanted = self.settings(), reference_of(reference)
        registry = self._registry(settings, wanted)
        if isinstance(registry, HubRegistry | OciRegistry | S3Registry):
            return registry
        raise FieldError(f"models of {wanted.scheme}: are not fetched", key="model", hint=UNFETCHED)

    def _registry(self, settings: ModelSettings, wanted: ModelReference) -> ModelRegistry:
        if wanted.scheme == "file" and (self._shares() or settings.files):
            return FolderRegistry(self._effects.files, settings.files)
        if wanted.scheme == "models" and settings.mlflow:
            return MlflowRegistry(settings.mlflow, self.client)
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
