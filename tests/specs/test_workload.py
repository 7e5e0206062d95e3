import random
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ganglion.compat.workloads import load_workloads, parse_any
from ganglion.model.errors import FieldError, FileError, InputError
from ganglion.model.fleet.levels import Level
from ganglion.model.resources import GpuRequest, PodRequest
from ganglion.model.workload import (
    Checkpoint,
    Constraints,
    Kind,
    PodSet,
    Retry,
    Slice,
    Topology,
    Workload,
)
from ganglion.specs.workload.workload import (
    WorkloadFile,
    apply_overrides,
    document,
    from_command,
    from_document,
    parse_workloads,
    references,
    to_workload,
)

FULL = """\
name: llama-sft
queue: org/research
run: torchrun train.py
setup: uv pip install -r requirements.txt
workdir: .
image: nvcr.io/nvidia/pytorch:26.09-py3
nodes: 2..4
procs_per_node: 8
resources: {gpus: "H100:8", cpus: 64, memory: 800GB, shm_size: 64GB, together: island}
placement: rack
groups:
- {size: 2, required: rack, preferred: nvlink}
priority: high
time_limit: 24h
preemptible: {grace: 2m, signal: USR1}
checkpoint: {interval: 30m, path: /ckpt}
retry: {limit: 3, on: [node_failure, preemption], backoff: 10s}
constraints:
  labels: {zone: [a, b], tier: gold}
  avoid: {maintenance: "true"}
  residency: eu
  isolation: queue
env: [HF_TOKEN, "EPOCHS=3"]
array: {lr: [1e-4, 3e-4], seed: 0..4}
parallel: 4
after: [prepare]
hold: yes
labels: {owner: ada}
"""


def parse(text: str) -> WorkloadFile:
    (doc,) = parse_workloads(text, "job.yaml")
    return doc


def workload(text: str) -> Workload:
    return to_workload(parse(text), user="ada", default_queue="default")


def test_every_key_reaches_the_workload() -> None:
    found = workload(FULL)
    request = PodRequest(64_000, 762_940, GpuRequest(8, types=("H100",)), Level.ISLAND)
    assert found.pod_sets == (
        PodSet(
            count=4,
            min_count=2,
            request=request,
            slices=(Slice(2, Level.RACK, Level.NVLINK),),
            procs=8,
            shm_mib=61_036,
        ),
    )
    assert (found.name, found.kind, found.queue) == ("llama-sft", Kind.SWEEP, "research")
    assert (found.user, found.priority, found.priority_class) == ("ada", 75, "high")
    assert found.topology == Topology(required=Level.RACK)
    assert found.constraints == Constraints(
        {"zone": ("a", "b"), "tier": ("gold",)}, {"maintenance": ("true",)}, ("eu",), "queue"
    )
    assert found.checkpoint == Checkpoint(1_800_000, "SIGUSR1", 120_000, "/ckpt")
    assert found.retry == Retry(3, ("node_failure", "preemption"), 10_000)
    assert found.params == {"lr": ("1e-4", "3e-4"), "seed": ("0", "1", "2", "3", "4")}
    assert (found.parallel, found.time_limit_ms, found.held) == (4, 86_400_000, True)
    assert (found.after, found.labels, found.preemptible) == (("prepare",), {"owner": "ada"}, True)
    run = found.run
    assert (run.command, run.shell) == (("torchrun train.py",), True)
    assert (run.setup, run.workdir) == ("uv pip install -r requirements.txt", ".")
    assert run.image == "nvcr.io/nvidia/pytorch:26.09-py3"
    assert (run.env, run.secrets) == ({"EPOCHS": "3"}, ("HF_TOKEN",))


