import pytest
from hypothesis import given
from hypothesis import strategies as st

from ganglion.model.errors import FieldError, InputError
from ganglion.model.resources import GpuRequest
from ganglion.specs.grammar import parse_gpus, print_gpus
from ganglion.specs.grammar.gpus import MAX_GPUS, parse_type

GB80 = 76_294
GB24 = 22_889


def gpu(count: int = 1, **more: object) -> GpuRequest:
    return GpuRequest(count=count, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "request_"),
    [
        (8, gpu(8)),
        ("8", gpu(8)),
        (0, GpuRequest()),
        ("H100:0", GpuRequest()),
        ("H100:8", gpu(8, types=("H100",))),
        ("H100", gpu(1, types=("H100",))),
        ("8:h100", gpu(8, types=("H100",))),
        ("A100:80GB:4", gpu(4, types=("A100",), min_memory_mib=GB80)),
        ("80GB:4:A100", gpu(4, types=("A100",), min_memory_mib=GB80)),
        ("H100,A100:24GB..:2", gpu(2, types=("H100", "A100"), min_memory_mib=GB24)),
        ("24GB..", gpu(1, min_memory_mib=GB24)),
        ("24GB+", gpu(1, min_memory_mib=GB24)),
        ("nvidia:8", gpu(8)),
        ("amd:MI300X:8", gpu(8, types=("MI300X",))),
        ("gpu:h100:4", gpu(4, types=("H100",))),
        ("gpu:4", gpu(4)),
        ("gres/gpu:4", gpu(4)),
        ({"nvidia.com/gpu": 8}, gpu(8)),
        ({"nvidia.com/gpu": "8"}, gpu(8)),
        ("500m", gpu(1, milli=500)),
        ("2000m", gpu(2)),
        ("0.5", gpu(1, milli=500)),
        (0.25, gpu(1, milli=250)),
        ("T4:0.5", gpu(1, milli=500, types=("T4",))),
        ({"memory": "10GB"}, gpu(1, share_mib=9_537)),
        ({"memory": "10Gi", "type": "a100"}, gpu(1, share_mib=10_240, types=("A100",))),
        ({"count": 4, "name": "A100", "min_memory": "80GB"}, parse_gpus("A100:80GB:4")),
        ({"count": 2, "type": ["H100", "A100"]}, gpu(2, types=("H100", "A100"))),
        ({"type": "H100"}, gpu(1, types=("H100",))),
        (["H100:8", "A100:8"], gpu(8, types=("H100", "A100"))),
    ],
)
def test_all_grammars_give_one_request(text: object, request_: GpuRequest) -> None:
    assert parse_gpus(text) == request_


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("gpu:h100:8", "H100:8"),
        ({"nvidia.com/gpu": 8}, 8),
        ("4:80GB:A100", "A100:80GB:4"),
        ("40Gi:A100", "A100:40GiB:1"),
        ("500m", "0.5"),
        ("T4:0.125", "T4:0.125"),
        ({"memory": "10GB"}, {"memory": "10GB"}),
    ],
)
def test_the_canonical_form_is_the_short_one(text: object, printed: object) -> None:
    assert print_gpus(parse_gpus(text)) == printed


@pytest.mark.parametrize(
    ("text", "problem", "hint"),
    [
        (-1, "cannot be negative", "H100:8"),
        ("1.5", "more than one GPU but not whole", "`1` or `2`"),
        ("1500m", "more than one GPU but not whole", "`1` or `2`"),
        ("0.3333", "finer than a thousandth", "0.333"),
        ("1..2", "cannot be a range", "nodes: 2..4"),
        ("24GB..40GB", "bounds the memory of a GPU from above", "24GB.."),
        ("..40GB", "bounds the memory", "24GB.."),
        ("8:4", "gives two numbers", ""),
        ("H100:A100", "names two models", ""),
        ("amd:8", "names a vendor but no GPU model", "amd:MI300X:8"),
        ("", "not a GPU request", ""),
        ("H100:", "not a GPU request", ""),
        ("RTX 4090", "not a GPU request", ""),
        (True, "expected a number", ""),
        (None, "expected text", ""),
        (float("nan"), "expected text", ""),
        (10**40, "too many", str(MAX_GPUS)),
        (10**600, "a very long number", ""),
        (5000, "too many", str(MAX_GPUS)),
        ({}, "empty", ""),
        ({"cuont": 1}, "unknown key `cuont`", "did you mean `count`?"),
        ({"type": "A100", "name": "A100"}, "given twice", ""),
        ({"count": 4, "memory": "10GB"}, "share of one GPU", "min_memory"),
        ({"count": "H100"}, "not a number of GPUs", ""),
        ({"memory": 0}, "more than nothing", ""),
        ({"amd.com/gpu": 8}, "not known", "MI300X"),
        ({"nvidia.com/mig-3g.20gb": 1}, "not known", "share"),
        ([], "empty", ""),
        (["H100:8", "A100:4"], "same number", ""),
        (["8", "4"], "same number", ""),
        ([["H100"]], "expected text", ""),
    ],
)
def test_a_wrong_request_says_what_and_what_instead(text: object, problem: str, hint: str) -> None:
    with pytest.raises(FieldError, match=problem) as caught:
        parse_gpus(text)
    assert hint in caught.value.hint


types = st.lists(
    st.from_regex(r"[A-Z][A-Z0-9._-]{0,8}", fullmatch=True).filter(
        lambda name: (
            ".." not in name
            and name not in {"NVIDIA", "AMD", "INTEL", "GOOGLE", "HUAWEI", "TENSTORRENT"}
        )
    ),
    max_size=3,
    unique=True,
).map(tuple)
memory = st.integers(0, 1 << 20)
requests = (
    st.builds(
        GpuRequest,
        count=st.integers(1, MAX_GPUS),
        types=types.filter(lambda names: names[:1] != ("GPU",)),
        min_memory_mib=memory,
    )
    | st.builds(
        GpuRequest,
        count=st.just(1),
        milli=st.integers(1, 999),
        types=types.filter(lambda names: names[:1] != ("GPU",)),
        min_memory_mib=memory,
    )
    | st.builds(
        GpuRequest,
        count=st.just(1),
        share_mib=st.integers(1, 1 << 20),
        types=types,
        min_memory_mib=memory,
    )
)


@given(requests)
def test_what_is_printed_parses_back_to_the_same(request_: GpuRequest) -> None:
    assert parse_gpus(print_gpus(request_)) == request_


@given(
    st.text("HAG10gpu:.,-+mGBi ", max_size=14)
    | st.text(max_size=10)
    | st.floats()
    | st.integers()
    | st.none()
    | st.lists(st.text(max_size=6), max_size=2)
    | st.dictionaries(
        st.sampled_from(["count", "type", "memory", "x"]), st.text("1GBx", max_size=4)
    )
)
def test_nothing_but_an_input_error_ever_comes_out(value: object) -> None:
    try:
        found = parse_gpus(value)
    except InputError:
        return
    assert 0 <= found.count <= MAX_GPUS
    assert parse_gpus(print_gpus(found)) == found


def test_types_are_spelt_in_upper_case() -> None:
    assert parse_type("h100") == "H100"
