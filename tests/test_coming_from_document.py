"""docs/how_to/coming_from.md: its code runs, its tables have every name of the other libraries, and what it says of
both sides holds.
"""

import importlib.util
import inspect
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.decomposition import (
    PCA,
    DictionaryLearning,
    FastICA,
    MiniBatchDictionaryLearning,
    fastica,
    sparse_encode,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline

import hrpursuit
from hrpursuit import HRP, HRPOptions, MiniBatchHRP, recover_atom, sparse_code
from hrpursuit.baselines import KSVD
from hrpursuit.datasets import make_sparse_coded
from hrpursuit.metrics import dictionary_error, match_atoms

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "docs" / "how_to" / "coming_from.md").read_text()
X, CODES, ATOMS = make_sparse_coded(1000, 8, sparsity=0.2, dictionary="complete", random_state=0)
SHIFTED = X + 3
HRP_ICA = HRP(dictionary="complete", fit_intercept=True, random_state=0).fit(SHIFTED)


picard = importlib.import_module("picard") if importlib.util.find_spec("picard") else None


def ica_classes():
    return [FastICA] if picard is None else [FastICA, picard.Picard]


needs_picard = pytest.mark.skipif(len(ica_classes()) == 1, reason='needs Picard: pip install ".[peers]"')


def table(title, number=0):
    """Rows of a table of a section, as lists of cells."""
    section = TEXT.split(f"## {title}\n")[1].split("\n## ")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines() if line[:1] == "|"]
    return rows[2:]


def names(cell):
    return re.findall(r"`(\w+)(?:\(.*?\))?`", cell)


def column(title, k):
    return [name for row in table(title) for name in names(row[k])]


def test_the_code_runs_and_prints_what_the_comments_say(run_page):
    namespace, printed = run_page("how_to/coming_from.md")
    mixing, unmixing, exact, learning, alone = printed.splitlines()
    assert round(float(mixing), 2) == round(float(unmixing), 2) == round(float(learning), 2) == 0.02
    assert max(float(number) for number in [*exact.split(), alone]) < 1e-14
    assert set(np.count_nonzero(namespace["codes"], axis=1)) <= {0, 1, 2, 3}


class TestEveryName:
    @pytest.mark.parametrize("cls", ica_classes())
    def test_parameters_of_ica(self, cls):
        assert set(inspect.signature(cls).parameters) <= set(column("In place of FastICA or Picard", 0))

    @pytest.mark.parametrize("cls", [DictionaryLearning, MiniBatchDictionaryLearning])
    def test_parameters_of_dictionary_learning(self, cls):
        assert set(inspect.signature(cls).parameters) <= set(column("In place of DictionaryLearning", 0))

    def test_no_name_is_made_up(self):
        """In a first column stands what the others have, in a second one what HRP has."""
        theirs = [FastICA, *ica_classes()], [DictionaryLearning, MiniBatchDictionaryLearning]
        for title, classes in zip(("FastICA or Picard", "DictionaryLearning"), theirs, strict=True):
            known = {name for cls in classes for name in inspect.signature(cls).parameters}
            if len(ica_classes()) == 1:
                known |= {"ortho", "extended", "m", "ls_tries", "lambda_min"}
            assert set(column(f"In place of {title}", 0)) <= known
            assert set(column(f"In place of {title}", 1)) <= set(inspect.signature(HRP).parameters)

    @pytest.mark.parametrize("cls", [*ica_classes(), DictionaryLearning, MiniBatchDictionaryLearning])
    def test_attributes_and_methods(self, cls):
        frame = pd.DataFrame(X, columns=[f"s{i}" for i in range(8)])
        fitted = {name for name in vars(cls(random_state=0).fit(frame)) if re.fullmatch(r"[a-z]\w*[a-z]_", name)}
        k = 0 if cls in ica_classes() else 1
        listed = [row[0 if row[k] == "the same" else k] for row in table("Fitted attributes and the mixing matrix")]
        assert fitted <= set(re.findall(r"\w+_\b", " ".join(listed)))
        methods = {name for name in dir(cls) if not name.startswith("_") and callable(getattr(cls, name))}
        assert methods <= set(column("Methods and functions", 0))

    def test_ours(self):
        ours = {
            name
            for row in table("Fitted attributes and the mixing matrix")
            for name in re.findall(r"\b[a-z]\w*_\b", row[2])
        }
        for name in ours - {"n_steps_"}:
            assert hasattr(HRP_ICA, name), name
        assert isinstance(MiniBatchHRP(random_state=0).fit(X).n_steps_, int)
        for row in table("Methods and functions"):
            for name in names(row[0] if row[1] == "the same" else row[1]):
                assert hasattr(HRP, name) or hasattr(hrpursuit, name), name
        assert hasattr(MiniBatchHRP, "partial_fit")

    def test_nothing_stands_where_there_is_something(self):
        """'none' for ours is true: HRP has no such parameter."""
        for title in ("FastICA or Picard", "DictionaryLearning"):
            for row in table(f"In place of {title}"):
                if row[1] == "none":
                    assert not set(names(row[0])) & set(inspect.signature(HRP).parameters)

    def test_it_is_linked(self):
        for path in ("README.md", "docs/how_to/choosing_t0.md"):
            assert "coming_from.md" in (ROOT / path).read_text()