def test_only_the_command_is_required() -> None:
    assert workload("run: echo hi") == Workload(
        name="job",
        kind=Kind.BATCH,
        user="ada",
        run=workload("run: echo hi").run,
    )


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("", Kind.BATCH),
        ("gpus: 1", Kind.TRAIN),
        ("nodes: 2", Kind.TRAIN),
        ("pod_sets: [{name: a}, {name: b}]", Kind.TRAIN),
        ("replicas: 1", Kind.SERVICE),
        ("port: 8000", Kind.SERVICE),
        ("params: {a: [1, 2]}", Kind.SWEEP),
        ("idle_timeout: 1h\nport: 8888", Kind.WORKSPACE),
        ("gpus: 1\nkind: batch", Kind.BATCH),
        ("type: notebook", Kind.WORKSPACE),
    ],
)
def test_the_kind_is_inferred_unless_given(text: str, kind: Kind) -> None:
    doc = parse(f"run: x\n{text}")
    assert doc.effective_kind is kind
    assert from_document(document(doc)).effective_kind is kind


@pytest.mark.parametrize(
    ("alias", "canonical"),
    [
        ("entrypoint: x", "run: x"),
        ("command: [a, b]", "run: [a, b]"),
        ("commands: [a, b]", 'run: "set -e\\na\\nb"'),
        ("cmd: x", "run: x"),
        ("run: x\nnum_nodes: 2", "run: x\nnodes: 2"),
        ("run: x\nmax_duration: 2h", "run: x\ntime_limit: 2h"),
        ("run: x\ntime: 2:00:00", "run: x\ntime_limit: 2h"),
        ("run: x\ntimeout: 2h", "run: x\ntime_limit: 2h"),
        ("run: x\nenvs: {A: 1}", "run: x\nenv: [A=1]"),
        ("run: x\naccelerators: H100:8", "run: x\nresources: {gpus: H100:8}"),
        ("run: x\ngpu: 8", "run: x\nresources: {gpus: 8}"),
        ("run: x\nresources: {nvidia.com/gpu: 8}", "run: x\nresources: {gpus: 8}"),
        ("run: x\nresources: {cpu: 4, mem: 1Gi}", "run: x\ncpus: 4\nmemory: 1Gi"),
        ("run: x\nretries: 3", "run: x\nretry: {limit: 3}"),
        ("run: x\ncheckpoint: 10m", "run: x\ncheckpoint: {interval: 10m}"),
        ("run: x\ncheckpoint: yes", "run: x\ncheckpoint: {}"),
        ("run: x\ncheckpoint: true", "run: x\ncheckpoint: {}"),
        ("run: x\ncheckpoint: false", "run: x"),
        ("run: x\npreemptible: {grace: 2m}", "run: x\npreemptible: true\ncheckpoint: {grace: 2m}"),
        ("run: x\ndepends_on: a", "run: x\nafter: [a]"),
        ("run: x\nports: [80]", "run: x\nport: 80"),
        ("run: x\narray: 0..3", "run: x\nparams: {index: [0, 1, 2, 3]}"),
        ("run: x\nparams: [a, b]", "run: x\nparams: {item: [a, b]}"),
        ("run: x\ntime-limit: 2h", "run: x\ntime_limit: 2h"),
        (
            "run: x\nnodes: 4\ngroups: {size: 2, level: rack}",
            "run: x\nnodes: 4\ngroups: [{size: 2, required: rack}]",
        ),
        ("run: x\nnode_selector: {zone: a}", "run: x\nconstraints: {labels: {zone: [a]}}"),
        (
            "run: x\npod_sets: {name: a, count: 2, gpus: 1}",
            "run: x\npod_sets: [{name: a, nodes: 2, resources: {gpus: 1}}]",
        ),
        ("run: x\nimage:\nnodes:\nenv:", "run: x"),
        ("run: x\npreemptible: {}", "run: x\npreemptible: true"),
    ],
)
def test_aliases_and_short_forms_mean_their_canonical_keys(alias: str, canonical: str) -> None:
    assert parse(alias) == parse(canonical)


