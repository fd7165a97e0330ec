import importlib.util
import itertools

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from hrpursuit.datasets import make_sensor_network
from hrpursuit.metrics import masked_rmse
from hrpursuit.rivals import RIVALS, plain_t0
from hrpursuit.rivals.codecs import _as_bytes
from hrpursuit.rivals.packers import PACKERS, mask_bytes
from hrpursuit.rivals.tables import HEADER_BYTES, Job, hold, likeness_order, search, unit_of

PACKAGES = {"zstd": "zstandard", "brotli": "brotli", "SZ3": "pysz", "zfp": "zfpy"}
ABSENT = {name for name, package in PACKAGES.items() if importlib.util.find_spec(package) is None}
TARGETS = [{"rmse": 0.06}, {"max_error": 1}, {"max_error": 2.5}, {"lossless": True}]


@pytest.fixture(scope="module")
def network():
    return make_sensor_network(150, 12, outages=8, random_state=0)


def run(name, table, **target):
    if any(part in name for part in ABSENT):
        pytest.skip('needs the other codecs: pip install ".[rivals]"')
    return RIVALS[name](table, **target)


@pytest.mark.parametrize("target", TARGETS, ids=str)
@pytest.mark.parametrize("name", RIVALS)
def test_targets_are_met_and_gaps_kept(name, target, network):
    stored = run(name, network, **target)
    if stored is None:
        assert name.startswith("T0")
        assert "rmse" not in target
        return
    assert_array_equal(np.isnan(stored.table), np.isnan(network))
    if "rmse" in target:
        assert 0.5 * target["rmse"] < masked_rmse(network, stored.table) <= target["rmse"]
    else:
        assert np.nanmax(np.abs(stored.table - network)) <= target.get("max_error", 0)
    assert 60 < stored.n_bytes < 4 * network.size


@pytest.mark.parametrize("name", [name for name in RIVALS if not name.startswith("T0")])
def test_decimals_and_other_floats_are_kept_without_loss(name):
    tenths = make_sensor_network(60, 5, decimals=1, silent=0, random_state=1)
    assert_array_equal(run(name, tenths, lossless=True).table, tenths)
    floats = make_sensor_network(60, 5, decimals=None, silent=0, random_state=1).astype(np.float32).astype(float)
    stored = run(name, floats, lossless=True)
    if name == "SZ3, rounded":
        assert stored is None  # there are no decimals to round to
    else:
        assert_array_equal(stored.table, floats)


def test_a_larger_error_takes_fewer_bytes(network):
    sizes = [RIVALS["quantise + delta + xz"](network, max_error=bound).n_bytes for bound in (0, 1, 3, 8)]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] > 1.5 * sizes[-1]


