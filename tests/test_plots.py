import numpy as np
import pytest

from hrpursuit.plots import plot_atoms


@pytest.mark.parametrize("shape", [(6, 4, 5), (6, 4, 5, 3)])
def test_atoms_are_drawn_most_used_first(shape):
    atoms = np.random.default_rng(0).standard_normal(shape)
    usage = np.array([1.0, 5.0, 2.0, 6.0, 3.0, 4.0])
    figure = plot_atoms(atoms, usage)
    picture = figure.axes[0].images[0].get_array()
    first = picture[1:5, 1:6] if len(shape) == 4 else picture[1:5, 1:6, 0]
    assert np.abs(first - 0.5).max() == pytest.approx(0.5)
    assert np.corrcoef(np.ravel(first), np.ravel(atoms[3]))[0, 1] == pytest.approx(1)
    last = picture[6:10, 13:18] if len(shape) == 4 else picture[6:10, 13:18, 0]
    assert np.corrcoef(np.ravel(last), np.ravel(atoms[0]))[0, 1] == pytest.approx(1)
    assert "6 atoms" in figure.axes[0].get_title()


def test_what_is_no_atoms_is_refused():
    with pytest.raises(ValueError, match=r"atoms must have shape .*got \(0, 4, 4\)"):
        plot_atoms(np.empty((0, 4, 4)))
    with pytest.raises(ValueError, match="atoms must have shape"):
        plot_atoms(np.eye(4))
    with pytest.raises(ValueError, match="usage must have one number for each of 4 atoms"):
        plot_atoms(np.zeros((4, 2, 2)), np.ones(3))
