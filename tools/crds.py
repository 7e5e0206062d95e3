"""Writes the custom resource definitions of the chart from the schema of policy files.

python tools/crds.py            write charts/ganglion/crds/
python tools/crds.py --check    1 = a file is out of date

A `Queue` says in `spec` what a queue of a policy file says, but for its name; a `Policy` says
what such a file says, but for its queues. Kubernetes wants one type for each value, so of the
forms that a file may use, the canonical one is taken.
"""

import sys
from pathlib import Path
from typing import Any

import yaml

from ganglion.model.policy import Entitlement
from ganglion.specs.policy.presets import PRESETS, preset
from ganglion.specs.workload.json_schema import policy_schema
from ganglion.worlds.kubernetes.names import GROUP, VERSION

FOLDER = Path(__file__).resolve().parents[1] / "charts" / "ganglion" / "crds"

Json = dict[str, Any]

INT_OR_STRING: Json = {"x-kubernetes-int-or-string": True}
ANYTHING: Json = {"x-kubernetes-preserve-unknown-fields": True}
LABEL = "^[a-z0-9]([a-z0-9-]*[a-z0-9])?$"
NAME: Json = {"type": "string", "maxLength": 63, "pattern": LABEL}
TEXTS: Json = {"type": "array", "items": {"type": "string", "maxLength": 253}, "maxItems": 512}
AMOUNT: Json = {
    **ANYTHING,
    "description": "a number of GPUs (of CPUs for the flavor `cpu`), or {gpus, cpus, memory}",
    "minimum": 0,
    "pattern": r"^[0-9]*\.?[0-9]+m?$",
    "properties": {
        "gpus": {**INT_OR_STRING, "minimum": 0, "pattern": r"^[0-9]*\.?[0-9]+$"},
        "cpus": {**INT_OR_STRING, "minimum": 0, "pattern": r"^[0-9]*\.?[0-9]+m?$"},
        "memory": {**INT_OR_STRING, "minimum": 0, "pattern": "^(0|[0-9.]+ ?[KMGTPkmgtp]i?[Bb]?)$"},
    },
}
AMOUNTS: Json = {"type": "object", "maxProperties": 64, "additionalProperties": AMOUNT}
PERCENT: Json = {**INT_OR_STRING, "maximum": 0, "minimum": 0, "pattern": r"^[0-9]+(\.[0-9])?%$"}
CLASSES: Json = {"type": "object", "maxProperties": 256, "additionalProperties": ANYTHING}

FORMS: dict[str, Json] = {
    "parent": NAME,
    "quota": AMOUNTS,
    "limit": AMOUNTS,
    "lend_limit": AMOUNTS,
    "borrowing_limit": AMOUNTS,
    "user_limit": AMOUNTS,
    "dead_zone": PERCENT,
    "correction": PERCENT,
    "priorities": CLASSES,
    "kinds": {"type": "object", "maxProperties": 16, "additionalProperties": ANYTHING},
    "escalate": ANYTHING,
    "scores": ANYTHING,
    "preset": {"type": "string", "enum": [*PRESETS]},
    "levels": {"type": "array", "items": {"type": "string", "enum": ["queue", "user"]}},
}
"""Key -> its form, where the types of the file's schema do not tell it."""


def structural(node: Json, definitions: Json) -> Json:
    """A part of a JSON Schema as Kubernetes takes it: references resolved, one type each."""
    if "$ref" in node:
        found = definitions[node["$ref"].rpartition("/")[2]]
        node = {**found, "description": node.get("description", found["description"])}
    if "properties" in node:
        return {
            "type": "object",
            "description": node["description"],
            **({"required": node["required"]} if "required" in node else {}),
            "properties": {
                key: _value(key, each, definitions) for key, each in node["properties"].items()
            },
        }
    return _scalar(node)


def _value(key: str, node: Json, definitions: Json) -> Json:
    if key == "name":
        return {**NAME, "description": node["description"]}
    if key == "bookings":
        return _bookings(node, definitions)
    if key in FORMS:
        return {**FORMS[key], "description": node["description"]}
    return structural(node, definitions)


def _scalar(node: Json) -> Json:
    kinds = node["type"] if isinstance(node["type"], list) else [node["type"]]
    found: Json = {key: node[key] for key in ("description", "minimum") if key in node}
    if "array" in kinds:
        return {**TEXTS, **found}
    if kinds[0] == "boolean":
        return {"type": "boolean", **found}
    if {"integer", "string"} <= set(kinds):
        return {**INT_OR_STRING, **found, "pattern": node.get("pattern", "^[0-9]+$")}
    words = {"enum": node["examples"]} if "examples" in node else {}
    return {"type": kinds[0], **words, **found}


