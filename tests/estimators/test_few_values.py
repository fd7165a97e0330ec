import numpy as np
import pytest

from hrpursuit import HRP
from hrpursuit.core.manifolds import normalize_rows
from hrpursuit.metrics import dictionary_error


def zero_or_one(seed, n_samples, n_features, share):
    rng = np.random.default_rng([seed, n_features, n_samples, 70])
    codes = (rng.random((n_samples, n_features)) < share) * 1.0
    return codes, normalize_rows(rng.standard_normal((n_features, n_features)))


@pytest.mark.parametrize(("n_samples", "share"), [(300, 0.2), (2000, 0.15)])
@pytest.mark.parametrize("seed", range(5))
def test_sums_of_atoms_are_not_certified(seed, n_samples, share):
    """With codes of 0 and 1 sums of atoms have many zero codes, too: 4 of these 10 fits were certified and wrong."""
    codes, components = zero_or_one(seed, n_samples, 10, share)
    model = HRP(dictionary="complete", random_state=0).fit(codes @ components)
    error = dictionary_error(model.components_, components)
    assert error < 1e-11 or (not model.certificate_ and model.verdict_.kind == "undetermined")
