"""Attempts of other accounts: limits, devices, environment and folders."""

import errno
import os
import pwd
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.worlds.local.jobs import Jobs

from ganglion.model.errors import EnvironmentFault, InputError
from ganglion.model.placement import Placement, PodPlacement
from ganglion.model.resources import PodRequest
from ganglion.model.workload import Checkpoint, Gang, PodSet, ResolvedModel, UnixAccount, Workload
from ganglion.seams import acl
from ganglion.seams.files import SYSTEM_FILES
from ganglion.server.rest.listening.home import close_to_others
from ganglion.worlds.local.attempts.helping import login_of, order_of, share
from ganglion.worlds.local.attempts.launch import prepare
from ganglion.worlds.local.machine.gpus import device_file
from ganglion.worlds.local.ranks.env import Gpu
from ganglion.worlds.local.run_files import records
from ganglion.worlds.local.supervision.children import HELPER

OTHER = next(each for each in pwd.getpwall() if each.pw_uid not in (0, os.geteuid()))
ACCOUNT = UnixAccount(OTHER.pw_name, OTHER.pw_uid)
REAL = {"n": (Gpu(0, "GPU-a"), Gpu(1, "GPU-b"), Gpu(2, "MIG-c"))}
PODS = PodSet(count=2, request=PodRequest(cpu_milli=1500, memory_mib=512))


def order(gang: Gang, devices: tuple[int, ...], gpus: dict[str, tuple[Gpu, ...]]) -> object:
    pods = Placement((PodPlacement("main", 0, "n", devices),))
    return order_of("/s", "job-1.0.1", gang, pods, ACCOUNT, gpus=gpus, open_files=9)


def gang(pods: PodSet = PODS, **more: object) -> Gang:
    return Gang("job-1/0", "job-1", "default", pod_sets=(pods,), **more)  # type: ignore[arg-type]


def test_the_limits_are_what_all_pods_ask_for_together() -> None:
    assert order(gang(), (), {"n": ()}) == {
        "socket": "/s",
        "attempt": "job-1.0.1",
        "uid": ACCOUNT.uid,
        "limits": {"memory_bytes": 1 << 30, "cpu_milli": 3000, "open_files": 9},
        "devices": None,
        "folders": [],
    }


def test_a_pod_without_a_request_is_not_limited() -> None:
    made = gang(replace(PODS, request=PodRequest(cpu_milli=1000)))
    found = order(made, (), {"n": ()})
    assert isinstance(found, dict)
    assert found["limits"] == {"memory_bytes": 0, "cpu_milli": 2000, "open_files": 9}


@pytest.mark.parametrize(
    ("made", "devices", "gpus", "fenced"),
    [
        (gang(), (1,), REAL, ["/dev/nvidia1"]),
        (gang(), (), REAL, []),
        (gang(), (0,), {"n": (Gpu(0), Gpu(1))}, None),  # pretended ones
        (gang(), (2,), REAL, None),  # a part of one
        (gang(replace(PODS, min_count=1)), (0,), REAL, None),  # may get others as it runs
        (gang(replace=True), (0,), REAL, None),
    ],
)
def test_a_gang_is_fenced_to_the_gpus_that_it_keeps(
    made: Gang, devices: tuple[int, ...], gpus: dict[str, tuple[Gpu, ...]], fenced: object
) -> None:
    found = order(made, devices, gpus)
    assert isinstance(found, dict)
    assert found["devices"] == fenced


def test_a_gpu_is_used_by_the_number_that_its_driver_gave_it(tmp_path: Path) -> None:
    for address, minor in (("0000:01:00.0", 3), ("0000:02:00.0", 0)):
        folder = tmp_path / "driver" / "nvidia" / "gpus" / address
        folder.mkdir(parents=True)
        (folder / "information").write_text(f"Model: X\nDevice Minor: \t {minor}\n")
    assert [device_file(index, tmp_path) for index in range(3)] == [
        *("/dev/nvidia3", "/dev/nvidia0", "/dev/nvidia2"),
    ]


def test_an_account_that_is_another_ones_by_now_runs_nothing() -> None:
    assert login_of(ACCOUNT).home == OTHER.pw_dir
    for account in (UnixAccount(ACCOUNT.name, ACCOUNT.uid + 1), UnixAccount("no-such", 1)):
        with pytest.raises(InputError, match="is gone"):
            login_of(account)