def _bookings(node: Json, definitions: Json) -> Json:
    item = structural(definitions["BookingFile"], definitions)
    item["x-kubernetes-validations"] = [
        {"rule": "has(self.end) != has(self.length)", "message": "give either end or length"},
        {
            "rule": "!has(self.users) || has(self.queues)",
            "message": "name the queues of those users too",
        },
        {
            "rule": "has(self.nodes) || has(self.within)",
            "message": "name nodes, as `nodes: [n1]` or `within: [rack=r1]`",
        },
    ]
    return {
        "type": "array",
        "description": node["description"],
        "maxItems": 256,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
        "items": item,
    }


CONDITIONS: Json = {
    "type": "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["type"],
    "items": {
        "type": "object",
        "required": ["type", "status", "reason", "message", "lastTransitionTime"],
        "properties": {
            "type": {"type": "string"},
            "status": {"type": "string", "enum": ["True", "False", "Unknown"]},
            "reason": {"type": "string"},
            "message": {"type": "string"},
            "observedGeneration": {"type": "integer", "format": "int64"},
            "lastTransitionTime": {"type": "string", "format": "date-time"},
        },
    },
}
IN_FORCE: Json = {
    "type": "object",
    "description": "the last spec that was accepted: what counts while the present one has errors",
    "required": ["generation", "spec"],
    "properties": {
        "generation": {"type": "integer", "format": "int64"},
        "spec": {"type": "object", **ANYTHING},
    },
}
SELECTOR: Json = {
    "type": "object",
    "description": "over the labels of namespaces; {} selects all",
    "properties": {
        "matchLabels": {
            "type": "object",
            "maxProperties": 64,
            "additionalProperties": {"type": "string", "maxLength": 63},
        },
        "matchExpressions": {
            "type": "array",
            "maxItems": 64,
            "items": {
                "type": "object",
                "required": ["key", "operator"],
                "properties": {
                    "key": {"type": "string", "maxLength": 317},
                    "operator": {
                        "type": "string",
                        "enum": ["In", "NotIn", "Exists", "DoesNotExist"],
                    },
                    "values": TEXTS,
                },
            },
        },
    },
}
TENANTS: dict[str, Json] = {
    "namespaces": {
        "type": "object",
        "description": "namespaces whose pods it takes, by name or by label; left out = as the "
        "queue above, in the end all; {} = none",
        "properties": {"names": TEXTS, "selector": SELECTOR},
    },
    "max_priority": {
        "type": "integer",
        "format": "int32",
        "description": "highest priority of its gangs, however it is given; left out = as the "
        "queue above, in the end what a PriorityClass gives, and none by annotation",
    },
}
"""What a `Queue` says that queues of files do not: those know no namespaces."""
COUNT: Json = {"type": "integer", "format": "int64", "minimum": 0}
QUEUE_STATUS: Json = {
    "type": "object",
    "description": "What became of it; written by the scheduler alone.",
    "properties": {
        "conditions": CONDITIONS,
        "inForce": IN_FORCE,
        "used": {**AMOUNTS, "description": "in use by flavor, queues under it included"},
        "deserved": {**AMOUNTS, "description": "what it is entitled to now, by flavor"},
        "share": {"type": "string", "description": "GPUs in use as a part of the deserved ones"},
        "pending": {**COUNT, "description": "gangs that wait in this queue itself"},
        "running": {**COUNT, "description": "gangs of this queue itself that hold resources"},
    },
}
POLICY_STATUS: Json = {
    "type": "object",
    "description": "What became of it; written by the scheduler alone.",
    "properties": {"conditions": CONDITIONS, "inForce": IN_FORCE},
}


def _accepted(name: str) -> Json:
    path = '.status.conditions[?(@.type=="Accepted")].status'
    return {"name": name, "type": "string", "jsonPath": path}


AGE: Json = {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}
WHY: Json = {
    "name": "Message",
    "type": "string",
    "priority": 1,
    "jsonPath": '.status.conditions[?(@.type=="Accepted")].message',
}


def _column(name: str, path: str, kind: str = "string", priority: int = 0) -> Json:
    rank = {"priority": priority} if priority else {}
    return {"name": name, "type": kind, "jsonPath": path, **rank}


