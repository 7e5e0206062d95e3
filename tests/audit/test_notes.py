"""Signed notes: a published vector, and everything that is no note."""

from base64 import b64encode

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from ganglion.audit.merkle import EMPTY
from ganglion.audit.notes import PublicKey, Signer, key_of, note_of

KEY = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
"""A key of the documentation of Go's package sumdb/note."""
NAME = "host/ganglion/0a"
SIGNER = Signer(NAME, bytes(range(32)))
NOTE = SIGNER.signed(3, bytes(32))


def test_a_published_key_is_read_and_its_id_is_its_own() -> None:
    key = key_of(KEY)
    assert (key.name, key.id.hex()) == ("PeterNeumann", "c74f20a3")
    assert str(key) == KEY
    Ed25519PublicKey.from_public_bytes(key.raw)


@pytest.mark.parametrize(
    "text",
    ["", "a+b", KEY.replace("c74f20a3", "c74f20a4"), KEY[:-4], KEY.replace("ARpc", "Apc2")],
)
def test_what_is_no_key_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"key|base 64"):
        key_of(text)


def test_a_note_says_what_was_signed_and_equal_trees_give_equal_notes() -> None:
    note = note_of(NOTE)
    assert (note.checkpoint.origin, note.checkpoint.size) == (NAME, 3)
    note.check(SIGNER.public)
    assert SIGNER.signed(3, bytes(32)) == NOTE
    lines = NOTE.splitlines()
    assert lines[:4] == [NAME, "3", b64encode(bytes(32)).decode(), ""]
    assert lines[4].startswith(f"— {NAME} ")


def test_a_note_of_a_cosigner_too_is_accepted() -> None:
    other = Signer("witness", bytes(32)).signed(3, bytes(32)).splitlines()[-1]
    note_of(f"{NOTE}{other}\n").check(SIGNER.public)


def test_another_key_another_log_and_another_text_are_named() -> None:
    forged = Signer(NAME, bytes(32)).signed(3, bytes(32))
    with pytest.raises(ValueError, match="signed by another key"):
        note_of(forged).check(SIGNER.public)
    with pytest.raises(ValueError, match="is of log"):
        note_of(NOTE).check(PublicKey("elsewhere", SIGNER.public.raw))
    with pytest.raises(ValueError, match="does not fit"):
        note_of(NOTE.replace("\n3\n", "\n4\n")).check(SIGNER.public)
    with pytest.raises(ValueError, match="does not fit"):
        note_of(
            SIGNER.signed(0, EMPTY).replace(
                f"\n{b64encode(EMPTY).decode()}\n", f"\n{b64encode(bytes(32)).decode()}\n"
            )
        ).check(SIGNER.public)


@pytest.mark.parametrize("at", range(len(NOTE)))
def test_a_note_with_any_character_changed_is_refused(at: int) -> None:
    for other in ("A", "\n", " ", "0"):
        if NOTE[at] == other:
            continue
        with pytest.raises(ValueError, match=r"."):
            note_of(NOTE[:at] + other + NOTE[at + 1 :]).check(SIGNER.public)