@pytest.mark.parametrize(("axes", "by_columns"), [*itertools.product([(), (0,), (0, 1)], [False, True])])
def test_bytes_of_differences_can_be_undone(axes, by_columns, rng):
    for largest in (3, 255, 60_000, 10**6):
        numbers = rng.integers(-largest // 2, largest // 2, (9, 4))
        numbers[0, 0], numbers[1, 0] = -largest // 2, largest - largest // 2
        data = np.frombuffer(_as_bytes(numbers, axes, by_columns), np.uint8)
        width = len(data) // numbers.size
        whole = sum(plane.astype(np.int64) << (8 * i) for i, plane in enumerate(data.reshape(width, -1)))
        whole = whole.reshape(numbers.T.shape).T if by_columns else whole.reshape(numbers.shape)
        for axis in axes:
            whole = np.cumsum(whole, axis=axis)
        assert_array_equal(whole % 256**width, numbers - numbers.min())


@pytest.mark.parametrize("name", PACKERS)
def test_packers_are_the_real_ones_and_give_bytes_back(name, rng):
    if name in ABSENT:
        pytest.skip('needs the other codecs: pip install ".[rivals]"')
    noise = rng.integers(0, 256, 3000, dtype=np.uint8).tobytes()
    sizes = []
    for data in (noise, noise + noise, bytes(3000), b""):
        packed = PACKERS[name].pack(data)
        assert PACKERS[name].unpack(packed) == data
        sizes.append(len(packed))
    assert 3000 <= sizes[0] < 3040
    assert sizes[1] < 3060
    assert sizes[2] < 40


def test_gaps_cost_what_is_in_them(rng):
    none, noise = np.ones((500, 40), dtype=bool), rng.random((500, 40)) < 0.5
    assert mask_bytes(none) < 60
    assert 2500 <= mask_bytes(noise) < 2600
    table = np.where(noise, 1.0, np.nan)
    assert Job(table, lossless=True).overhead == HEADER_BYTES + mask_bytes(noise)
    table[:, 3] = np.nan
    assert Job(table, lossless=True).overhead == HEADER_BYTES + mask_bytes(np.delete(noise, 3, axis=1)) + 5


def test_the_papers_coding_in_bytes():
    table = make_sensor_network(random_state=0)
    assert [plain_t0(table, t0, np.eye(56)).n_bytes for t0 in (5, 28)] == [18_920, 53_144]
    whole = plain_t0(table, 56, np.eye(56)).table
    assert_array_equal(whole, table)  # whole numbers below 2048 are exact in float16
    errors = [masked_rmse(table, plain_t0(table, t0).table) for t0 in (5, 11, 28)]
    assert 0.12 > errors[0] > 1.2 * errors[1] > 2 * errors[2]


def test_gaps_are_filled_in_several_ways_only_where_there_are_any(network):
    names = [arrangement.name for arrangement in Job(network, lossless=True).arrangements]
    assert len(names) == len(set(names)) == 6
    filled = Job(hold(network[:, ~np.isnan(network).all(axis=0)]), lossless=True)
    assert [arrangement.name for arrangement in filled.arrangements] == ["no gaps", "no gaps, by likeness"]


@pytest.mark.parametrize("n_columns", [3, 64, 65, 200])
def test_neighbours_are_alike_in_the_order_by_likeness(n_columns, rng):
    place = rng.permutation(n_columns)
    waves = np.sin(np.arange(50)[:, None] / 9 + 3 * place / n_columns)
    order = likeness_order(waves)
    assert sorted(order) == list(range(n_columns))
    assert np.abs(np.diff(place[order])).mean() < 3  # n_columns / 3 if it were a random order


def test_units():
    assert unit_of(np.array([1.0, -7.0])) == 1
    assert unit_of(np.array([0.1, 2.35])) == 0.01
    assert unit_of(np.array([np.pi])) is None


def test_search_goes_to_the_edge_and_keeps_the_smallest():
    job = Job(np.ones((1, 1)), lossless=True)
    best = search(lambda x: job.stored(int(1000 / x), np.ones((1, 1)), "") if x <= 7.0 else None, 1.0, 100.0, 20)
    assert best.n_bytes - job.overhead == 142


@pytest.mark.parametrize(
    ("table", "target", "match"),
    [
        (np.ones((2, 2)), {}, "exactly one"),
        (np.ones((2, 2)), {"rmse": 0.1, "lossless": True}, "exactly one"),
        (np.ones(3), {"rmse": 0.1}, "two dimensions"),
        (np.full((2, 2), np.nan), {"rmse": 0.1}, "no entry"),
    ],
)
def test_bad_input_is_named(table, target, match):
    for name, rival in RIVALS.items():
        if not any(part in name for part in ABSENT):
            with pytest.raises(ValueError, match=match):
                rival(table, **target)


def test_edges():
    for table in (np.zeros((3, 1)), np.full((1, 4), -3.0), np.array([[np.nan, 5.0], [np.nan, np.nan]])):
        for name in RIVALS:
            if not name.startswith("T0") and not any(part in name for part in ABSENT):
                assert_array_equal(RIVALS[name](table, lossless=True).table, table)
