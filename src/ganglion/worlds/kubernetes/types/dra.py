"""Devices of dynamic resource allocation, as drivers publish them."""

from msgspec import field

from ganglion.worlds.kubernetes.types.meta import Meta, Object


class Attribute(Object, frozen=True):
    """The value of an attribute; one of the fields is set."""

    string: str | None = None
    int_value: int | None = field(default=None, name="int")
    bool_value: bool | None = field(default=None, name="bool")
    version: str | None = None

    @property
    def text(self) -> str:
        """The value as text; empty for truth values, which name no place."""
        if self.int_value is not None:
            return str(self.int_value)
        return self.string or self.version or ""


class BasicDevice(Object, frozen=True):
    """Where versions before `resource.k8s.io/v1` kept the attributes of a device."""

    attributes: dict[str, Attribute] = field(default_factory=dict)


class SliceDevice(Object, frozen=True):
    """One device; those of pools that span nodes may name their node themselves."""

    name: str = ""
    attributes: dict[str, Attribute] = field(default_factory=dict)
    basic: BasicDevice | None = None
    node_name: str = ""

    @property
    def described(self) -> dict[str, Attribute]:
        """Its attributes, whatever the version of the API."""
        return self.basic.attributes if self.basic else self.attributes


class SlicePool(Object, frozen=True):
    """The pool that a slice is a part of; only its newest generation counts."""

    name: str = ""
    generation: int = 0
    resource_slice_count: int = 1


class SliceSpec(Object, frozen=True):
    """`spec` of a slice. Versions before `v1` write null for no devices."""

    driver: str = ""
    pool: SlicePool = SlicePool()
    node_name: str = ""
    devices: tuple[SliceDevice, ...] | None = ()


class ResourceSlice(Object, frozen=True):
    """A part of a driver's pool of devices."""

    metadata: Meta = Meta()
    spec: SliceSpec = SliceSpec()
