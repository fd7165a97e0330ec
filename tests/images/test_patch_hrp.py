import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from hrpursuit.images import PatchHRP
from hrpursuit.images.learning import dct_atoms


def picture(height=60, width=64):
    y, x = np.mgrid[:height, :width]
    return np.where(x + 2 * y < 90, 60.0 + x, 230 - y) + 30 * np.sin(0.7 * x - 0.4 * y)


@pytest.fixture(scope="module")
def model():
    return PatchHRP(4, 3, random_state=0).fit(picture())


def error(codes, patches, atoms):
    return np.linalg.norm(codes @ atoms - patches)


def test_atoms_are_orthonormal_and_the_first_is_constant(model):
    assert_allclose(model.components_ @ model.components_.T, np.eye(16), atol=1e-13)
    assert_allclose(model.components_[0], 0.25)
    assert_array_equal(model.atoms_, model.components_.reshape(16, 4, 4))
    assert np.all(np.diff(model.usage_[1:]) <= 0.05 * model.usage_[1])


def test_codes_give_the_image_back():
    image = picture()
    model = PatchHRP(4, scheme="paper", random_state=0).fit(image)
    assert_allclose(model.inverse_transform(model.transform(image)), image, atol=1e-9)


def test_learned_atoms_code_the_image_better_than_cosines(model):
    image = picture()
    codes = model.transform(image)
    assert np.count_nonzero(codes[:, 1:], axis=1).max() == 3
    learned = np.square(model.inverse_transform(codes) - image).mean()
    cosines = clone(model).fit(image)
    cosines.components_ = dct_atoms(4).astype(float)
    assert learned < 0.7 * np.square(cosines.inverse_transform(cosines.transform(image)) - image).mean()


def test_codes_are_those_of_the_patches(model):
    image = picture(20, 30)
    coarse = clone(model).set_params(stride=5).fit(picture())
    codes = coarse.transform(image)
    assert codes.shape == (5 * 7, 16)  # corners 0, 5, 10, 15, 16 down; 0, 5, ..., 25, 26 across
    assert_allclose(codes[1, 0], image[:4, 5:9].mean() * 4)
    assert_allclose(codes[-1, 0], image[-4:, -4:].mean() * 4)
    back = coarse.inverse_transform(codes, shape=(20, 30))
    assert np.isnan(back).sum() > 0  # a stride of 5 leaves lines between patches of 4
    assert_allclose(np.isnan(back[:4, :4]), False)


def test_colours_have_a_constant_atom_each():
    image = np.stack([picture(), 300 - picture(), 0.5 * picture()], axis=-1)
    model = PatchHRP(3, 4, channel_axis=-1, random_state=0).fit(image)
    assert model.atoms_.shape == (27, 3, 3, 3)
    assert_allclose(np.ptp(model.atoms_[:3], axis=(1, 2)), 0, atol=1e-12)
    codes = model.transform(image)
    assert_allclose(model.inverse_transform(codes), image, atol=25)
    first = clone(model).set_params(channel_axis=0).fit(np.moveaxis(image, -1, 0))
    assert_allclose(first.components_, model.components_)
    assert_allclose(np.moveaxis(first.inverse_transform(codes), 0, -1), model.inverse_transform(codes))


def test_several_images_are_learned_together():
    first, second = picture(), picture(40, 30)[::-1]
    together = PatchHRP(4, 3, random_state=0).fit([first, second])
    assert together.image_shape_ == (40, 30)
    for image in (first, second):
        own = together.inverse_transform(together.transform(image), shape=image.shape)
        assert np.abs(own - image).mean() < 5
    stacked = PatchHRP(4, 3, random_state=0).fit(np.stack([first, first]))
    assert_array_equal(stacked.components_, PatchHRP(4, 3, random_state=0).fit([first, first]).components_)


def test_follows_the_conventions(model, tmp_path):
    again = clone(model).fit(picture())
    assert_array_equal(again.components_, model.components_)
    other = clone(model).set_params(random_state=1, max_patches=500).fit(picture())
    assert np.abs(other.components_ - model.components_).max() > 1e-6
    assert model.get_params()["n_nonzero_coefs"] == 3
    assert model.n_iter_ > 0
    assert_array_equal(model.fit_transform(picture()), model.transform(picture()))
    model.save(tmp_path / "model.npz")
    loaded = PatchHRP.load(tmp_path / "model.npz")
    assert_array_equal(loaded.transform(picture()), model.transform(picture()))
    assert loaded.get_params() == model.get_params()
    assert_array_equal(loaded.usage_, model.usage_)
    assert (loaded.image_shape_, loaded.n_iter_) == (model.image_shape_, model.n_iter_)


def test_codes_have_names(model):
    assert list(model.get_feature_names_out()[:2]) == ["patchhrp0", "patchhrp1"]
    assert len(model.get_feature_names_out()) == model.transform(picture()).shape[1]
    with pytest.raises(NotFittedError):
        PatchHRP().get_feature_names_out()


def test_a_fitted_model_keeps_its_patches(model):
    changed = clone(model).fit(picture()).set_params(patch_size=2)
    assert_array_equal(changed.atoms_, model.atoms_)
    codes = changed.transform(picture())
    assert_array_equal(codes, model.transform(picture()))
    assert_array_equal(changed.inverse_transform(codes), model.inverse_transform(codes))


def test_lists_are_images_or_lists_of_images(model):
    assert_array_equal(clone(model).fit(picture().tolist()).components_, model.components_)
    colours = np.stack([picture(20, 20), 300 - picture(20, 20)], axis=-1)
    expected = PatchHRP(3, channel_axis=-1, random_state=0).fit(colours).components_
    assert_array_equal(PatchHRP(3, channel_axis=-1, random_state=0).fit(colours.tolist()).components_, expected)
    with pytest.raises(ValueError, match="two axes"):
        PatchHRP().fit([])
    sixteen = PatchHRP(np.uint8(16), max_iter=2, random_state=0).fit(picture())
    assert sixteen.components_.shape == (256, 256)


def test_bad_input_gets_a_clear_error(model):
    with pytest.raises(NotFittedError):
        PatchHRP().transform(picture())
    with pytest.raises(NotFittedError):
        _ = PatchHRP().atoms_
    with pytest.raises(ValueError, match="needs at least as many patches; the image has 9"):
        PatchHRP(4).fit(picture(6, 6))
    with pytest.raises(ValueError, match="n_nonzero_coefs must be at most 15"):
        PatchHRP(4, 16).fit(picture())
    with pytest.raises(ValueError, match="finite"):
        PatchHRP(4).fit(np.where(picture() > 200, np.nan, picture()))
    with pytest.raises(ValueError, match="transform takes one image; got 2"):
        model.transform(np.stack([picture()] * 2))
    with pytest.raises(ValueError, match=r"codes must have shape \(3477, 16\).*as shape"):
        model.inverse_transform(model.transform(picture(20, 20)))
    with pytest.raises(ValueError, match="as many channels"):
        PatchHRP(3, channel_axis=-1).fit([np.ones((9, 9, 3)), np.ones((9, 9, 2))])
    with pytest.raises(ValueError, match="patch_size"):
        PatchHRP(1).fit(picture())