@pytest.mark.parametrize(
    ("text", "line", "key", "problem", "hint"),
    [
        ("run: x\nnoeds: 2", 2, "noeds", "unknown key `noeds`", "did you mean `nodes`?"),
        ("run: x\nresources:\n  gpsu: 1", 3, "resources.gpsu", "unknown key", "`gpus`?"),
        ("run: x\ninterval: 5m", 2, "interval", "unknown key", "belongs under `checkpoint`"),
        ("run: x\nretry:\n  queue: a", 3, "retry.queue", "unknown key", "at the top"),
        ("run: x\nzzz: 1", 2, "zzz", "unknown key", "known keys: name"),
        ("run: x\nnodes: -2", 2, "nodes", "cannot be negative", ""),
        ("run: x\nnum_nodes: -2", 2, "num_nodes", "cannot be negative", ""),
        ("run: x\nnodes: 0", 2, "nodes", "too small", "1"),
        ("run: x\nnodes: 99999999999999999999", 2, "nodes", "too large", "100,000"),
        ("run: x\nnodes: two", 2, "nodes", "whole number", ""),
        ("run: x\ngpus: -8", 2, "gpus", "cannot be negative", ""),
        ("run: x\nmemory: 64", 2, "memory", "no unit", "64GB"),
        ("run: x\nnum_nodes: 2\nnodes: 2", 3, "nodes", "same as `num_nodes`", "`nodes`"),
        ("run: x\ngpus: 8\nresources: {gpus: 4}", 2, "gpus", "same as", "`resources.gpus`"),
        ("run: x\ngpus: 8\nresources: 5", 3, "resources", "expected keys and values", ""),
        ("run: x\nresources: 5", 2, "resources", "expected keys and values", ""),
        ("run: x\npod_sets: 5", 2, "pod_sets", "expected a list", ""),
        ("run: x\nretry: []", 2, "retry", "expected keys and values", ""),
        ("run: x\ncheckpoint: 5", 2, "checkpoint", "has no unit", "2h"),
        ("nodes: 2", 1, "", "`run` is missing", "run: python train.py"),
        ("run: ''", 1, "run", "empty", ""),
        ("run: []", 1, "run", "empty", ""),
        ("run: {a: b}", 1, "run", "expected text", ""),
        ("run: x\nname: My Job", 2, "name", "not a usable name", "`my-job`"),
        ("run: x\npriority: 101", 2, "priority", "too large", "100"),
        ("run: x\npriority: very high", 2, "priority", "not a usable name", "`very-high`"),
        ("run: x\nkind: trian", 2, "kind", "not known", "`train`?"),
        ("run: x\nhold: maybe", 2, "hold", "true or false", ""),
        ("run: x\nport: 70000", 2, "port", "too large", ""),
        ("run: x\nports: [1, 2]", 2, "ports", "exactly one port", ""),
        ("run: x\ntime_limit: 0", 2, "time_limit", "longer than nothing", "leave it out"),
        ("run: x\nmax_duration: 600", 2, "max_duration", "has no unit", ""),
        ("run: x\nreplicas: 2\nkind: batch", 2, "replicas", "means nothing for a batch", "service"),
        ("run: x\nparallel: 2", 2, "parallel", "means nothing", "sweep"),
        ("run: x\nkind: sweep", 2, "kind", "needs `params`", "lr"),
        ("run: x\nparams: {a: 0..999, b: 0..999}", 2, "params", "combinations", ""),
        ("run: x\nparams: {'a b': 1}", 2, "params.a b", "variable", ""),
        ("run: x\nparams: {}", 2, "params", "at least one", ""),
        ("run: x\nenv: [A-B=3]", 2, "env[0]", "variable", ""),
        ("run: x\nenv: {A: [1]}", 2, "env.A", "expected text", ""),
        ("run: x\nenv: [A=1, A=2]", 2, "env[1]", "given twice", ""),
        ("run: x\nlabels: 3", 2, "labels", "expected keys and values", ""),
        ("run: x\nplacement: rak", 2, "placement", "no topology level", "`rack`?"),
        ("run: x\nplacement: {requird: rack}", 2, "placement.requird", "unknown", "`required`?"),
        ("run: x\npreemptible: {sig: TERM}", 2, "preemptible.sig", "unknown", "`signal`?"),
        ("run: x\npreemptible: {signal: KILL}", 2, "preemptible.signal", "SIGKILL", "SIGTERM"),
        (
            "run: x\npreemptible: {grace: 1m}\ncheckpoint: {grace: 2m}",
            2,
            "preemptible.grace",
            "same as `checkpoint.grace`",
            "keep one",
        ),
        ("run: x\nretry: {on: [explosion]}", 2, "retry.on[0]", "not known", "node_failure"),
        ("run: x\nretry: {limit: -1}", 2, "retry.limit", "cannot be negative", ""),
        ("run: x\nconstraints: {isolation: all}", 2, "constraints.isolation", "not known", "none"),
        ("run: x\nafter: [Not A Name]", 2, "after[0]", "usable name", ""),
        (
            "run: x\nnodes: 4\ngroups: [{size: 3, level: rack}]",
            3,
            "groups[0].size",
            "do not divide `nodes` of 4",
            "",
        ),
        (
            "run: x\nnodes: 2..4\ngroups: [{size: 4, level: rack}]",
            3,
            "groups[0].size",
            "do not divide `nodes` of 2",
            "",
        ),
        (
            "run: x\nnodes: 4\ngroups: [{size: 4, level: rack}, {size: 3, level: node}]",
            3,
            "groups[1].size",
            "enclosing group",
            "",
        ),
        (
            "run: x\nnodes: 4\ngroups: [{size: 4, level: rack}, {size: 2, level: zone}]",
            3,
            "groups[1].level",
            "is wider than the rack",
            "",
        ),
        ("run: x\nnodes: 4\ngroups: [{size: 2}]", 3, "groups[0]", "needs a level", ""),
        ("run: x\npod_sets: [{name: a}, {name: a}]", 2, "pod_sets[1].name", "two pod sets", ""),
        ("run: x\nnodes: 3\npod_sets: [{name: a}]", 2, "nodes", "beside `pod_sets`", "move"),
        ("run: x\npod_sets: [{nodes: 2}]", 2, "pod_sets[0]", "`name` is missing", ""),
        ("run: x\npod_sets: []", 2, "pod_sets", "at least one", ""),
        (
            "run: x\npod_sets:\n- name: a\n  gpus: H100:x",
            4,
            "pod_sets[0].gpus",
            "names two models",
            "",
        ),
        (
            "run: x\npod_sets: [{name: a, nodes: 60000}, {name: b, nodes: 60000}]",
            2,
            "pod_sets",
            "together more than",
            "",
        ),
        ("run: x\nmemory: 1Gi\nshm_size: 2Gi", 3, "shm_size", "more than `memory`", ""),
        ("run: x\nsetup: [[a]]", 2, "setup[0]", "expected text", ""),
    ],
)
def test_an_error_names_file_line_key_and_what_to_do(
    text: str, line: int, key: str, problem: str, hint: str
) -> None:
    with pytest.raises(FieldError, match=problem) as caught:
        parse_workloads(text, "job.yaml")
    error = caught.value
    assert (error.file, error.line, error.key) == ("job.yaml", line, key)
    assert hint in error.hint
    assert "pydantic" not in f"{error.message} {error.hint}"


