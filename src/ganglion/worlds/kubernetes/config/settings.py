"""Settings files of the scheduler: where the topology is read from, and how long things may take.

topology:
  levels: {example.com/row: block}
timers:
  provision: 20m
devices:
  agent: true
"""

from pathlib import Path
from typing import Annotated, Any

from msgspec.structs import replace
from pydantic import WithJsonSchema

from ganglion.model.errors import FieldError
from ganglion.model.fleet.levels import ABOVE_NODE, Level
from ganglion.specs.grammar.lists import parse_labels, parse_texts
from ganglion.specs.grammar.places import parse_level
from ganglion.specs.reading import fields as f
from ganglion.specs.reading.mapping import Mapping, described
from ganglion.specs.reading.renaming import Renaming, Vocabulary
from ganglion.specs.reading.text import decode, read
from ganglion.specs.reading.validate import validate
from ganglion.specs.reading.yaml import parse_document
from ganglion.worlds.kubernetes.cluster_view.settings import Settings
from ganglion.worlds.kubernetes.node_discovery.topology import DISCOVERED, TopologySources

USUAL = Settings()


def _level(value: object) -> Level:
    found = parse_level(value)
    if found not in ABOVE_NODE:
        raise FieldError(f"{found} is no level above nodes", hint=f"one of {', '.join(ABOVE_NODE)}")
    return found


def _by_label(value: object) -> dict[str, Level]:
    found = {}
    for label, name in parse_labels(value).items():
        try:
            found[label] = _level(name)
        except FieldError as error:
            raise FieldError(error.problem, key=label, hint=error.hint) from None
    return found


_Levels = Annotated[
    frozenset[Level],
    f.told(lambda value: frozenset(map(_level, parse_texts(value)))),
    WithJsonSchema({"type": "array", "items": {"enum": [*ABOVE_NODE]}}),
]
_ByLabel = Annotated[
    dict[str, Level],
    f.told(_by_label),
    WithJsonSchema({"type": "object", "additionalProperties": {"enum": [*ABOVE_NODE]}}),
]


class TopologyFile(Mapping):
    """Where the levels of the topology are read from."""

    levels: _ByLabel = described("node label -> the level that it names", DISCOVERED.keys)
    ignore: _Levels = described("levels that are not used", DISCOVERED.ignored)
    relative: _Levels = described(
        "levels whose names count within the level above only", DISCOVERED.relative
    )


class TimersFile(Mapping):
    """How long things may take."""

    assemble: f.Duration = described(
        "time that a place is kept for pods that do not exist yet", USUAL.assemble_ms
    )
    replace: f.Duration = described(
        "time that a running gang keeps the place of a pod that went", USUAL.replace_ms
    )
    backoff: f.Duration = described(
        "wait after a failed start; doubles up to 64 times", USUAL.backoff_ms
    )
    quarantine: f.Duration = described(
        "time without new pods for a node that refused some; doubles up to 8 times",
        USUAL.quarantine_ms,
    )
    retell: f.Duration = described(
        "least time between two reasons of one sort on one pod", USUAL.retell_ms
    )
    provision: f.Duration = described(
        "longest time until the volumes of a gang are made", USUAL.provision_ms
    )
    reach: f.Duration = described(
        "longest wait of a start for clusters that cannot be reached", USUAL.reach_ms
    )


class DevicesFile(Mapping):
    """What the nodes of all clusters have."""

    agent: f.Flag = described(
        "whether an agent on the nodes gives containers the devices recorded on their pods, "
        "which parts of GPUs need",
        USUAL.device_agent,
    )


class SettingsFile(Mapping):
    """A settings file as a person writes it."""

    topology: TopologyFile = described("where levels are read from", TopologyFile())
    timers: TimersFile = described("how long things may take", TimersFile())
    devices: DevicesFile = described("what the nodes have", DevicesFile())


SCOPES: dict[str, type[Mapping]] = {
    "": SettingsFile,
    "topology": TopologyFile,
    "timers": TimersFile,
    "devices": DevicesFile,
}
KEYS = {scope: tuple(model.model_fields) for scope, model in SCOPES.items()}
VOCABULARY = Vocabulary(KEYS, {}, {"": {key: key for key in SCOPES if key}})
"""The keys of a settings file."""


def load_settings(source: str | Path, usual: Settings = USUAL) -> Settings:
    """Read a settings file, or the standard input for `-`.

    Args:
        source: the file.
        usual: what holds where the file says nothing.

    Raises:
        FileError: it cannot be read as text.
        FieldError: a key or value is wrong.
    """
    raw, name = read(source)
    return parse_settings(decode(raw, name), name, usual)


def parse_settings(text: str, name: str = "", usual: Settings = USUAL) -> Settings:
    """The same for a text; `name` is what messages call it."""
    renaming = Renaming(parse_document(text, name, "settings"), VOCABULARY)
    file = validate(SettingsFile, renaming.known(), renaming)
    topology = file.topology
    sources = TopologySources(topology.levels, topology.ignore, topology.relative)
    given: dict[str, Any] = {
        f"{key}_ms": getattr(file.timers, key) for key in file.timers.model_fields_set
    }
    if "agent" in file.devices.model_fields_set:
        given["device_agent"] = file.devices.agent
    return replace(usual, sources=sources, **given)
