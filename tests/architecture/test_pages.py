"""What the documentation names exists."""

from pathlib import Path

from tools.archlint.texts.pages import dead_links, unknown_commands
from tools.archlint.texts.words import plain_beside, plain_pages, tracked

from ganglion.cli.registry import COMMANDS

KNOWN = {*COMMANDS}


def page(tmp_path: Path, text: str) -> list[Path]:
    file = tmp_path / "page.md"
    file.write_text(text, "utf-8")
    return [file]


def test_no_page_has_a_dead_link() -> None:
    assert [str(found) for found in dead_links(tracked())] == []


def test_no_page_shows_a_command_that_does_not_exist() -> None:
    assert [str(found) for found in unknown_commands(tracked(), KNOWN)] == []


def test_a_dead_link_is_found(tmp_path: Path) -> None:
    pages = page(tmp_path, "[a](page.md#top) [b](https://example.com) [c](#here)\n[d](gone.md)\n")
    assert [found.line for found in dead_links(pages, tmp_path)] == [2]


def test_an_unknown_command_is_found(tmp_path: Path) -> None:
    pages = page(tmp_path, "a ganglion is\n$ ganglion ps\n    ganglion fly\n")
    assert [found.line for found in unknown_commands(pages, KNOWN, tmp_path)] == [3]


def test_a_vague_word_in_a_page_is_found(tmp_path: Path) -> None:
    pages = page(tmp_path, "`nobody` may\n```\nnobody\n```\nleave it, and whoever\nasks\n")
    assert [found.line for found in plain_pages(pages, tmp_path)] == [5]


def test_a_vague_word_in_the_prose_of_a_test_is_found_and_its_texts_are_free(
    tmp_path: Path,
) -> None:
    file = tmp_path / "test_x.py"
    file.write_text('"""What nobody\nsees."""\n\nSAID = "nobody may"\n# so many\n', "utf-8")
    assert [found.line for found in plain_beside([file], tmp_path)] == [1, 5]
