"""The chart, the raw manifests and what is said about them belong together."""

import importlib
import re
from pathlib import Path
from typing import Any

import click
import jsonschema_rs
import msgspec
import pytest
import yaml
from tests.worlds.kubernetes.rbac import LIVES, Right, chart_rights, manifests
from tools import crds
from tools import manifests as deploy

from ganglion.cli.cluster.scheduler import DEFAULT
from ganglion.cli.registry import COMMANDS
from ganglion.model.fleet.levels import Level
from ganglion.specs.policy.schema import SCOPES
from ganglion.worlds.kubernetes import names
from ganglion.worlds.kubernetes.config import tenants
from ganglion.worlds.kubernetes.config.settings import KEYS, parse_settings
from ganglion.worlds.kubernetes.watches import ALWAYS
from ganglion.worlds.kubernetes.workload_kinds.kinds import KINDS, POD

CHART = deploy.CHART
ROOT = deploy.ROOT
SCHEMA: dict[str, Any] = msgspec.json.decode((CHART / "values.schema.json").read_bytes())
VALUES: dict[str, Any] = yaml.safe_load((CHART / "values.yaml").read_text("utf-8"))
RIGHTS = (ROOT / "docs" / "kubernetes-rights.md").read_text("utf-8")
needs_helm = pytest.mark.usefixtures("helm")


def test_the_definitions_are_what_the_schema_of_policy_files_says() -> None:
    assert crds.stale() == [], "run: python tools/crds.py"


@needs_helm
def test_the_raw_manifests_are_those_of_the_chart() -> None:
    assert deploy.stale() == [], "run: python -m tools.manifests"


def test_every_key_of_a_file_is_a_key_of_an_object() -> None:
    queue, policy = spec(crds.queues()), spec(crds.policies())
    assert set(queue) == set(SCOPES["queues"].model_fields) - {"name"} | set(tenants.KEYS)
    assert set(policy) == set(SCOPES[""].model_fields) - {"queues"}
    for scope in ("preemption", "flavors"):
        assert set(queue[scope]["properties"]) == set(SCOPES[scope].model_fields)
    for scope in ("preemption", "evict", "future", "repack", "usage"):
        assert set(policy[scope]["properties"]) == set(SCOPES[scope].model_fields)


def spec(definition: dict[str, Any]) -> dict[str, Any]:
    (version,) = definition["spec"]["versions"]
    assert (definition["spec"]["group"], version["name"]) == (names.GROUP, names.VERSION)
    found: dict[str, Any] = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
    return found["properties"]


def test_the_schema_of_values_is_a_schema_and_the_usual_values_keep_to_it() -> None:
    jsonschema_rs.meta.validate(SCHEMA)
    assert jsonschema_rs.validator_for(SCHEMA).is_valid(VALUES)


def test_every_value_is_in_the_schema_and_the_other_way_round() -> None:
    assert keys_of(VALUES, SCHEMA) == []


def keys_of(values: dict[str, Any], schema: dict[str, Any], path: str = "") -> list[str]:
    """Keys that only one of the two has."""
    known = schema.get("properties")
    if known is None:
        return []
    optional = {"global", "initialDelaySeconds"}
    wrong = [f"{path}.{key}" for key in values.keys() ^ (known.keys() - optional)]
    for key in values.keys() & known.keys():
        if isinstance(values[key], dict):
            wrong += keys_of(values[key], known[key], f"{path}.{key}")
    return wrong


