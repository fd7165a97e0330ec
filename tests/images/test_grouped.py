"""The parts of the mode `best`, each against the same thing computed in another way."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from hrpursuit.blas import one_blas_thread
from hrpursuit.images.grouped import denoise_in_groups, passes
from hrpursuit.images.grouped.dictionaries import dictionaries_of_classes, haar
from hrpursuit.images.grouped.matching import find_groups
from hrpursuit.images.grouped.shrinkage import autocorrelations, keep_strong, shrink_by_pilot
from hrpursuit.images.grouped.subspaces import filter_in_subspaces
from hrpursuit.images.learning import dct_atoms
from hrpursuit.images.patches import patches_of
from hrpursuit.images.plain import denoise_patches

WHOLE = np.float32(0)


@pytest.fixture(autouse=True)
def _one_thread():
    with one_blas_thread():
        yield


def picture(height, width, seed=0, scale=1.0):
    return (scale * np.random.default_rng(seed).standard_normal((height, width))).astype(np.float32)


def edges(height, width):
    y, x = np.mgrid[:height, :width]
    return (20 * np.sin(x / 9 + y / 23) + np.where(x + 2 * y < 1.5 * height, 0, 40)).astype(np.float32)


def random_groups(n_patches, n_groups, n_members, seed):
    rng = np.random.default_rng(seed)
    return np.array([rng.choice(n_patches, n_members, replace=False) for _ in range(n_groups)], np.int32)


@pytest.mark.parametrize("n_members", [1, 2, 8, 16])
def test_haar_is_orthonormal_with_the_mean_first(n_members):
    rows = haar(n_members)
    assert_allclose(rows @ rows.T, np.eye(n_members), atol=1e-6)
    assert_allclose(rows[0], n_members**-0.5, rtol=1e-6)


@given(
    height=st.integers(6, 30), width=st.integers(6, 30), stride=st.integers(1, 5), reach=st.integers(2, 9),
    n_members=st.integers(1, 20), seed=st.integers(0, 99),
)  # fmt: skip
@settings(max_examples=30, deadline=None)
def test_groups_are_the_nearest_patches_within_reach(height, width, stride, reach, n_members, seed):
    size = 4  # all 16 coefficients are compared, so distances are those of the pixels
    image = picture(height, width, seed, scale=100)  # no two patches as alike as noise
    groups = find_groups(image, size, n_members=n_members, stride=stride, reach=reach, seed=0)
    patches = patches_of(image, size).astype(np.float64)
    n_columns = width - size + 1
    y, x = np.divmod(np.arange(len(patches)), n_columns)
    assert len(np.unique(groups[:, 0])) == len(groups)
    covered = np.zeros((height, width), bool)
    for first, *others in groups:
        assert len({first, *others}) == groups.shape[1]
        distances = ((patches - patches[first]) ** 2).sum(axis=1)
        is_near = (abs(y - y[first]) <= reach) & (abs(x - x[first]) <= reach)
        nearest = np.sort(distances[is_near])[: groups.shape[1]]
        assert_allclose(distances[[first, *others]], nearest, rtol=1e-3, atol=1e-3)
        covered[y[first] : y[first] + size, x[first] : x[first] + size] = True
    assert covered.all()


def test_patches_that_differ_by_noise_alone_are_drawn_at_random():
    flat = picture(40, 40, scale=0.1)
    groups = find_groups(flat, 8, n_members=16, stride=8, seed=0)
    patches = patches_of(flat, 8)
    distances = ((patches[groups[:, 1:]] - patches[groups[:, :1]]) ** 2).sum(axis=2).mean()
    typical = 2 * 64 * 0.01
    assert 0.9 * typical < distances < 1.1 * typical  # the nearest would be at half of it
    assert not np.array_equal(groups, find_groups(flat, 8, n_members=16, stride=8, seed=1))


def dense_functionals(atoms, places, shape, size):
    """All coefficients of a group as rows over the pixels, in the order that the kernel has them."""
    n_columns = shape[1] - size + 1
    maps = np.zeros((len(places), len(atoms), *shape))
    for member, place in enumerate(places):
        y, x = divmod(int(place), n_columns)
        maps[member, :, y : y + size, x : x + size] = atoms.reshape(-1, size, size)
    step = 1
    while step < len(places):
        for m in range(0, len(places), 2 * step):
            a, b = maps[m].copy(), maps[m + step].copy()
            maps[m], maps[m + step] = (a + b) / np.sqrt(2), (a - b) / np.sqrt(2)
        step *= 2
    return maps.reshape(len(places) * len(atoms), -1)


@pytest.mark.parametrize("n_members", [1, 2, 8])
def test_threshold_knows_the_noise_of_every_coefficient(n_members):
    """Against a dense matrix over the pixels: patches that overlap have noise in common."""
    size, shape = 3, (9, 10)
    atoms = np.linalg.qr(picture(9, 9))[0].astype(np.float32)
    image = picture(*shape, seed=1, scale=2)
    n_columns = shape[1] - size + 1
    groups = random_groups(7 * n_columns, 5, n_members, seed=2)
    codes = patches_of(image, size) @ atoms.T
    for group in groups:
        sums, weights = np.zeros_like(codes), np.zeros(len(codes), np.float32)
        keep_strong(codes, group[None], group[None], n_columns, autocorrelations(atoms, size), np.float32(1.5), sums,
                    weights)  # fmt: skip
        maps = dense_functionals(atoms, group, shape, size)
        variances = (maps**2).sum(axis=1)
        coefficients = maps @ image.ravel()
        is_kept = np.abs(coefficients) >= 1.5 * np.sqrt(variances)
        is_kept[0] = True
        assert_allclose(weights[group], 1 / (0.5 + variances[is_kept].sum()), rtol=1e-4)
        energy = (coefficients[is_kept] ** 2).sum()
        assert_allclose(((sums[group] / weights[group][:, None]) ** 2).sum(), energy, rtol=1e-3)


@pytest.mark.parametrize("n_members", [1, 4, 16])
def test_nothing_changes_where_nothing_is_shrunk(n_members):
    image, size = picture(20, 20, scale=10), 4
    atoms = dct_atoms(size)
    codes = patches_of(image, size) @ atoms.T
    groups = random_groups(len(codes), 30, n_members, seed=0)
    for shrink in (
        lambda *out: keep_strong(codes, groups, groups, 17, autocorrelations(atoms, size), WHOLE, *out),
        lambda *out: shrink_by_pilot(codes, codes, groups, np.float32(1e-12), *out),
    ):
        sums, weights = np.zeros_like(codes), np.zeros(len(codes), np.float32)
        shrink(sums, weights)
        used = np.unique(groups)
        assert_allclose(sums[used] / weights[used, None], codes[used], rtol=1e-4, atol=1e-3)
        assert not sums[np.setdiff1d(np.arange(len(codes)), used)].any()


def test_wiener_filter_uses_the_gains_of_the_pilot():
    size, atoms = 3, dct_atoms(3)
    image, pilot = (patches_of(picture(6, 6, seed), size) @ atoms.T for seed in (0, 1))
    group = np.array([[0, 5, 9, 14]], np.int32)
    sums, weights = np.zeros_like(image), np.zeros(len(image), np.float32)
    shrink_by_pilot(image, pilot, group, np.float32(0.5), sums, weights)
    # Haar's transform for four members, in the kernel's order
    transform = haar(4)[[0, 2, 1, 3]]
    noisy, expected = transform @ image[group[0]], transform @ pilot[group[0]]
    gains = expected**2 / (expected**2 + 0.5)
    gains[0, 0] = 1
    assert_allclose(sums[group[0]] / weights[group[0], None], transform.T @ (gains * noisy), rtol=1e-4, atol=1e-5)
    assert_allclose(weights[group[0]], 1 / (0.5 + (gains**2).sum()), rtol=1e-5)


def test_subspace_filter_is_the_wiener_filter_of_the_covariance():
    """The small system gives what the matrix of pixels by pixels gives."""
    size, variance = 3, 0.7
    image, pilot = picture(12, 11, seed=0), picture(12, 11, seed=1)
    groups = np.vstack([random_groups(90, 40, 5, seed=3), find_groups(pilot, size, n_members=5, stride=3, seed=0)])
    result = filter_in_subspaces(image, pilot, groups, size, np.float32(variance))
    noisy, guess = patches_of(image, size).astype(float), patches_of(pilot, size).astype(float)
    total, weight = np.zeros_like(image, float), np.zeros_like(image, float)
    for group in groups:
        mean = guess[group].mean(axis=0)
        covariance = np.cov(guess[group].T, bias=True)
        gain = covariance @ np.linalg.inv(covariance + variance * np.eye(size**2))
        for place, patch in zip(group, (noisy[group] - mean) @ gain.T + mean, strict=True):
            y, x = divmod(int(place), 9)
            total[y : y + size, x : x + size] += patch.reshape(size, size)
            weight[y : y + size, x : x + size] += 1
    assert_allclose(result, total / weight, atol=1e-4)


def test_dictionaries_are_orthonormal_and_keep_the_constant_atom():
    image = edges(90, 90) + picture(90, 90)
    groups = find_groups(image, 6, n_members=16, stride=3, seed=0)
    classes = [groups[:300], groups[300:310], groups[310:]]
    found = list(dictionaries_of_classes(image, classes, 6, 1.0, seed=0))
    for atoms in found:
        assert_allclose(atoms @ atoms.T, np.eye(36), atol=1e-5)
        assert_allclose(atoms[0], 1 / 6, rtol=1e-5)
    assert np.array_equal(found[1], found[2])  # a class of ten groups has the dictionary of all
    assert np.abs(found[0] - found[2]).max() > 0.1


def test_groups_are_better_than_single_patches():
    clean = edges(96, 96)
    noisy = (clean + 10 * np.random.default_rng(0).standard_normal(clean.shape)).astype(np.float32)
    single, grouped = (f(noisy[None], 10.0, 8, 0)[0] for f in (denoise_patches, denoise_in_groups))
    assert np.std(grouped - clean) < 0.8 * np.std(single - clean)
    assert np.std(grouped - clean) < 1.9


@pytest.mark.parametrize(
    ("shape", "size"),
    [((8, 8), 8), ((8, 9), 8), ((2, 2), 2), ((30, 31), 2), ((33, 9), 8), ((40, 40), 32), ((5, 90), 5)],
)
def test_any_size(shape, size):
    noise = picture(*shape)
    result = denoise_in_groups(noise[None], 1.0, size, 0)[0]
    assert result.shape == shape
    assert np.isfinite(result).all()
    assert result.std() < noise.std()


def test_codes_of_large_patches_are_computed_in_parts(monkeypatch):
    noisy = (edges(100, 60) + picture(100, 60))[None]

    def denoised():
        sizes = []

        def threshold(*args):
            found = passes._threshold(*args)
            sizes.append(found[0].size)
            return found

        return passes._by_direction(noisy, noisy, 12, 3, 0, threshold), max(sizes)

    whole, most = denoised()
    monkeypatch.setattr(passes, "_MOST_CODES", most // 8)
    parts, most_of_part = denoised()
    assert most_of_part < most / 2  # patches near the border of a part are in both
    assert_allclose(parts, whole, atol=0.1)


def test_result_goes_with_unit_and_offset_and_the_seed_is_all_its_chance():
    noisy = edges(50, 60) + picture(50, 60, scale=5)
    once = denoise_in_groups(noisy[None], 5.0, 8, 0)
    assert np.array_equal(once, denoise_in_groups(noisy[None], 5.0, 8, 0))
    assert np.array_equal(denoise_in_groups(noisy[None] * 4, 20.0, 8, 0), once * 4)
    for other in (denoise_in_groups(noisy[None] + 100, 5.0, 8, 0) - 100, denoise_in_groups(noisy[None], 5.0, 8, 1)):
        assert 0 < np.std(other - once) < 0.5  # atoms of mere noise turn with the last digit, or with the seed
        assert abs(np.mean(other - once)) < 0.02