@pytest.mark.parametrize("cls", ica_classes())
class TestIndependentComponents:
    def test_mixing_and_unmixing(self, cls):
        ica = cls(random_state=0).fit(SHIFTED)
        assert dictionary_error(ica.mixing_.T, HRP_ICA.components_) < 0.1
        assert dictionary_error(ica.components_, HRP_ICA.encoder_.T) < 0.1
        assert dictionary_error(ica.components_, HRP_ICA.components_) > 0.2  # not what it may be taken for

    def test_centring(self, cls):
        ica = cls(random_state=0).fit(SHIFTED)
        assert_allclose(ica.mean_, SHIFTED.mean(axis=0))
        assert_allclose(HRP_ICA.intercept_, 3, atol=1e-13)  # not the mean of the samples
        assert np.abs(SHIFTED.mean(axis=0) - 3).max() > 1e-3
        noisy = SHIFTED + 0.1 * np.random.default_rng(0).standard_normal(X.shape)
        model = HRP(dictionary="complete", fit_intercept=True, random_state=0).fit(noisy)
        assert_allclose(model.intercept_, noisy.mean(axis=0))
        assert not HRP(dictionary="complete", random_state=0).fit(X).intercept_.any()

    def test_start(self, cls):
        start = cls(random_state=0).fit(SHIFTED).mixing_.T
        model = HRP(dictionary="complete", fit_intercept=True, dict_init=start, random_state=0).fit(SHIFTED)
        assert dictionary_error(model.components_, ATOMS) < 1e-13
        assert model.n_iter_ < HRP_ICA.n_iter_

    def test_an_arbitrary_order_there_and_a_fixed_one_here(self, cls):
        there = [cls(random_state=seed).fit(SHIFTED).mixing_ for seed in range(2)]
        here = [HRP(dictionary="complete", random_state=seed).fit(X) for seed in range(2)]
        assert np.abs(there[0] - there[1]).max() > 0.1
        assert_allclose(here[0].components_, here[1].components_, atol=1e-13)
        assert here[0].components_[np.arange(8), np.abs(here[0].components_).argmax(axis=1)].min() > 0
        few = HRP(dictionary="complete", random_state=0).fit(X[:80])  # all of them are looked at
        assert (np.diff(np.abs(few.transform(X[:80])).mean(axis=0)) < 0).all()


def test_variances_and_units():
    scale = 10.0 ** np.arange(-4, 4)
    model = HRP(dictionary="complete", fit_intercept=True, random_state=0).fit(SHIFTED * scale)
    assert dictionary_error(model.components_ / scale, ATOMS) < 1e-12
    assert_allclose(FastICA(random_state=0).fit_transform(SHIFTED).std(axis=0), 1)
    assert np.ptp(HRP_ICA.transform(SHIFTED).std(axis=0)) > 0.01
    assert_allclose(np.linalg.norm(HRP_ICA.components_, axis=1), 1)


