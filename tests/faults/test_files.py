"""Folders are removed as far as they can be, and never what a link leads to."""

import os
from pathlib import Path
from typing import Any

import pytest

from ganglion.seams.files import SYSTEM_FILES


def grown(root: Path) -> Path:
    """A folder with files at two levels."""
    for name in ("a", "b", "c", "deep/a", "deep/b"):
        path = root / "tree" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    return root / "tree"


def test_what_links_lead_to_is_kept_and_what_is_gone_is_no_refusal(tmp_path: Path) -> None:
    tree, kept = grown(tmp_path), tmp_path / "kept"
    kept.mkdir()
    (kept / "x").write_text("x")
    (tree / "link").symlink_to(kept)
    (tree / "deep" / "link").symlink_to(kept / "x")
    SYSTEM_FILES.remove_tree(tree)
    assert not tree.exists()
    assert (kept / "x").read_text() == "x"
    SYSTEM_FILES.remove_tree(tree)
    tree.symlink_to(kept)
    with pytest.raises(OSError, match="symbolic link"):
        SYSTEM_FILES.remove_tree(tree)
    assert (kept / "x").exists()


def test_the_first_refusal_is_raised_after_all_else_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree, unlink = grown(tmp_path), os.unlink

    def refuse(path: Any, **given: Any) -> None:
        if os.fspath(path).endswith("b"):
            raise PermissionError(13, "Permission denied", path)
        unlink(path, **given)

    monkeypatch.setattr(os, "unlink", refuse)
    with pytest.raises(PermissionError):
        SYSTEM_FILES.remove_tree(tree)
    left = sorted(str(each.relative_to(tree)) for each in tree.rglob("*"))
    assert left == ["b", "deep", "deep/b"]


def test_a_scratch_folder_is_empty_and_for_its_owner_only() -> None:
    made = [Path(SYSTEM_FILES.scratch()) for _ in range(2)]
    assert made[0] != made[1]
    for folder in made:
        assert folder.stat().st_mode & 0o777 == 0o700
        SYSTEM_FILES.rmdir(folder)
        assert not folder.exists()