@needs_helm
def test_settings_are_a_file_that_the_scheduler_takes() -> None:
    items = deploy.rendered(
        "settings.topology.levels.example\\.com/row=block",
        "settings.topology.ignore[0]=region",
        "settings.timers.provision=20m",
    )
    (config,) = [each for each in items if each["kind"] == "ConfigMap"]
    found = parse_settings(config["data"]["settings.yaml"])
    assert found.sources.keys == {"example.com/row": Level.BLOCK}
    assert (found.sources.ignored, found.provision_ms) == ({Level.REGION}, 1_200_000)
    (template,) = [each["spec"]["template"] for each in items if each["kind"] == "Deployment"]
    (container,) = template["spec"]["containers"]
    (flag,) = [each for each in container["args"] if each.startswith("--settings=")]
    volumes = {each["name"]: each for each in template["spec"]["volumes"]}
    mounts = {each["mountPath"]: each["name"] for each in container["volumeMounts"]}
    folder, _, name = flag.removeprefix("--settings=").rpartition("/")
    assert volumes[mounts[folder]]["configMap"]["name"] == config["metadata"]["name"]
    assert name in config["data"]
    assert len(template["metadata"]["annotations"]["ganglion.dev/settings"]) == 64


def test_the_schema_knows_every_setting() -> None:
    known = SCHEMA["properties"]["settings"]["properties"]
    assert known.keys() == set(KEYS[""])
    for scope in KEYS[""]:
        assert known[scope]["properties"].keys() == set(KEYS[scope])


def test_every_value_has_its_comment() -> None:
    lines = (CHART / "values.yaml").read_text("utf-8").splitlines()
    bare = [
        line
        for above, line in zip(["", *lines], lines, strict=False)
        if re.match(r"[a-zA-Z]+: (\{\}|\[\]|\"\"|true|false|[0-9])", line) and "#" not in above
    ]
    assert set(bare) <= {"nodeSelector: {}", "affinity: {}", "podAnnotations: {}", "podLabels: {}"}


