"""What `--policy` of a simulation means."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from ganglion.model.errors import FieldError, FileError
from ganglion.model.kinds import Weighted
from ganglion.model.policy import Order, Policy
from ganglion.specs.policy.presets import preset
from ganglion.worlds.simulated.setup.policy_words import read_policy


def test_policies_are_words() -> None:
    assert read_policy("", Policy(strict=True)) == Policy(strict=True)
    assert read_policy("fifo, strict,fgd,packing", Policy()) == Policy(
        order=Order.FIFO, strict=True, scores=(Weighted("fgd"), Weighted("packing"))
    )
    with pytest.raises(FieldError, match="more than one order"):
        read_policy("fifo,fair", Policy())


def test_a_preset_is_the_base_that_words_change() -> None:
    assert read_policy("kai", Policy(strict=True)) == preset("kai")
    assert read_policy("fgd,slurm_like", Policy()) == replace(
        preset("slurm-like"), scores=(Weighted("fgd"),)
    )
    with pytest.raises(FieldError, match="more than one policy: kai, kueue"):
        read_policy("kai,kueue", Policy())


def test_a_policy_file_is_the_base_that_words_change(tmp_path: Path) -> None:
    path = tmp_path / "p.yaml"
    path.write_text("preset: kueue\nheads_only: false\n")
    found = read_policy(f"{path},fifo", Policy())
    assert found == replace(preset("kueue"), heads_only=False, order=Order.FIFO)
    with pytest.raises(FileError, match="no file"):
        read_policy("./missing.yaml", Policy())