def test_all_problems_of_a_file_are_told_at_once_from_the_top() -> None:
    text = (
        "run: x\nnodes: 0\nrsources:\n  gpus: 1\nresources: {gpus: 1, memry: 3}\ntime_limit: soon"
    )
    with pytest.raises(FieldError, match="nodes: `0` is too small") as caught:
        parse(text)
    found = [(each.line, each.column, each.key) for each in caught.value.errors]
    assert found == [
        (2, 1, "nodes"),
        (3, 1, "rsources"),
        (5, 22, "resources.memry"),
        (6, 1, "time_limit"),
    ]
    assert all(each.hint or each.problem for each in caught.value.errors)


def test_a_misspelt_key_is_not_missing_too() -> None:
    with pytest.raises(FieldError, match="unknown key `rnu`") as caught:
        parse("name: x\nrnu: python x.py")
    assert caught.value.others == ()


def test_a_key_that_no_unknown_one_looks_like_is_missing_too() -> None:
    text = "zebra: 1\npod_sets:\n- {nmae: a}\n- {zebra: 2}"
    with pytest.raises(FieldError) as caught:
        parse(text)
    assert [(each.line, each.key, each.problem) for each in caught.value.errors] == [
        (1, "zebra", "unknown key `zebra`"),
        (1, "", "the key `run` is missing"),
        (3, "pod_sets[0].nmae", "unknown key `nmae`"),
        (4, "pod_sets[1]", "the key `name` is missing"),
        (4, "pod_sets[1].zebra", "unknown key `zebra`"),
    ]