def test_an_attempt_of_an_account_gets_its_home_and_nothing_of_the_servers(
    jobs: Jobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = jobs.start_of("true")
    mine = replace(jobs.workloads[start.gang.workload], account=ACCOUNT)
    mine = replace(mine, run=replace(mine.run, workdir="~/x"))
    ground = replace(
        jobs.world._ground, inherited={"OWNERS": "secret", "LANG": "C"}, run_of=lambda *_: mine.run
    )
    spec = prepare(ground, start, mine, set())
    assert (spec["env"]["HOME"], spec["env"]["LANG"]) == (OTHER.pw_dir, "C")
    assert "OWNERS" not in spec["env"]
    (pod,) = spec["pods"]
    assert pod["workdir"] == f"{OTHER.pw_dir}/x"
    assert spec[HELPER]["uid"] == ACCOUNT.uid
    env = pod["ranks"][0]["env"]
    assert env["GANGLION_RUN_DIR"] == spec[records.EXCHANGE]
    for folder in (spec[records.EXCHANGE], spec["checkpoint_dir"]):
        assert acl.users_of(folder) == {ACCOUNT.uid: acl.ALL}
    run = Path(spec[records.EXCHANGE]).parent
    assert acl.users_of(run) == {ACCOUNT.uid: acl.PASS}


def test_programs_learn_where_their_model_lies_for_their_account(jobs: Jobs) -> None:
    start, kept = jobs.start_of("true"), ["/cache/chat"]
    start = replace(start, gang=replace(start.gang, model=ResolvedModel("m", "hf://a/b@0")))
    own = jobs.workloads[start.gang.workload]
    asked: list[tuple[str, int | None]] = []

    def path_of(model: ResolvedModel, uid: int | None) -> str:
        asked.append((model.uri, uid))
        return kept[-1]

    def learnt(workload: Workload) -> str | None:
        ground = replace(jobs.world._ground, model_path=path_of)
        (pod,) = prepare(ground, start, workload, set())["pods"]
        return pod["ranks"][0]["env"].get("GANGLION_MODEL_PATH")

    assert [learnt(own), learnt(replace(own, account=ACCOUNT))] == ["/cache/chat"] * 2
    assert asked == [("hf://a/b@0", None), ("hf://a/b@0", ACCOUNT.uid)]
    kept.append("")
    assert learnt(own) is None


def test_what_a_user_calls_its_own_folder_is_not_made_by_the_server(jobs: Jobs) -> None:
    start = jobs.start_of("true", checkpoint=Checkpoint(path="~/saved"))
    mine = replace(jobs.workloads[start.gang.workload], account=ACCOUNT)
    spec = prepare(jobs.world._ground, start, mine, set())
    assert spec[HELPER]["folders"] == [f"{OTHER.pw_dir}/saved"]
    assert not Path(OTHER.pw_dir, "saved").exists()


def test_a_home_that_is_shared_keeps_the_entries_of_accounts_and_no_other_right(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"
    folder = home / "runs" / "a"
    folder.mkdir(parents=True)
    (home / "token").write_text("x")
    (home / "token").chmod(0o644)
    share(home, folder, ACCOUNT.uid)
    home.chmod(home.stat().st_mode | 0o005)
    close_to_others(SYSTEM_FILES, home, shared=True)
    assert acl.users_of(folder) == {ACCOUNT.uid: acl.ALL}
    assert [oct(each.stat().st_mode & 0o777) for each in (home, folder, home / "token")] == [
        *("0o710", "0o770", "0o600"),
    ]
    close_to_others(SYSTEM_FILES, home)  # of one person
    assert [oct(each.stat().st_mode & 0o777) for each in (home, home / "token")] == [
        *("0o700", "0o600"),
    ]


def test_what_is_written_into_a_shared_home_is_for_its_owner_alone(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / "runs" / "a").mkdir(parents=True)
    share(home, home / "runs" / "a", ACCOUNT.uid)
    before = os.umask(0)
    try:
        (home / "notify.yaml").write_text("password: x")
        (home / "folder").mkdir()
        (home / "folder" / "file").write_text("x")
        (home / "runs" / "a" / "theirs").write_text("x")
    finally:
        os.umask(before)
    found = ("notify.yaml", "folder", "folder/file", "runs/a/theirs")
    assert [oct((home / each).stat().st_mode & 0o777) for each in found] == [
        *("0o600", "0o700", "0o600", "0o660"),
    ]
    assert acl.users_of(home / "runs" / "a" / "theirs")[ACCOUNT.uid] == acl.ALL


def test_a_file_system_without_such_lists_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuses(*_args: object, **_more: object) -> None:
        raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))

    monkeypatch.setattr(os, "setxattr", refuses)
    with pytest.raises(EnvironmentFault, match="cannot use") as refused:
        share(tmp_path, tmp_path / "runs", ACCOUNT.uid)
    assert "ext4" in refused.value.hint
