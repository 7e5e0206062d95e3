import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ganglion.compat.sbatch import is_script, read_script
from ganglion.compat.slurm_options import FLAGS, KNOWN, SHORT
from ganglion.compat.workloads import parse_any
from ganglion.lifecycle.expand import gang_count, run_of
from ganglion.model.errors import FieldError, FileError, InputError
from ganglion.model.workload import Kind
from ganglion.specs.workload.workload import WorkloadFile, document, to_workload

SRUN = "srun python train.py\n"
SCRIPT = "#!/bin/bash\n{}\n\n{}"


def script(headers: str, body: str = SRUN) -> WorkloadFile:
    lines = "\n".join(f"#SBATCH {line}" for line in headers.splitlines())
    (doc,) = parse_any(SCRIPT.format(lines, body), "train.sh")
    return doc


def shape(doc: WorkloadFile) -> dict[str, object]:
    return {key: value for key, value in document(doc).items() if key not in ("run", "env", "name")}


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ("", {}),
        ("-N 2 --ntasks-per-node=8", {"nodes": 2, "procs_per_node": 8, "resources": {"cpus": 8}}),
        ("--nodes 2-4", {"nodes": "2..4"}),
        ("-N2\n-n16 -c 4", {"nodes": 2, "procs_per_node": 8, "resources": {"cpus": 32}}),
        ("-n 16 --ntasks-per-node 8", {"nodes": 2, "procs_per_node": 8, "resources": {"cpus": 8}}),
        ("-n 4 --gpus-per-task=a100:1", {"nodes": 4, "resources": {"gpus": "A100:1"}}),
        ("--gres=gpu:h100:8", {"resources": {"gpus": "H100:8"}}),
        ("--gres=gpu:2", {"resources": {"gpus": 2}}),
        ("--gres gpu", {"resources": {"gpus": 1}}),
        ("--gpus-per-node=4", {"resources": {"gpus": 4}}),
        ("-N 2 -G 16", {"nodes": 2, "resources": {"gpus": 8}}),
        ("-N 2 -G h100:16", {"nodes": 2, "resources": {"gpus": "H100:8"}}),
        ("--gpus-per-node=4 --ntasks-per-gpu=2", {"procs_per_node": 8, "resources": {"gpus": 4}}),
        ("--gpus-per-node=4 --cpus-per-gpu=12", {"resources": {"gpus": 4, "cpus": 48}}),
        ("--gpus-per-node=4 --mem-per-gpu=64G", {"resources": {"gpus": 4, "memory": "256GiB"}}),
        ("-c 8 --mem-per-cpu=2G", {"resources": {"cpus": 8, "memory": "16GiB"}}),
        ("--mem=500G", {"resources": {"memory": "500GiB"}}),
        ("--mem=4000", {"resources": {"memory": "4000MiB"}}),
        ("-t 90", {"time_limit": "1h30m"}),
        ("--time=1-12:00:00", {"time_limit": "1d12h"}),
        ("-t UNLIMITED", {}),
        ("-A research", {"queue": "research"}),
        ("--qos=high", {"priority": "high"}),
        ("-H", {"hold": True}),
        ("-d afterok:prep:data", {"after": ["prep", "data"]}),
        ("-d afterok:a,afterany:b:c+5", {"after": ["a", "any:b", "any:c"]}),
        ("--dependency=singleton", {"singleton": True}),
        ("-D /scratch/ada", {"workdir": "/scratch/ada"}),
        ("--container-image=nvcr.io#nvidia/pytorch", {"image": "nvcr.io#nvidia/pytorch"}),
        ("--signal=B:USR1@120", {"checkpoint": {"signal": "SIGUSR1", "grace": "2m"}}),
        ("--signal=TERM", {"checkpoint": {"signal": "SIGTERM", "grace": "1m"}}),
        ("--no-requeue", {"retry": {"limit": 0, "on": []}}),
        ("--exclusive", {"constraints": {"isolation": "workload"}}),
        ("--switches=1@10", {"placement": "prefer_rack"}),
        ("-N 8 --segment=4", {"nodes": 8, "groups": [{"size": 4, "required": "block"}]}),
        ("--comment='for ada'", {"labels": {"comment": "for ada"}}),
        ("-N 2 # two\n#-N 4", {"nodes": 2}),
        ("--requeue --open-mode=append", {}),
        ("-N 2\n-N 3", {"nodes": 3}),
    ],
)
def test_headers_become_keys(headers: str, expected: dict[str, object]) -> None:
    doc = script(headers)
    assert shape(doc) == expected
    assert doc.warnings == ()