def test_problems_of_short_forms_are_told_with_all_others() -> None:
    text = (
        "run: x\nparams: 5-1\npreemptible: {grcae: 2m, signl: TERM}\n"
        "setup: [[a], {b: c}, ok]\ntime_limit: soon\nzebra: 1"
    )
    with pytest.raises(FieldError) as caught:
        parse(text)
    assert [(each.line, each.column, each.key) for each in caught.value.errors] == [
        (2, 1, "params"),
        (3, 15, "preemptible.grcae"),
        (3, 26, "preemptible.signl"),
        (4, 9, "setup[0]"),
        (4, 14, "setup[1]"),
        (5, 1, "time_limit"),
        (6, 1, "zebra"),
    ]


def test_a_key_in_a_merged_alias_is_named_by_the_entry_that_used_it() -> None:
    with pytest.raises(FieldError, match="too small") as caught:
        parse("run: x\nlabels: &l {a: b}\npod_sets:\n- name: a\n  <<: &r {nodes: 0}\n")
    assert caught.value.line == 4


def test_a_retry_limit_counts_own_failures_unless_causes_are_given() -> None:
    assert workload("run: x\nretry: 3").retry.on[0] == "failure"
    assert workload("run: x").retry == Retry()
    assert workload("run: x\nretry: {limit: 2, on: []}").retry == Retry(2, ())


def test_shared_memory_without_memory_is_reserved_too() -> None:
    (pods,) = workload("run: x\nshm_size: 1Gi").pod_sets
    assert (pods.shm_mib, pods.request.memory_mib) == (1024, 1024)


def test_pod_sets_of_several_sorts_make_one_gang() -> None:
    found = workload(
        "run: x\nplacement: prefer_block\npod_sets:\n"
        "- {name: actor, nodes: 4, gpus: H100:8, placement: rack}\n"
        "- {name: env, nodes: 1..8, cpus: 16, procs_per_node: 4}\n"
    )
    actor, env = found.pod_sets
    assert (actor.name, actor.count, actor.least) == ("actor", 4, 4)
    assert actor.topology == Topology(required=Level.RACK)
    assert (env.count, env.least, env.procs, env.request.cpu_milli) == (8, 1, 4, 16_000)
    assert found.topology == Topology(preferred=Level.BLOCK)


def test_bare_names_and_secrets_are_references_and_no_part_of_the_workload() -> None:
    doc = parse("run: x\nenv: {HF_TOKEN: , EPOCHS: 3, DEBUG: true}\nsecrets: [WANDB, A=b]")
    assert references(doc) == {"HF_TOKEN": None, "WANDB": None, "A": "b"}
    run = to_workload(doc, user="ada", default_queue="default").run
    assert run.env == {"EPOCHS": "3", "DEBUG": "true"}
    assert run.secrets == ("HF_TOKEN", "WANDB", "A")


def test_a_variable_is_a_secret_or_a_plain_one_and_never_what_stands_for_a_hidden_one() -> None:
    with pytest.raises(FieldError, match="`A` is in `env` as well"):
        workload("run: x\nenv: [A=1]\nsecrets: [A]")
    with pytest.raises(FieldError, match="`A` was not shown where it was copied from"):
        workload("run: x\nenv: [A=<redacted>]")


def test_no_message_about_secrets_shows_a_value() -> None:
    with pytest.raises(FieldError) as caught:
        parse("run: x\nsecrets: {HF_TOKEN: [hf_canary]}")
    assert "canary" not in f"{caught.value.message} {caught.value.hint}"
    assert caught.value.key == "secrets.HF_TOKEN"


