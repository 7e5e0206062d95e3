"""The types of fields: each reads a grammar, prints its canonical form and describes itself.

A value goes in as YAML or JSON yields it; the attribute holds the exact quantity (thousandths,
MiB, ms); serialising prints the canonical text again.
"""

from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any, TypeVar

from pydantic import PlainSerializer, PlainValidator, WithJsonSchema
from pydantic_core import PydanticCustomError

from ganglion.model.behaviour import Access, Hours, Overlap, Pace, Target
from ganglion.model.errors import FieldError
from ganglion.model.fleet.levels import Level
from ganglion.model.resources import GpuRequest
from ganglion.model.workload import Deadline, Kind, Topology
from ganglion.specs.grammar import (
    CountRange,
    parse_cpus,
    parse_duration,
    parse_gpus,
    parse_level,
    parse_memory,
    parse_name,
    parse_placement,
    parse_span,
    print_cpus,
    print_duration,
    print_gpus,
    print_memory,
    print_placement,
    print_span,
)
from ganglion.specs.grammar.lists import (
    parse_dependencies,
    parse_env,
    parse_labels,
    parse_names,
    parse_params,
    parse_run,
    parse_secrets,
    parse_selectors,
    parse_texts,
    parse_trials,
)
from ganglion.specs.grammar.names import parse_host, parse_queue
from ganglion.specs.grammar.rules.access import parse_access, print_access
from ganglion.specs.grammar.rules.models import parse_model
from ganglion.specs.grammar.rules.scaling import (
    parse_pace,
    parse_ratio,
    parse_source,
    parse_targets,
    print_milli,
    print_pace,
    print_targets,
)
from ganglion.specs.grammar.scalars import parse_bool, parse_text, parse_whole
from ganglion.specs.grammar.shares import parse_permille, print_permille
from ganglion.specs.grammar.times.cron import parse_cron
from ganglion.specs.grammar.times.deadlines import parse_deadline, print_deadline
from ganglion.specs.grammar.times.durations import parse_patience
from ganglion.specs.grammar.times.hours import parse_hours, parse_zone, print_hours
from ganglion.specs.grammar.words import (
    HAPPENINGS,
    ISOLATIONS,
    KIND_ALIASES,
    one_of,
    parse_addresses,
    parse_cause_limits,
    parse_causes,
    parse_happenings,
    parse_port,
    parse_priority,
    parse_secret_reference,
    parse_signal,
    parse_webhooks,
)

MAX_PODS = 100_000
MAX_GANGS = 100_000
DURATION_PATTERN = r"^([0-9.]+ ?[A-Za-z]+ ?)+$|^([0-9]+-)?[0-9]+:[0-9]{2}:[0-9]{2}$|^0$"

T = TypeVar("T")


def told(parse: Callable[[object], T]) -> PlainValidator:
    """Use a grammar as a validator; its errors keep their problems, hints and inner keys."""

    @wraps(parse)
    def validate(value: object) -> T:
        try:
            return parse(value)
        except FieldError as error:
            raise PydanticCustomError("ganglion", "wrong", {"errors": error.errors}) from None

    return PlainValidator(validate)


def whole(low: int, high: int) -> PlainValidator:
    """Validate a whole number of `low`..`high`."""
    return told(lambda value: parse_whole(value, low, high))


def plain(value: object) -> object:
    """Turn tuples into lists, for output."""
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    return [plain(each) for each in value] if isinstance(value, tuple) else value


PLAIN = PlainSerializer(plain)


def schema(*kinds: str, **more: Any) -> WithJsonSchema:  # noqa: ANN401 - JSON has any shape
    """Describe the accepted JSON: one type or several, and further keywords."""
    return WithJsonSchema({"type": kinds[0] if len(kinds) == 1 else list(kinds), **more})


_SCALARS: dict[str, Any] = {"type": ["string", "number", "boolean"]}
_TEXT_LIST: dict[str, Any] = {"type": ["array", "string", "number"], "items": _SCALARS}
_TEXT_MAP: dict[str, Any] = {"type": "object", "additionalProperties": _SCALARS}
_LEVELS = [level.value for level in Level if level not in (Level.FLEET, Level.GPU)]

