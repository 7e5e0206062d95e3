"""A portal is served as it was built, or not at all, and the server says why."""

from pathlib import Path

import pytest

from ganglion.server.portal.files import PortalMissing, read_portal
from tests.server.portal.built import FILES, write_portal


def test_built_files_are_read(tmp_path: Path) -> None:
    found = read_portal(write_portal(tmp_path))
    assert found.build == "b1"
    assert {name: each.content for name, each in found.files.items()} == {
        f"/{name}": content for name, content in FILES.items()
    }


def test_what_the_manifest_does_not_list_is_not_served(tmp_path: Path) -> None:
    (write_portal(tmp_path) / "notes.txt").write_text("not built")
    assert "/notes.txt" not in read_portal(tmp_path).files


def test_a_portal_that_was_not_built_says_how(tmp_path: Path) -> None:
    with pytest.raises(PortalMissing, match=r"was not built: .*manifest\.json") as caught:
        read_portal(tmp_path)
    assert "make portal" in caught.value.hint


def test_a_file_that_was_changed_is_named(tmp_path: Path) -> None:
    (write_portal(tmp_path) / "assets/index-abc.js").write_text("alert(1)")
    with pytest.raises(PortalMissing, match=r"index-abc\.js is not what the build wrote"):
        read_portal(tmp_path)


def test_a_file_that_is_gone_is_named(tmp_path: Path) -> None:
    (write_portal(tmp_path) / "favicon.svg").unlink()
    with pytest.raises(PortalMissing, match=r"favicon\.svg"):
        read_portal(tmp_path)


@pytest.mark.parametrize("manifest", ["", "[]", '{"build": 1}', '{"build": "b", "files": {}}'])
def test_a_manifest_that_is_none_is_said(tmp_path: Path, manifest: str) -> None:
    (write_portal(tmp_path) / "manifest.json").write_text(manifest)
    with pytest.raises(PortalMissing):
        read_portal(tmp_path)