@pytest.mark.parametrize(
    ("file", "text", "name"),
    [
        ("dir/Train_7B.yaml", "run: x", "train-7b"),
        ("a.yaml", "run: x\nname: given", "given"),
        ("", "run: python -u src/finetune.py --lr 3", "finetune"),
        ("", "run: torchrun --nproc-per-node=8 train.py", "train"),
        ("", "run: [bash, -c, ls]", "ls"),
        ("", "run: [sh, -c, 'python -u eval.py > /dev/null; exit 3']", "eval"),
        ("", "run: python3.11 eval.py", "eval"),
        ("", "run: '\"'", "batch"),
    ],
)
def test_a_workload_without_name_is_called_after_file_or_command(
    file: str, text: str, name: str
) -> None:
    (doc,) = parse_workloads(text, file)
    assert doc.name == name


def test_a_file_may_hold_several_workloads(tmp_path: Path) -> None:
    path = tmp_path / "jobs.yaml"
    path.write_text("name: a\nrun: x\n---\nname: b\nrun: y\n")
    assert [doc.name for doc in load_workloads(path)] == ["a", "b"]


def test_an_error_in_a_later_document_has_its_line_in_the_file() -> None:
    with pytest.raises(FieldError) as caught:
        parse_workloads("run: x\n---\nrun: y\nnodes: 0\n", "f")
    assert caught.value.line == 4


def test_a_body_that_is_no_mapping_is_refused() -> None:
    with pytest.raises(FieldError, match="a mapping of keys"):
        from_document([1])


def test_flags_override_the_file_and_merge_the_environment() -> None:
    doc = parse("run: x\ngpus: H100:8\nenv: [A=1, B=2]\nnodes: 4")
    changed = apply_overrides(
        doc, {"nodes": "2", "cpus": 4, "env": ["B=3", "C"], "time": "2h", "name": None}
    )
    assert document(changed) == {
        "name": "job",
        "run": "x",
        "resources": {"gpus": "H100:8", "cpus": 4},
        "env": {"A": "1", "B": "3", "C": None},
        "nodes": 2,
        "time_limit": "2h",
    }
    assert apply_overrides(doc, {"name": None}) is doc


def test_a_wrong_flag_is_named_as_it_was_given() -> None:
    doc = parse("run: x")
    with pytest.raises(FieldError) as caught:
        apply_overrides(doc, {"gpus": "H100:x"})
    assert caught.value.key == "gpus"
    with pytest.raises(FieldError, match="variable") as caught:
        apply_overrides(doc, {"env": ["A-B=1"]})
    assert caught.value.key == "env"
    with pytest.raises(FieldError, match="beside `pod_sets`"):
        apply_overrides(parse("run: x\npod_sets: [{name: a}]"), {"gpus": 1})


def test_a_command_makes_a_workload() -> None:
    doc = from_command(["python", "train.py", "--x=a b"], {"gpus": 1})
    assert document(doc) == {
        "name": "train",
        "run": ["python", "train.py", "--x=a b"],
        "resources": {"gpus": 1},
    }
    assert document(from_command(["sleep 3 && ls"])) == {"name": "sleep", "run": "sleep 3 && ls"}
    assert document(from_command(["ls"]))["run"] == ["ls"]


@pytest.mark.parametrize("argv", [[], [""], [" "]])
def test_no_command_is_an_error(argv: list[str]) -> None:
    with pytest.raises(FieldError) as caught:
        from_command(argv)
    assert caught.value.key == "run"


text = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=12)
name = st.from_regex(r"[a-z0-9]([a-z0-9-]{0,20}[a-z0-9])?", fullmatch=True)
words = text.filter(str.strip)
variable = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,8}", fullmatch=True)
duration = st.integers(1, 10**9).map(lambda seconds: f"{seconds}s")
count = st.integers(1, 1000)
gpus = st.sampled_from([0, 8, "H100:8", "A100:80GB:4", "0.5", {"memory": "10GB"}, "T4,L4:24GB..:2"])
resources = st.fixed_dictionaries(
    {},
    optional={
        "gpus": gpus,
        "cpus": st.integers(0, 10**6).map(lambda milli: f"{milli}m"),
        "memory": st.integers(1 << 10, 1 << 20).map(lambda mib: f"{mib}Mi"),
        "shm_size": st.just("512Mi"),
        "together": st.sampled_from(["numa", "island"]),
    },
)
placement = st.sampled_from(
    ["any", "rack", "prefer_rack", {"required": "block", "prefer": "rack", "spread": "node"}]
)
nodes = count | st.tuples(count, count).map(lambda ends: f"{min(ends)}..{max(ends)}")
groups = st.sampled_from([{"size": 1, "level": "rack"}, [{"size": 1, "prefer": "block"}]])
shape = st.fixed_dictionaries(
    {}, optional={"nodes": nodes, "procs_per_node": count, "resources": resources, "groups": groups}
)
sets = st.lists(
    st.tuples(name, shape, placement).map(
        lambda parts: {"name": parts[0], **parts[1], "placement": parts[2]}
    ),
    min_size=1,
    max_size=3,
    unique_by=lambda pods: str(pods["name"]),
)
common = st.fixed_dictionaries(
    {"run": words | st.lists(words, min_size=1, max_size=3)},
    optional={
        "name": name,
        "queue": name,
        "priority": st.integers(0, 100) | st.sampled_from(["low", "urgent"]),
        "setup": text,
        "workdir": text,
        "image": text,
        "env": st.dictionaries(variable, st.none() | text | st.integers() | st.booleans()),
        "placement": placement,
        "time_limit": duration,
        "preemptible": st.booleans() | st.just({"grace": "2m", "signal": "USR1"}),
        "retry": count
        | st.fixed_dictionaries(
            {},
            optional={
                "limit": count,
                "on": st.lists(st.sampled_from(["failure", "preemption"])),
                "backoff": duration,
                "limits": st.dictionaries(st.sampled_from(["failure", "oom"]), st.integers(0, 9)),
                "replace": st.booleans(),
            },
        ),
        "singleton": st.booleans(),
        "constraints": st.fixed_dictionaries(
            {},
            optional={
                "labels": st.dictionaries(name, text | st.lists(text, min_size=1, max_size=2)),
                "avoid": st.dictionaries(name, text),
                "residency": st.lists(name),
                "isolation": st.sampled_from(["none", "kind", "queue", "workload"]),
            },
        ),
        "after": st.lists(name, max_size=2),
        "hold": st.booleans(),
        "labels": st.dictionaries(name, text),
    },
)
pace = st.sampled_from(["any", "4/15s", "50%/1m", "4 or 100%/15s"])
zone = st.sampled_from(["UTC", "Europe/Berlin"])
targets = st.fixed_dictionaries(
    {"requests": st.integers(1, 99)},
    optional={"kv_cache": st.sampled_from(["80%", 0.855]), "ttft": duration, "tokens": count},
)
scale = st.fixed_dictionaries(
    {"targets": targets},
    optional={
        "source": st.sampled_from(["router", "metrics", "http://prometheus:9090/"]),
        "panic": st.sampled_from([2, 1.5, "200%"]),
        "up": pace,
        "down": pace,
        "hold_down": duration,
        "hints": st.lists(
            st.fixed_dictionaries(
                {"cron": st.just("0 8 * * *"), "lasts": duration, "replicas": st.integers(1, 8)},
                optional={"zone": zone},
            ),
            max_size=2,
        ),
        "standby": st.just(2) | st.fixed_dictionaries({"replicas": st.integers(1, 8)}),
        "affinity": text,
    },
)
idle = st.fixed_dictionaries(
    {},
    optional={
        "warn": duration,
        "gpu": st.sampled_from(["1%", "0.5%"]),
        "traffic": st.integers(0, 9_999),
        "hours": st.sampled_from(
            ["08:00-20:00", "mon,wed 9:30-17:00 Europe/Berlin", "sat-mon 0:00-24:00"]
        ),
        "save": text,
    },
)
early_stop = st.just("loss") | st.fixed_dictionaries(
    {"metric": text},
    optional={"goal": st.sampled_from(["min", "maximize"]), "factor": st.integers(2, 9)},
)
kinds = st.one_of(
    st.just({}),
    st.fixed_dictionaries({"replicas": count}, optional={"port": st.integers(1, 65_535)}),
    st.fixed_dictionaries({"idle_timeout": duration}, optional={"idle": idle}),
    st.fixed_dictionaries({"replicas": st.just("1..8"), "scale": scale}),
    st.fixed_dictionaries(
        {"trials": st.lists(st.fixed_dictionaries({"a": text, "b": text}), min_size=1, max_size=3)},
        optional={"parallel": st.sampled_from([2, "2..9"]), "early_stop": early_stop},
    ),
    st.fixed_dictionaries(
        {
            "params": st.dictionaries(
                variable, st.lists(text, min_size=1, unique=True, max_size=3), max_size=3
            )
        },
        optional={"parallel": count},
    ).filter(lambda found: bool(found["params"])),
)


