"""What all chunks share: groups of columns and their bases."""

import numpy as np
import pytest

from hrpursuit.compression.chunks.bases import SENT, Basis, Group, read_groups, write_groups
from hrpursuit.compression.errors import DamagedFile
from hrpursuit.compression.layout import shorter, varint, varints


def test_groups_come_back():
    rng = np.random.default_rng(0)
    number = rng.integers(0, 40, 1000)
    groups = [Group(np.flatnonzero(number == i), Basis()) for i in range(40)]
    found = read_groups(write_groups(groups, 1000), 1000)
    assert len(found) == 40
    assert all(np.array_equal(a.columns, b.columns) for a, b in zip(groups, found, strict=True))


def test_a_sent_basis_comes_back():
    rng = np.random.default_rng(0)
    basis = Basis(SENT, order=rng.permutation(7), sent=rng.integers(-9, 10, (3, 7)))
    found = read_groups(write_groups([Group(np.arange(7), basis)], 7), 7)[0].basis
    assert np.array_equal(found.order, basis.order)
    assert np.array_equal(found.sent, basis.sent)
    atoms = found.atoms(7) / 2.0**24
    assert np.allclose(atoms @ atoms.T, np.eye(7), atol=1e-5)


@pytest.mark.parametrize("kind", [0, SENT])
def test_a_group_without_columns_is_damage(kind):
    """The kernels index the first and the last column of a group."""
    numbers = shorter(varints([0, 0, 2]))
    bases = b"\x00" + (bytes([SENT, 0, 0]) if kind == SENT else b"\x00") + b"\x00"
    with pytest.raises(DamagedFile, match="no columns"):
        read_groups(varint(3) + varint(len(numbers)) + numbers + bases, 3)


def test_columns_without_a_group_are_damage():
    with pytest.raises(DamagedFile, match="no group"):
        read_groups(varint(0), 3)