def queues() -> Json:
    """The definition of `queues.ganglion.dev`."""
    schema = policy_schema()
    spec = structural(schema["$defs"]["QueueFile"], schema["$defs"])
    del spec["properties"]["name"], spec["required"]
    spec["properties"] |= TENANTS
    spec["description"] = "A queue of the tree, as a policy file says it; its name is the object's."
    rules = [
        {
            "rule": f"self.metadata.name.matches('{LABEL}') && self.metadata.name.size() <= 63",
            "message": "the name of a queue is at most 63 lower-case letters, digits and dashes",
        },
        {
            "rule": "!has(self.spec) || !has(self.spec.parent)"
            " || self.spec.parent != self.metadata.name",
            "message": "a queue cannot be its own parent",
        },
    ]
    columns = [
        _column("Parent", ".spec.parent"),
        _column("Quota", ".spec.quota"),
        _column("Used", ".status.used"),
        _column("Share", ".status.share"),
        _column("Pending", ".status.pending", "integer"),
        _column("Running", ".status.running", "integer", 1),
        _accepted("Accepted"),
        AGE,
        WHY,
    ]
    return _definition("Queue", "queues", ["gq"], spec, QUEUE_STATUS, rules, columns)


def policies() -> Json:
    """The definition of `policies.ganglion.dev`."""
    schema = policy_schema()
    spec = structural({**schema, "description": ""}, schema["$defs"])
    del spec["properties"]["queues"]
    spec["description"] = "How the scheduler decides, as a policy file says it."
    spec["x-kubernetes-validations"] = [_heads_only()]
    columns = [_column("Preset", ".spec.preset"), _accepted("Accepted"), AGE, WHY]
    return _definition("Policy", "policies", ["gpol"], spec, POLICY_STATUS, [], columns)


def _heads_only() -> Json:
    """Which entitlements know `heads_only`, by themselves or by their preset."""
    able = (Entitlement.QUOTA, Entitlement.DOMINANT)
    words = ", ".join(f"'{each.value}'" for each in able)
    presets = ", ".join(f"'{name}'" for name in PRESETS if preset(name).entitlement in able)
    return {
        "rule": "!has(self.heads_only) || !self.heads_only"
        f" || (has(self.entitlement) ? self.entitlement in [{words}]"
        f" : has(self.preset) && self.preset in [{presets}])",
        "message": "heads_only needs entitlement quota or dominant",
    }


def _definition(
    kind: str,
    plural: str,
    short: list[str],
    spec: Json,
    status: Json,
    rules: list[Json],
    columns: list[Json],
) -> Json:
    root = {
        "type": "object",
        "description": spec["description"],
        **({"x-kubernetes-validations": rules} if rules else {}),
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"type": "object"},
            "spec": spec,
            "status": status,
        },
    }
    version = {
        "name": VERSION,
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "additionalPrinterColumns": columns,
        "schema": {"openAPIV3Schema": root},
    }
    names = {"kind": kind, "listKind": f"{kind}List", "plural": plural, "singular": kind.lower()}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": f"{plural}.{GROUP}",
            "labels": {"app.kubernetes.io/name": "ganglion"},
        },
        "spec": {
            "group": GROUP,
            "scope": "Cluster",
            "names": {**names, "shortNames": short, "categories": ["ganglion"]},
            "versions": [version],
        },
    }


class _Plain(yaml.SafeDumper):
    """Writes parts that occur twice out twice: anchors are not for manifests."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ANN401, ARG002 - as in yaml
        return True


def pages() -> dict[str, str]:
    """Name -> text of every file of the folder."""
    head = "# Generated from the schema of policy files by `python tools/crds.py`.\n"
    return {
        f"{name}.yaml": head + yaml.dump(found, Dumper=_Plain, sort_keys=False, width=100)
        for name, found in (("policies", policies()), ("queues", queues()))
    }


def stale() -> list[str]:
    """Names of files that are not what this would write."""
    return [
        name
        for name, text in pages().items()
        if not (FOLDER / name).exists() or (FOLDER / name).read_text("utf-8") != text
    ]


def main() -> int:
    """Write or check the files."""
    if "--check" in sys.argv[1:]:
        for name in stale():
            print(f"{name} is out of date: run this without --check")
        return int(bool(stale()))
    for name, text in pages().items():
        (FOLDER / name).write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