def test_an_array_is_a_sweep_whose_tasks_know_their_number() -> None:
    doc = script("--array=1,3,5-9:2%2")
    workload = to_workload(doc, user="ada", default_queue="default")
    assert workload.kind is Kind.SWEEP
    assert workload.params == {"array_task_id": ("1", "3", "5", "7", "9")}
    assert (workload.parallel, gang_count(workload)) == (2, 5)
    env = run_of(workload, 4).env
    assert env["SLURM_ARRAY_TASK_ID"] == "9"
    assert (env["SLURM_ARRAY_TASK_MIN"], env["SLURM_ARRAY_TASK_MAX"]) == ("1", "9")
    assert env["SLURM_ARRAY_TASK_COUNT"] == "5"


def test_variables_are_exported_and_slurms_own_asked_for() -> None:
    doc = script("--export=NONE,HF_TOKEN,EPOCHS=3")
    assert doc.env == {"GANGLION_SLURM_ENV": "1", "HF_TOKEN": None, "EPOCHS": "3"}


@pytest.mark.parametrize(
    ("headers", "warning"),
    [
        ("-o out-%j.log", "train.sh:2: --output is not honoured: output is kept per rank"),
        ("-p gpu", "--partition is not honoured: there are no partitions"),
        ("-w node[1-4]", "--nodelist is not honoured"),
        ("-C a100&nvlink", "--constraint is not honoured"),
        ("--mail-type=END", "--mail-type is not honoured: no mail"),
        ("--licenses=matlab:1", "--licenses is not honoured: it has no counterpart"),
        ("--partitoin=x", "--partitoin is not honoured: did you mean `partition`?"),
        ("--zzz q", "--zzz is not honoured: sbatch has no such option"),
        ("--mem=0", "--mem: ask for an amount"),
        ("--qos=platinum", "--qos is not honoured: priority classes are"),
        ("-J My_Train", "--job-name `My_Train` was changed to `my-train`"),
        ("-d aftercorr:prep", "only `afterok:NAME`, `afterany:NAME` and `singleton` are known"),
        ("--export=ALL", "your shell's variables are not copied"),
        ("--gres=gpu:2,shard:4", "only GPUs are known, not `shard:4`"),
        ("-N 2 -n 3", "every node gets the same number of tasks, 2 each"),
        ("--exclusive=user", "isolation: queue"),
        ("--switches=2", "only one switch"),
    ],
)
def test_what_is_not_honoured_is_never_dropped_in_silence(headers: str, warning: str) -> None:
    (found,) = script(headers).warnings
    assert warning in found


def test_without_srun_the_script_runs_once_per_node_and_says_so() -> None:
    doc = script("-N 2 --ntasks-per-node=8 -c 4", "torchrun train.py\n")
    assert shape(doc) == {"nodes": 2, "resources": {"cpus": 32}}
    assert "starts on each of the 2 nodes" in doc.warnings[0]


def test_mpirun_is_warned_about() -> None:
    assert "GANGLION_HOSTFILE" in script("", "mpirun ./a.out\n").warnings[0]


@pytest.mark.parametrize(
    ("headers", "line", "key", "problem"),
    [
        ("-N 2\n-t tomorrow", 3, "--time", "is not a time"),
        ("-N two", 2, "--nodes", "is not a number of nodes"),
        ("-N 0", 2, "--nodes", "too small"),
        ("-n -3", 2, "--ntasks", "cannot be negative"),
        ("--mem=lots", 2, "--mem", "not an amount of memory"),
        ("--gres=gpu:a:2,gpu:b:2", 2, "--gres", "several sorts"),
        ("-N 3 -G 8", 2, "--gpus", "do not divide by 3 nodes"),
        ("-a 5-1", 2, "--array", "backwards"),
        ("-a x", 2, "--array", "array tasks"),
        ("-a 0-9%0", 2, "--array", "too small"),
        ("--signal=@", 2, "--signal", "is not a signal"),
        ("--signal=KILL", 2, "checkpoint", "SIGKILL"),
        ("-Z 3", 2, "#SBATCH", "no option `-Z`"),
        ("-t", 2, "--time", "needs a value"),
        ("--comment='x", 2, "#SBATCH", "quotation"),
        ("oops", 2, "#SBATCH", "`oops` is not an option"),
        ("-A _", 2, "queue", "usable name"),
    ],
)
def test_a_wrong_header_names_its_line_and_option(
    headers: str, line: int, key: str, problem: str
) -> None:
    with pytest.raises(FieldError, match=problem) as caught:
        script(headers)
    error = caught.value
    assert (error.file, error.line) == ("train.sh", line)
    assert error.key.startswith(key) or error.key == key.replace("--time", "-t")


