from pathlib import Path

from ganglion.worlds.local.machine.host import memory_kills as kills


def put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_the_count_of_the_own_group_comes_first(tmp_path: Path) -> None:
    put(tmp_path / "proc/self/cgroup", "0::/user/me\n")
    put(tmp_path / "sys/fs/cgroup/user/me/memory.events", "low 0\noom 3\noom_kill 2\n")
    put(tmp_path / "proc/vmstat", "oom_kill 77\n")
    assert kills(tmp_path) == 2


def test_else_that_of_the_machine_counts(tmp_path: Path) -> None:
    put(tmp_path / "proc/vmstat", "nr_free_pages 1\noom_kill 77\n")
    assert kills(tmp_path) == 77


def test_where_the_kernel_does_not_tell_nothing_was_killed(tmp_path: Path) -> None:
    assert kills(tmp_path) == 0
    put(tmp_path / "proc/vmstat", "oom_kill many\n")
    assert kills(tmp_path) == 0