Name = Annotated[
    str, told(parse_name), schema("string", "integer", pattern=r"^[a-z0-9]([a-z0-9-]*[a-z0-9])?$")
]
QueueName = Annotated[str, told(parse_queue), schema("string", "integer")]
HostName = Annotated[str, told(parse_host), schema("string", "integer")]
Text = Annotated[str, told(parse_text), WithJsonSchema(_SCALARS)]
Flag = Annotated[bool, told(parse_bool), schema("boolean", "string")]
PodCount = Annotated[
    CountRange,
    told(lambda value: parse_span(value, MAX_PODS)),
    PlainSerializer(print_span),
    schema("integer", "string", "object", minimum=1, pattern=r"^ *[0-9]+ *(\.\. *[0-9]+ *)?$"),
]
Count = Annotated[int, whole(1, MAX_PODS), schema("integer", "string", minimum=1)]
Amount = Annotated[int, whole(0, MAX_GANGS), schema("integer", "string", minimum=0)]
Port = Annotated[int, told(parse_port), schema("integer", "string", "array", minimum=1)]
Cpus = Annotated[
    int,
    told(parse_cpus),
    PlainSerializer(print_cpus),
    schema("number", "string", minimum=0, pattern=r"^ *[0-9]*\.?[0-9]*m?(\+|\.\.)? *$"),
]
Memory = Annotated[
    int,
    told(parse_memory),
    PlainSerializer(print_memory),
    schema("string", "integer", pattern=r"^ *(0|[0-9.]+ *[KMGTPEkmgtpe][Ii]?[Bb]?)(\+|\.\.)? *$"),
]
Gpus = Annotated[
    GpuRequest,
    told(parse_gpus),
    PlainSerializer(print_gpus),
    schema("string", "number", "object", "array", minimum=0),
]
Duration = Annotated[
    int,
    told(parse_duration),
    PlainSerializer(print_duration),
    schema("string", "integer", pattern=DURATION_PATTERN),
]
Patience = Annotated[
    int,
    told(parse_patience),
    PlainSerializer(print_duration),
    schema("string", "integer", pattern=DURATION_PATTERN),
]
Placement = Annotated[
    Topology,
    told(parse_placement),
    PlainSerializer(print_placement),
    WithJsonSchema(
        {
            "anyOf": [
                {"enum": ["any", *_LEVELS, *(f"prefer_{level}" for level in _LEVELS)]},
                {"type": "string"},
                {"type": "object", "additionalProperties": {"type": "string"}},
            ]
        }
    ),
]
LevelName = Annotated[
    Level,
    told(parse_level),
    PLAIN,
    WithJsonSchema({"anyOf": [{"enum": _LEVELS}, {"type": "string"}]}),
]
WhoMay = Annotated[
    Access,
    told(parse_access),
    PlainSerializer(print_access),
    WithJsonSchema(
        {
            "anyOf": [
                {"enum": ["owner", "anyone"]},
                {
                    "type": "object",
                    "additionalProperties": False,
                    "properties": {
                        "users": _TEXT_LIST,
                        "groups": _TEXT_LIST,
                        "keys": {"type": "boolean"},
                    },
                },
            ]
        }
    ),
]
Together = Annotated[
    str,
    told(one_of(("numa", "island"), {"nvlink": "island", "socket": "numa"})),
    schema("string"),
]
Priority = Annotated[
    int | str, told(parse_priority), schema("integer", "string", minimum=0, maximum=100)
]
Signal = Annotated[str, told(parse_signal), schema("string", "integer")]
Command = Annotated[
    str | tuple[str, ...], told(parse_run), PLAIN, schema("string", "array", items=_SCALARS)
]
Texts = Annotated[tuple[str, ...], told(parse_texts), PLAIN, WithJsonSchema(_TEXT_LIST)]
Names = Annotated[tuple[str, ...], told(parse_names), PLAIN, WithJsonSchema(_TEXT_LIST)]
Causes = Annotated[
    tuple[str, ...],
    told(parse_causes),
    PLAIN,
    WithJsonSchema({"type": ["array", "string"], "items": {"type": "string"}}),
]
Happenings = Annotated[
    tuple[str, ...],
    told(parse_happenings),
    PLAIN,
    schema("array", "string", items={"type": "string", "enum": list(HAPPENINGS)}),
]
Addresses = Annotated[
    tuple[str, ...],
    told(parse_addresses),
    PLAIN,
    schema("array", "string", items={"type": "string", "format": "email"}),
]
Webhooks = Annotated[
    tuple[str, ...],
    told(parse_webhooks),
    PLAIN,
    schema("array", "string", items={"type": "string"}),
]
SecretReference = Annotated[str, told(parse_secret_reference), schema("string")]
Due = Annotated[
    Deadline, told(parse_deadline), PlainSerializer(print_deadline), schema("string", "number")
]
Isolation = Annotated[str, told(one_of(ISOLATIONS, {})), schema("string")]
KindName = Annotated[
    str,
    told(one_of(tuple(Kind), KIND_ALIASES)),
    schema("string"),
]
Env = Annotated[
    dict[str, str | None],
    told(parse_env),
    schema(
        "array",
        "object",
        "string",
        items=_SCALARS,
        additionalProperties={"type": ["string", "number", "boolean", "null"]},
    ),
]
Secrets = Annotated[
    dict[str, str | None],
    told(parse_secrets),
    schema(
        "array",
        "object",
        "string",
        items={"type": "string"},
        additionalProperties={"type": ["string", "null"]},
    ),
]
Labels = Annotated[dict[str, str], told(parse_labels), WithJsonSchema(_TEXT_MAP)]
Selectors = Annotated[
    dict[str, tuple[str, ...]],
    told(parse_selectors),
    PLAIN,
    schema("object", additionalProperties=_TEXT_LIST),
]
Params = Annotated[
    dict[str, tuple[str, ...]],
    told(parse_params),
    PLAIN,
    schema("object", "array", "string", items=_SCALARS, additionalProperties=_TEXT_LIST),
]
Replicas = Annotated[
    CountRange,
    told(lambda value: parse_span(value, MAX_PODS, 0)),
    PlainSerializer(print_span),
    schema("integer", "string", "object", minimum=0, pattern=r"^ *[0-9]+ *(\.\. *[0-9]+ *)?$"),
]
Parallel = PodCount
Trials = Annotated[
    tuple[dict[str, str], ...],
    told(parse_trials),
    PLAIN,
    schema("array", items=_TEXT_MAP),
]
Dependencies = Annotated[
    tuple[str, ...], told(parse_dependencies), PLAIN, WithJsonSchema(_TEXT_LIST)
]
CauseLimits = Annotated[
    dict[str, int],
    told(lambda value: parse_cause_limits(value, MAX_GANGS)),
    schema("object", additionalProperties={"type": "integer", "minimum": 0}),
]
Targets = Annotated[
    tuple[Target, ...],
    told(parse_targets),
    PlainSerializer(print_targets),
    schema("object", additionalProperties={"type": ["number", "string"]}),
]
Ratio = Annotated[
    int, told(parse_ratio), PlainSerializer(print_milli), schema("number", "string", minimum=1)
]
PaceOf = Annotated[Pace, told(parse_pace), PlainSerializer(print_pace), schema("string")]
ModelName = Annotated[str, told(parse_model), schema("string")]
Source = Annotated[str, told(parse_source), schema("string")]
Share = Annotated[int, told(parse_permille), PlainSerializer(print_permille), schema("string")]
HoursOf = Annotated[Hours, told(parse_hours), PlainSerializer(print_hours), schema("string")]
Zone = Annotated[str, told(parse_zone), schema("string")]
Cron = Annotated[str, told(parse_cron), schema("string")]
Goal = Annotated[
    str,
    told(one_of(("min", "max"), {"minimize": "min", "maximize": "max"})),
    schema("string"),
]
OverlapOf = Annotated[str, told(one_of(tuple(Overlap), {"skip": "forbid"})), schema("string")]