def _consistent(document: dict[str, object]) -> dict[str, object]:
    """Of a range of trials some may be stopped by others."""
    if document.get("parallel") == "2..9":
        document.pop("preemptible", None)
    return document


documents: st.SearchStrategy[dict[str, object]] = st.tuples(
    common, kinds, shape | sets.map(lambda pods: {"pod_sets": pods})
).map(lambda parts: _consistent({**parts[0], **parts[1], **parts[2]}))


@given(documents)
def test_what_is_printed_parses_back_to_the_same_file_and_workload(data: dict[str, object]) -> None:
    doc = from_document(data)
    again = from_document(document(doc))
    assert again == doc
    assert document(again) == document(doc)

    def build(each: WorkloadFile) -> Workload:
        return to_workload(each, user="ada", default_queue="default")

    assert build(again) == build(doc)


@given(documents, st.randoms(use_true_random=False))
def test_the_order_of_keys_means_nothing(data: dict[str, object], chance: random.Random) -> None:
    keys = list(data)
    chance.shuffle(keys)
    assert from_document({key: data[key] for key in keys}) == from_document(data)


KEYS = [*WorkloadFile.model_fields, "gpus", "num_nodes", "array", "zzz", "command", "checkpoint"]
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6) | words,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["size", "limit", "gpus", "name", "x", "1", ""]), inner)
    ),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=6), anything, max_size=5))
def test_any_json_is_a_workload_or_an_input_error(data: dict[str, object]) -> None:
    try:
        doc = from_document({"run": "x", **data})
    except InputError as error:
        assert error.message.isprintable()
        assert error.hint.isprintable()
    else:
        assert from_document(document(doc)) == doc


@given(st.binary(max_size=80), st.sampled_from([b"", b"run: x\n", b"#!/bin/sh\n", b"#SBATCH "]))
def test_any_bytes_are_workloads_or_an_input_error(raw: bytes, start: bytes) -> None:
    try:
        found = parse_any(start + raw, "f")
    except InputError as error:
        assert error.message.isprintable()
    else:
        assert all(doc.name for doc in found)


@pytest.mark.parametrize(
    "make",
    [
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(b"\x7fELF\0\0"),
        lambda path: path.write_bytes(b"a" * 10_000_000),
        lambda path: path.mkdir(),
        lambda path: None,
    ],
)
def test_what_a_new_user_gets_wrong_about_files_is_told(
    make: Callable[[Path], object], tmp_path: Path
) -> None:
    path = tmp_path / "job.yaml"
    make(path)
    with pytest.raises(FileError) as caught:
        load_workloads(path)
    assert "job.yaml" in caught.value.message
    assert caught.value.exit_code == 2


def test_a_credential_in_env_is_kept_as_a_secret_is() -> None:
    doc = parse("run: x\nenv: {HF_TOKEN: hf_canary, EPOCHS: 3, RUN_KEY: 'r{seed}'}")
    assert references(doc) == {"HF_TOKEN": "hf_canary"}
    run = to_workload(doc, user="ada", default_queue="red").run
    assert run.secrets == ("HF_TOKEN",)
    assert run.env == {"EPOCHS": "3", "RUN_KEY": "r{seed}"}