def test_fewer_components():
    atoms = np.linalg.qr(np.random.default_rng(0).standard_normal((20, 8)))[0].T  # in a space of 20 features
    wide = X @ atoms + 2
    pipeline = make_pipeline(PCA(8), HRP(dictionary="complete", fit_intercept=True, random_state=0)).fit(wide)
    pca, hrp = pipeline
    assert dictionary_error(hrp.components_ @ pca.components_, ATOMS @ atoms) < 1e-12


@pytest.mark.parametrize("kinds", [["laplace"], ["uniform"], ["laplace", "uniform"]])
def test_dense_sources_without_a_choice_of_density(kinds):
    rng = np.random.default_rng(1)
    draws = {"laplace": lambda: rng.laplace(size=20_000), "uniform": lambda: rng.uniform(-1, 1, size=20_000)}
    S = np.stack([draws[kinds[i % len(kinds)]]() for i in range(8)], axis=1)
    model = HRP(dictionary="complete", fit_intercept=True, random_state=0).fit(S @ ATOMS)
    assert dictionary_error(model.components_, ATOMS) < 0.05
    assert model.verdict_.kind in ("compressible", "not sparse")


def test_orthogonal_atoms_and_one_atom():
    Y, _, atoms = make_sparse_coded(500, 8, sparsity=0.2, random_state=0)
    model = HRP(random_state=0).fit(Y)
    assert_allclose(model.components_ @ model.components_.T, np.eye(8), atol=1e-12)
    assert np.abs(atoms @ recover_atom(Y, random_state=0).atom).max() > 1 - 1e-12
    assert HRP(options=HRPOptions(patience=(8, 8, 8)), random_state=0).fit(Y).n_iter_ <= 16


def test_iterations_and_tolerance_are_of_the_papers_scheme():
    Y = make_sparse_coded(500, 8, sparsity=0.2, random_state=0)[0]
    assert_array_equal(*[HRP(max_iter=n, random_state=0).fit(Y).components_ for n in (1, 50)])
    with pytest.warns(ConvergenceWarning):
        assert HRP(scheme="paper", max_iter=3, random_state=0).fit(Y).n_iter_ == 3


