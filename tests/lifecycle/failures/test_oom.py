import pytest

from ganglion.lifecycle.failures.oom import GPU, HOST, ran_out, sentence


@pytest.mark.parametrize(
    ("code", "line", "kills", "memory"),
    [
        (137, "epoch 3", 1, HOST),
        (137, "epoch 3", 0, ""),
        (1, "MemoryError", 0, HOST),
        (134, "terminate called after throwing an instance of 'std::bad_alloc'", 0, HOST),
        (1, "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB", 0, GPU),
        (137, "CUDA out of memory", 1, GPU),
        (1, "epoch 3", 5, ""),
        (0, "", 1, ""),
        (None, "", 1, ""),
    ],
)
def test_it_is_said_which_memory_ran_out_and_only_where_something_tells(
    code: int | None, line: str, kills: int, memory: str
) -> None:
    assert ran_out(code, line, kills) == memory


def test_people_are_told_in_words() -> None:
    assert sentence(HOST).startswith("out of memory")
    assert "GPU" in sentence(GPU)
    assert sentence("") == ""
