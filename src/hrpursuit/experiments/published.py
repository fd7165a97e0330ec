"""Settings of the published convergence and sample-complexity curves, which are not those of Algorithm 1's code."""

from collections.abc import Callable, Iterator

from hrpursuit.core.evaluate import value_and_grad
from hrpursuit.core.manifolds import OrthogonalGroup, Sphere
from hrpursuit.core.objectives import L1Norm
from hrpursuit.core.protocols import Array, Manifold, Rows

GROUP, SPHERE = "orthogonal group", "sphere"
#: By name: the manifold, and the factor of Stage Two's step size after a step that does not lower the objective.
MANIFOLDS: dict[str, tuple[Callable[[], Manifold], float]] = {GROUP: (OrthogonalGroup, 0.9), SPHERE: (Sphere, 0.85)}
N_ACCEPTED = 50
_SMALLEST_STEP = 1e-12  # nothing below it can lower the objective by more than rounding


def adaptive_stage_two(
    rows: Rows, R: Array, manifold: Manifold, shrink: float, n_accepted: int = N_ACCEPTED, *, always: bool = False
) -> Iterator[tuple[Array, float]]:
    """Stage Two in the tangent space at R, with a step size that starts at 1.

    A step is accepted if it lowers the l1 norm of the codes; if not, the step size is multiplied by `shrink` for good.
    With `always` it is multiplied before every step as well.
    Yields each accepted point, still in the tangent space, with its l1 norm per row.
    """
    n_samples = rows.n_samples or 1
    W, tau, n_done = R, 1.0, 0
    value, G = value_and_grad(rows, W, L1Norm())
    while n_done < n_accepted and tau > _SMALLEST_STEP:
        if always:
            tau *= shrink
        W_next = W - tau * manifold.tangent(R, G / n_samples)
        value_next, G_next = value_and_grad(rows, W_next, L1Norm())
        if value_next < value:
            W, value, G = W_next, value_next, G_next
            n_done += 1
            yield W, value / n_samples
        else:
            tau *= shrink