@pytest.mark.filterwarnings("ignore:.*Orthogonal matching pursuit ended prematurely")
class TestDictionaryLearning:
    Y, codes, atoms = make_sparse_coded(500, 20, sparsity=0.15, random_state=0)

    def test_no_centring_there(self):
        model = DictionaryLearning(4, max_iter=5, random_state=0).fit(self.Y)
        codes = model.transform(self.Y)
        assert_allclose(model.inverse_transform(codes), codes @ model.components_)
        assert_allclose(np.linalg.norm(model.components_, axis=1), 1)

    def test_other_numbers_of_atoms(self):
        assert KSVD(n_components=30, n_nonzero_coefs=3, max_iter=2, random_state=0).fit(self.Y).components_.shape == (
            30,
            20,
        )

    def test_nothing_is_shrunk_and_noise_is_estimated(self):
        model = HRP(random_state=0).fit(self.Y)
        assert_allclose(model.inverse_transform(model.transform(self.Y)), self.Y, atol=1e-12)
        noisy = make_sparse_coded(500, 20, sparsity=0.15, snr_db=25, random_state=0)[0]
        assert abs(HRP(random_state=0).fit(noisy).verdict_.snr_db - 25) < 2

    def test_codes(self):
        model = HRP(n_nonzero_coefs=3, random_state=0).fit(self.Y)
        omp = sparse_encode(self.Y, model.components_, algorithm="omp", n_nonzero_coefs=3)
        assert_allclose(model.transform(self.Y), omp, atol=1e-12)
        plain = self.Y @ model.components_.T
        hard = sparse_code(self.Y, model.components_, threshold=0.3)
        assert_allclose(hard, np.where(np.abs(plain) < 0.3, 0, plain))
        soft = sparse_encode(self.Y, model.components_, algorithm="threshold", alpha=0.3)
        assert_allclose(soft, hard - 0.3 * np.sign(hard), atol=1e-12)

    def test_number_of_codes(self):
        learning = DictionaryLearning(20, max_iter=3, random_state=0).fit(self.Y)
        assert np.count_nonzero(learning.transform(self.Y), axis=1).max() == 2  # a tenth of the features
        fits = [
            DictionaryLearning(20, max_iter=3, transform_n_nonzero_coefs=k, random_state=0).fit(self.Y) for k in (1, 5)
        ]
        assert_array_equal(fits[0].components_, fits[1].components_)  # of transform alone
        noisy = make_sparse_coded(500, 20, sparsity=0.15, snr_db=15, random_state=0)[0]
        ours = [HRP(n_nonzero_coefs=k, random_state=0).fit(noisy) for k in (1, None)]
        assert np.count_nonzero(ours[1].transform(noisy), axis=1).min() == 20
        assert ours[0].reconstruction_error(noisy) < sparse_error(noisy, ours[1].components_, 1)  # fitted to it

    def test_start(self):
        start = DictionaryLearning(20, max_iter=3, random_state=0).fit(self.Y).components_
        with pytest.raises(ValueError, match="orthonormal"):
            HRP(dict_init=start).fit(self.Y)
        assert HRP(dictionary="complete", dict_init=start, random_state=0).fit(self.Y).certificate_

    def test_callback(self):
        seen = []
        HRP(random_state=0, callback=lambda iterate: seen.append(iterate) or True).fit(self.Y)
        assert [type(iterate) for iterate in seen] == [hrpursuit.Iterate]

    def test_positive_codes(self):
        model = HRP(random_state=0).fit(np.abs(self.codes) @ self.atoms)
        codes = model.transform(np.abs(self.codes) @ self.atoms)
        order, signs = match_atoms(model.components_, self.atoms)
        assert_allclose(codes[:, order] * signs, np.abs(self.codes), atol=1e-12)

    def test_batches(self):
        cuts = []
        for n_batches in (3, 50):
            model = MiniBatchHRP(random_state=0)
            for batch in np.array_split(self.Y, n_batches):
                model.partial_fit(batch)
            cuts.append(model)
        assert_array_equal(cuts[0].components_, cuts[1].components_)
        assert {"forgetting", "window"} <= set(model.get_params())

    def test_objective_and_stages(self):
        model = HRP(random_state=0).fit(self.Y)
        assert model.objective_ == pytest.approx(np.abs(model.transform(self.Y)).sum(axis=1).mean(), rel=0.2)
        assert all(np.isfinite([stage.objective_before, stage.objective_after]).all() for stage in model.stages_)


def sparse_error(Y, components, k):
    return np.linalg.norm(Y - sparse_code(Y, components, k) @ components) / np.linalg.norm(Y)


class TestMethods:
    def test_transform_and_back(self):
        codes = HRP_ICA.transform(SHIFTED)
        assert_allclose(codes, (SHIFTED - HRP_ICA.intercept_) @ HRP_ICA.encoder_, atol=1e-12)
        assert_allclose(HRP_ICA.inverse_transform(codes), codes @ HRP_ICA.components_ + HRP_ICA.intercept_)
        assert list(HRP_ICA.get_feature_names_out()[:2]) == ["hrp0", "hrp1"]
        assert list(inspect.signature(HRP.inverse_transform).parameters)[1] == "X"

    def test_functions(self):
        whitening, unmixing, _ = fastica(SHIFTED, random_state=0)
        assert dictionary_error(unmixing @ whitening, HRP_ICA.encoder_.T) < 0.1

    @needs_picard
    def test_picard_takes_samples_as_columns(self):
        whitening, unmixing, _ = picard.picard(SHIFTED.T, random_state=0)
        assert dictionary_error(unmixing @ whitening, HRP_ICA.encoder_.T) < 0.1

    def test_positional_parameters_are_an_error(self):
        with pytest.raises(TypeError):
            HRP(10)
