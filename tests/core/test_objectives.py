import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from hrpursuit.core.objectives import L1Norm, LogCosh, LpNorm

OBJECTIVES = [LpNorm(2.5), LpNorm(3), LpNorm(4), LpNorm(6), L1Norm(), LogCosh(0.5), LogCosh(0.01)]
codes = st.integers(0, 2**32 - 1).map(lambda seed: np.random.default_rng(seed).uniform(0.05, 2, (4, 3)))


@pytest.mark.parametrize("objective", OBJECTIVES, ids=repr)
@given(S=codes, seed=st.integers(0, 2**32 - 1))
def test_score_is_the_derivative(objective, S, seed):
    rng = np.random.default_rng(seed)
    S = S * rng.choice([-1, 1], S.shape)
    direction = rng.standard_normal(S.shape)
    h = 1e-6
    slope = (objective.value(S + h * direction) - objective.value(S - h * direction)) / (2 * h)
    assert_allclose(slope, np.vdot(objective.score(S), direction), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("objective", [o for o in OBJECTIVES if o.degree is not None], ids=repr)
@given(S=codes, factor=st.floats(0.1, 10))
def test_degree_is_that_of_homogeneity(objective, S, factor):
    assert_allclose(objective.value(factor * S), factor**objective.degree * objective.value(S), rtol=1e-10)


def test_values_are_the_plain_formulas():
    S = np.array([[1.0, -2.0], [0.0, 3.0]])
    assert_allclose(LpNorm(3).value(S), (1 + 8 + 27) / 3)
    assert_allclose(LpNorm(4).value(S), (1 + 16 + 81) / 4)
    assert_allclose(L1Norm().value(S), 6)
    assert_allclose(LogCosh(0.7).value(S), np.sum(0.7 * np.log(np.cosh(S / 0.7))))
    assert_allclose(L1Norm().score(S), [[1, -1], [0, 1]])


def test_log_cosh_does_not_overflow_and_approaches_l1():
    S = np.array([[1e8, -1e8]])
    assert_allclose(LogCosh(1e-3).value(S), 2e8)


@pytest.mark.parametrize(("kind", "value"), [(LpNorm, 2), (LpNorm, 1.5), (LogCosh, 0), (LogCosh, -1)])
def test_parameters_out_of_range_are_refused(kind, value):
    with pytest.raises(ValueError, match=f"got {value}"):
        kind(value)