def test_the_scheduler_is_as_restricted_as_a_pod_can_be() -> None:
    pod = deployment()["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert "hostNetwork" not in pod
    assert pod.get("schedulerName", "default-scheduler") != names.SCHEDULER


def test_a_standby_is_warm_and_no_rollout_or_drain_takes_both() -> None:
    found = deployment()
    assert found["spec"]["replicas"] == 2
    assert found["spec"]["strategy"]["rollingUpdate"] == {"maxSurge": 1, "maxUnavailable": 0}
    (budget,) = [each for each in manifests("ganglion.yaml") if each["kind"].endswith("Budget")]
    assert budget["spec"]["minAvailable"] == 1
    (container,) = found["spec"]["template"]["spec"]["containers"]
    assert container["livenessProbe"]["httpGet"]["path"] == "/healthz"
    assert container["readinessProbe"]["httpGet"]["path"] == "/readyz"


def test_what_is_read_is_what_may_be_read() -> None:
    collections = {each.path for each in ALWAYS}
    collections |= {f"/apis/{k.group}/v1/{k.plural}" for k in KINDS.values() if k.ident != POD}
    parts = [path.split("/") for path in collections]
    watched = {(each[2] if each[1] == "apis" else "", each[-1]) for each in parts}
    for verb in ("list", "watch"):
        may = {(each.group, each.resource) for each in chart_rights() if each.verb == verb}
        assert may == watched


def test_owners_can_be_stopped_where_they_have_a_switch_and_only_there() -> None:
    switches = {(each.group, each.plural) for each in KINDS.values() if each.suspend}
    for verb in ("get", "patch"):
        may = {(each.group, each.resource) for each in chart_rights() if each.verb == verb}
        own = {("coordination.k8s.io", "leases"), ("events.k8s.io", "events")}
        own |= {each[:2] for each in LIVES if each.verb == verb}
        assert {each for each in may if each[0] and "/" not in each[1]} - own == switches


def test_users_may_be_let_to_the_views_where_the_command_line_looks_for_them() -> None:
    namespace, _, service = DEFAULT.partition("/")
    (role,) = [
        each for each in manifests("ganglion.yaml") if each["metadata"]["name"] == "ganglion-views"
    ]
    assert role["metadata"]["namespace"] == namespace
    (rule,) = role["rules"]
    assert rule["resourceNames"] == [f"http:{service}"]
    assert (rule["resources"], rule["verbs"]) == (["services/proxy"], ["get"])


def test_the_scheduler_takes_the_arguments_that_it_is_given() -> None:
    (container,) = deployment()["spec"]["template"]["spec"]["containers"]
    name, *arguments = container["args"]
    module, _, attribute = COMMANDS[name].target.partition(":")
    command: click.Command = getattr(importlib.import_module(module), attribute)
    context = command.make_context(name, arguments)
    assert context.params["listen"] == "0.0.0.0:8080"
    assert context.params["lease"] == "ganglion"


def test_nothing_admits_or_changes_the_objects_of_others() -> None:
    kinds = {each["kind"] for each in manifests("ganglion.yaml")}
    assert [kind for kind in kinds if "Webhook" in kind] == []


def test_the_page_says_of_every_right_what_it_is_for() -> None:
    rows = rights_page()
    assert all(len(row) == 5 and row[2] and row[3] for row in rows)
    said = {right for row in rows for right in rights_in(row)}
    wanted = {named(each) for each in chart_rights()}
    assert sorted(wanted - said) == []
    assert sorted(said - wanted) == []


@needs_helm
def test_a_feature_that_is_off_takes_the_rights_of_its_rows_and_no_others() -> None:
    everything = rights_of(deploy.rendered())
    switches = {value for row in rights_page() for value in re.findall(r"`([^`]+)`", row[4])}
    assert switches == {
        *(f"integrations.{name}" for name in VALUES["integrations"]),
        *(f"features.{name}" for name, is_on in VALUES["features"].items() if is_on),
    }
    for row in rights_page():
        values = re.findall(r"`([^`]+)`", row[4])
        if values:
            left = rights_of(deploy.rendered(*(f"{each}=false" for each in values)))
            assert rights_in(row) <= everything - left, values
    for switch in sorted(switches):
        gone = everything - rights_of(deploy.rendered(f"{switch}=false"))
        own = {r for row in rights_page() if switch in row[4] for r in rights_in(row)}
        # A kind that is not watched is not suspended either.
        own |= {right for right in gone if switch.startswith("integrations")}
        assert gone <= own, switch


@needs_helm
def test_asking_who_calls_adds_the_two_reviews_and_an_argument() -> None:
    before, after = deploy.rendered(), deploy.rendered("features.callers=true")
    reviews = {
        ("tokenreviews.authentication.k8s.io", "create"),
        ("subjectaccessreviews.authorization.k8s.io", "create"),
    }
    assert rights_of(after) - rights_of(before) == reviews
    for objects, is_there in ((before, False), (after, True)):
        (found,) = [each for each in objects if each["kind"] == "Deployment"]
        (container,) = found["spec"]["template"]["spec"]["containers"]
        assert ("--tokens-for=ganglion" in container["args"]) is is_there
    said = RIGHTS.partition("`features.callers` (off) adds")[2].partition("\n\n")[0]
    for resource, verb in reviews:
        name, _, group = resource.partition(".")
        assert {f"`{name}`", f"`{group}`", f"`{verb}`"} <= set(re.findall(r"`[^`]+`", said))


@needs_helm
def test_what_it_writes_is_bound_to_namespaces_where_they_are_named() -> None:
    objects = deploy.rendered("rbac.namespaces={red,blue}")
    role = "ganglion-workloads"
    bindings = [e for e in objects if e.get("roleRef", {}).get("name") == role]
    found = [(each["kind"], each["metadata"].get("namespace")) for each in bindings]
    assert found == [("RoleBinding", "red"), ("RoleBinding", "blue")]
    everywhere = {e["roleRef"]["name"] for e in objects if e["kind"] == "ClusterRoleBinding"}
    assert everywhere == {"ganglion"}
    (reads,) = [
        each
        for each in objects
        if (each["kind"], each["metadata"]["name"]) == ("ClusterRole", "ganglion")
    ]
    written = {
        resource
        for rule in reads["rules"]
        for resource in rule["resources"]
        if set(rule["verbs"]) - {"get", "list", "watch"}
    }
    # Volumes have no namespace, no more than quarantined nodes, of which events tell.
    assert written == {"queues/status", "policies/status", "events", "persistentvolumes"}
    (container,) = next(
        each["spec"]["template"]["spec"]["containers"]
        for each in objects
        if each["kind"] == "Deployment"
    )
    assert "--only-namespaces=red,blue" in container["args"]


def rights_page() -> list[list[str]]:
    """Rows of the tables of the page on rights: resources, verbs, why, without, value."""
    table = RIGHTS.partition("<!-- rights -->")[2].partition("<!-- /rights -->")[0]
    lines = [line for line in table.splitlines() if line.startswith("| `")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def rights_in(row: list[str]) -> set[tuple[str, str]]:
    return {
        (resource, verb)
        for resource in re.findall(r"`([^`]+)`", row[0])
        for verb in re.findall(r"[a-z]+", row[1])
    }


def named(right: Right) -> tuple[str, str]:
    resource = f"{right.resource}.{right.group}" if right.group else right.resource
    return resource, right.verb


def rights_of(objects: list[dict[str, Any]]) -> set[tuple[str, str]]:
    """Everything that the scheduler's roles allow."""
    names = ("ganglion", "ganglion-workloads", "ganglion-leader")
    return {
        (f"{resource}.{group}" if group else resource, verb)
        for each in objects
        if each["kind"] in ("ClusterRole", "Role") and each["metadata"]["name"] in names
        for rule in each["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def test_alerts_lead_to_paragraphs_that_exist() -> None:
    rules = (CHART / "templates" / "prometheusrule.yaml").read_text("utf-8")
    found = re.findall(r"runbook: (\S+)#(\S+)", rules)
    assert len(found) == rules.count("- alert:")
    for page, anchor in found:
        titles = re.findall(r"^##+ (.+)$", (ROOT / page).read_text("utf-8"), re.MULTILINE)
        assert anchor in {slug(title) for title in titles}


def slug(title: str) -> str:
    return re.sub(r"[^a-z0-9 -]", "", title.lower()).replace(" ", "-")


def test_the_image_is_built_from_what_is_pinned_and_runs_as_nobody() -> None:
    text = (ROOT / "Containerfile").read_text("utf-8")
    assert "--require-hashes -r requirements/runtime.txt" in text
    assert re.search(r"^ARG PYTHON_IMAGE=\S+@sha256:[0-9a-f]{64}$", text, re.MULTILINE)
    assert re.findall(r"^FROM (\S+)", text, re.MULTILINE) == ["${PYTHON_IMAGE}"] * 2
    last = text[text.rindex("FROM ") :]
    assert re.search(r"^USER 65532:65532$", last, re.MULTILINE)
    assert "RUN pip" not in last


def test_everything_that_the_image_copies_is_in_the_tree() -> None:
    text = (ROOT / "Containerfile").read_text("utf-8")
    copies = re.findall(r"^COPY (?!--from)(.+) \S+$", text, re.MULTILINE)
    assert copies
    missing = [part for each in copies for part in each.split() if not (ROOT / part).exists()]
    assert missing == []


def test_the_package_has_no_links_to_files_that_the_image_lacks() -> None:
    links = [each for each in (ROOT / "src").rglob("*") if each.is_symlink()]
    assert links == []


def deployment() -> dict[str, Any]:
    (found,) = [each for each in manifests("ganglion.yaml") if each["kind"] == "Deployment"]
    return found


def test_the_version_of_the_chart_is_that_of_the_package() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text("utf-8"))
    package = re.search(r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert package
    assert chart["appVersion"] == package[1]


def test_the_dashboard_is_json() -> None:
    found: dict[str, Any] = msgspec.json.decode(
        Path(CHART / "files" / "dashboard.json").read_bytes()
    )
    assert len({each["id"] for each in found["panels"]}) == len(found["panels"]) > 0
