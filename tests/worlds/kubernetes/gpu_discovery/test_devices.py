"""The arithmetic of devices, for whatever a cluster may say."""

from hypothesis import given
from hypothesis import strategies as st

from ganglion.worlds.kubernetes.gpu_discovery.devices import DeviceLayout, ResourceDevices, lay_out
from ganglion.worlds.kubernetes.gpu_discovery.foreign import held_of
from ganglion.worlds.kubernetes.gpu_discovery.kinds import GpuUnit
from ganglion.worlds.kubernetes.requests import Ask

GPU, MIG = "nvidia.com/gpu", "nvidia.com/mig-1g.5gb"
KINDS = {
    GPU: GpuUnit(GPU, "A100", 40_960, is_linked=True),
    MIG: GpuUnit(MIG, "A100-MIG-1G.5GB", 4864),
}

counts = st.integers(0, 12)
holdings = st.dictionaries(st.integers(0, 15), st.sampled_from([GPU, MIG]), max_size=12)


def stocks() -> st.SearchStrategy[list[ResourceDevices]]:
    each = st.tuples(counts, counts, counts)
    return st.tuples(each, each).map(
        lambda found: [
            ResourceDevices(KINDS[name], present, working, foreign)
            for name, (present, working, foreign) in zip(KINDS, found, strict=True)
        ]
    )


def healthy(layout: DeviceLayout, resource: str) -> set[int]:
    return {
        index
        for index, device in enumerate(layout.devices)
        if device.healthy and layout.resources[index] == resource
    }


@given(stocks(), holdings)
def test_what_may_be_given_out_is_what_works_and_is_not_taken(
    given_stocks: list[ResourceDevices], ours: dict[int, str]
) -> None:
    layout = lay_out(given_stocks, ours)
    deficit = dict(layout.deficit)
    for stock in given_stocks:
        name = stock.kind.resource
        mine = {index for index, each in ours.items() if each == name}
        left = stock.working - stock.foreign - len(mine)
        assert len(healthy(layout, name) - mine) == max(0, left)
        assert deficit.get(name, 0) == max(0, -left)


@given(stocks(), holdings)
def test_devices_in_use_keep_index_and_resource_and_stay_in_use(
    given_stocks: list[ResourceDevices], ours: dict[int, str]
) -> None:
    layout = lay_out(given_stocks, ours)
    for index, resource in ours.items():
        assert layout.resources[index] == resource
        assert layout.devices[index].healthy
        assert layout.devices[index].type == KINDS[resource].type


@given(stocks(), holdings)
def test_no_device_that_there_is_is_lost(
    given_stocks: list[ResourceDevices], ours: dict[int, str]
) -> None:
    layout = lay_out(given_stocks, ours)
    assert len(layout.devices) == len(layout.resources)
    for stock in given_stocks:
        assert layout.resources.count(stock.kind.resource) >= max(stock.present, stock.working)


@given(stocks(), holdings)
def test_others_have_the_highest_free_indexes(
    given_stocks: list[ResourceDevices], ours: dict[int, str]
) -> None:
    layout = lay_out(given_stocks, ours)
    for name in KINDS:
        free = [i for i, each in enumerate(layout.resources) if each == name and i not in ours]
        given_out = [layout.devices[index].healthy for index in free]
        assert given_out == sorted(given_out, reverse=True)


@given(stocks(), holdings)
def test_a_pod_that_goes_and_one_that_comes_move_no_other(
    given_stocks: list[ResourceDevices], ours: dict[int, str]
) -> None:
    before = lay_out(given_stocks, ours)
    for index in ours:
        fewer = {each: name for each, name in ours.items() if each != index}
        after = lay_out(given_stocks, fewer)
        for each, name in fewer.items():
            assert after.resources[each] == before.resources[each] == name


def test_a_resource_that_is_gone_leaves_its_devices_to_the_first() -> None:
    layout = lay_out([ResourceDevices(KINDS[GPU], 2, 2)], {0: "gone.example/gpu"})
    assert layout.resources == (GPU, GPU)


def test_without_resources_there_are_no_devices() -> None:
    assert lay_out([], {3: GPU}) == DeviceLayout()


@given(st.lists(st.builds(Ask, counts, counts, st.sampled_from([GPU, MIG]), st.integers(1, 8))))
def test_what_others_hold_is_the_sum_of_their_asks(asks: list[Ask]) -> None:
    held = held_of(asks)
    assert held.pods == len(asks)
    assert held.ask.cpu_milli == sum(ask.cpu_milli for ask in asks)
    assert held.ask.memory_mib == sum(ask.memory_mib for ask in asks)
    for name in KINDS:
        total = sum(ask.gpus for ask in asks if ask.gpu_resource == name)
        assert held.gpus().get(name, 0) == total
