"""Metadata that every object has."""

from typing import Any

from msgspec import Struct, field


class Object(Struct, frozen=True, rename="camel", omit_defaults=True):
    """Base of all structs that mirror objects of the API, in its spelling."""


class OwnerReference(Object, frozen=True):
    """The owner of an object; the one with `controller` answers for it."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool = False


class Meta(Object, frozen=True):
    """`metadata` of an object. Times are RFC 3339 with a resolution of one second."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    labels: dict[str, str] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)
    owner_references: tuple[OwnerReference, ...] = ()
    creation_timestamp: str = ""
    deletion_timestamp: str = ""
    deletion_grace_period_seconds: int = 0

    @property
    def controller(self) -> OwnerReference | None:
        """The owner that answers for the object."""
        for each in self.owner_references:
            if each.controller:
                return each
        return None

    @property
    def key(self) -> str:
        """`namespace/name`, or the name of an object without namespace."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class Anything(Object, frozen=True):
    """An object of which only the metadata has a known form, as those of owners' kinds."""

    api_version: str = ""
    kind: str = ""
    metadata: Meta = Meta()
    spec: dict[str, Any] = field(default_factory=dict)
    status: dict[str, Any] = field(default_factory=dict)


class Requirement(Object, frozen=True):
    """One expression of a selector: `In`, `NotIn`, `Exists`, `DoesNotExist`, `Gt`, `Lt`."""

    key: str = ""
    operator: str = ""
    values: tuple[str, ...] = ()


class LabelSelector(Object, frozen=True):
    """Selects objects by label; all of it has to hold, nothing selects everything."""

    match_labels: dict[str, str] = field(default_factory=dict)
    match_expressions: tuple[Requirement, ...] = ()


class Condition(Object, frozen=True):
    """One condition of a status. The server writes null for a time that is not set."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: str | None = ""
