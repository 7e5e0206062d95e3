"""The reference page is what the command line says about itself."""

from tools.cli_reference import PAGE, page


def test_the_reference_page_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run: python tools/cli_reference.py"