def test_all_problems_of_a_script_are_told_at_once_with_line_and_column() -> None:
    headers = (
        "-N two  --time=soon # don't\n\t--comment='a b' --mem lots -A _\noops\n"
        "-J fine -t\n-n -3 --signal=KILL\n-J a 'b"
    )
    with pytest.raises(FieldError) as caught:
        script(headers)
    found = [(each.line, each.column, each.key) for each in caught.value.errors]
    assert found == [
        (2, 9, "--nodes"),
        (2, 17, "--time"),
        (3, 26, "--mem"),
        (3, 37, "queue"),
        (4, 9, "#SBATCH"),
        (5, 17, "-t"),
        (6, 9, "--ntasks"),
        (6, 15, "checkpoint.signal"),
        (7, 14, "#SBATCH"),
    ]
    assert {each.file for each in caught.value.errors} == {"train.sh"}


def test_headers_end_at_the_first_command() -> None:
    assert shape(script("-N 2", "srun a\n#SBATCH -N 4\n")) == {"nodes": 2}


def test_a_script_that_is_too_long_to_carry_is_refused() -> None:
    with pytest.raises(FileError, match="longer than") as caught:
        read_script("#!/bin/sh\n" + "# x\n" * 50_000, "a.sh")
    assert "call the long one" in caught.value.hint


def test_line_ends_of_windows_are_refused() -> None:
    with pytest.raises(FileError, match="line ends of Windows"):
        read_script("#!/bin/sh\r\nls\r\n", "a.sh")


def test_scripts_are_told_from_yaml() -> None:
    assert is_script("#!/bin/sh\n")
    assert is_script("#SBATCH -N 2\n")
    assert not is_script("run: x\n# SBATCH\n")


def test_the_interpreter_of_the_script_runs_its_copy() -> None:
    (doc,) = parse_any("#!/usr/bin/env python3\n#SBATCH -N 2\nprint(1)\n", "a.py")
    assert doc.run[:3] == ("/usr/bin/env", "python3", "-c")
    (doc,) = parse_any("#SBATCH -N 2\nls\n", "")
    assert doc.run[:2] == ("/bin/bash", "-c")


def run(doc: WorkloadFile, **env: str) -> str:
    assert isinstance(doc.run, tuple)
    env = {"PATH": "/usr/bin:/bin", **env}
    done = subprocess.run(doc.run, env=env, capture_output=True, text=True, check=True, timeout=30)
    return done.stdout


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("srun echo hi", "hi\n"),
        ("srun -n 8 --label -c4 --mpi=pmix echo -n hi", "hi"),
        ("srun --ntasks 2 -N 1 --exclusive echo hi", "hi\n"),
        ("srun -- echo hi", "hi\n"),
        ("srun -n1 echo hi", ""),
        ("srun --ntasks=1 echo hi", ""),
        ("srun bash -c 'echo $0'", "bash\n"),
        ("echo $0; srun true", "train.sh\n"),
        ('scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1', "n1\n"),
        ("scontrol show hostnames | wc -l", "2\n"),
        ("set -eu; srun echo hi; srun -n 1 false; scontrol show hostnames | wc -l", "hi\n2\n"),
    ],
)
def test_srun_starts_its_command_in_place(command: str, output: str) -> None:
    found = run(script("-N 2", command + "\n"), RANK="1", SLURM_JOB_NODELIST="n1,n2")
    assert found.strip() == output.strip()


def test_srun_fails_as_its_command_does() -> None:
    doc = script("", "srun false || echo failed\n")
    assert run(doc) == "failed\n"


def test_a_script_is_loaded_from_its_file_and_called_after_it(tmp_path: Path) -> None:
    path = tmp_path / "Fine_Tune.sh"
    path.write_text("#!/bin/sh\n#SBATCH -N 2\nls\n")
    (doc,) = parse_any(path.read_bytes(), str(path))
    assert doc.name == "fine-tune"
    (doc,) = parse_any(path.read_bytes())
    assert doc.name == "script"


words = st.text(
    st.characters(codec="utf-8", exclude_characters="\0"), max_size=10
) | st.sampled_from(["2", "gpu:2", "0-9%2", "1:00", "8G", "ALL,A=1", "afterok:a", "1@2"])
option = st.one_of(
    st.tuples(st.sampled_from(sorted(KNOWN)), words).map("--{0[0]}={0[1]}".format),
    st.tuples(st.sampled_from(sorted(SHORT)), words).map("-{0[0]} {0[1]}".format),
    st.sampled_from(sorted(FLAGS)).map("--{}".format),
    words,
)


@given(st.lists(option, max_size=4), st.sampled_from([SRUN, "ls\n", ""]))
def test_any_header_is_a_workload_or_an_input_error(headers: list[str], body: str) -> None:
    try:
        doc = script("\n".join(headers), body)
    except InputError as error:
        assert error.message.isprintable()
    else:
        assert all(warning.isprintable() for warning in doc.warnings)
        to_workload(doc, user="ada", default_queue="x")
