"""scikit-learn's own estimator checks, all of them."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from hrpursuit import HRP, MiniBatchHRP

ESTIMATORS = [
    HRP(random_state=0),
    HRP(scheme="paper", random_state=0),
    HRP(dictionary="complete", random_state=0),
    HRP(dictionary="complete", scheme="paper", random_state=0),
    HRP(n_nonzero_coefs=1, random_state=0),
    HRP(n_nonzero_coefs=1, dictionary="complete", random_state=0),
    MiniBatchHRP(random_state=0),
    MiniBatchHRP(dictionary="complete", random_state=0),
    MiniBatchHRP(fit_intercept=True, dictionary="complete", random_state=0),
    MiniBatchHRP(n_nonzero_coefs=1, random_state=0),
    MiniBatchHRP(n_nonzero_coefs=1, dictionary="complete", random_state=0),
]


@pytest.mark.filterwarnings(
    "ignore:HRP did not reach tol:sklearn.exceptions.ConvergenceWarning"
)  # of the paper's scheme
@parametrize_with_checks(ESTIMATORS)
def test_estimator_contract(estimator, check):
    check(estimator)
