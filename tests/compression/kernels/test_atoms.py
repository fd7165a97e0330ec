"""Bases that are sent: orthonormal in integers, and the same on both sides."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.fft import dct

from hrpursuit.compression.chunks.bases import DICTIONARY, SENT, Basis, Group, read_groups, write_groups
from hrpursuit.compression.kernels.atoms import UNIT, cosine_atoms, sent_basis
from hrpursuit.compression.layout import Cursor


@pytest.mark.parametrize("n", [1, 2, 3, 8, 56, 128])
def test_cosines_are_those_of_the_transform(n):
    exact = dct(np.eye(n), type=2, norm="ortho", axis=0)
    np.testing.assert_allclose(cosine_atoms(n) / UNIT, exact, atol=1e-7)
    np.testing.assert_allclose(cosine_atoms(n) @ cosine_atoms(n).T / UNIT**2, np.eye(n), atol=1e-6)


@st.composite
def sent(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n = draw(st.integers(1, 20))
    atoms = rng.integers(-9, 10, (draw(st.integers(0, min(n, 12))), n))
    if len(atoms) > 2 and draw(st.booleans()):
        atoms[1] = 2 * atoms[0]  # says nothing new
    if len(atoms) > 1 and draw(st.booleans()):
        atoms[-1] = 0
    return Basis(SENT, order=rng.permutation(n), sent=atoms)


@given(sent())
def test_a_sent_basis_is_orthonormal_and_comes_back(basis):
    n = len(basis.order)
    atoms = sent_basis(basis.order, basis.sent)
    np.testing.assert_allclose(atoms @ atoms.T / UNIT**2, np.eye(n), atol=2e-6)
    cursor = Cursor(basis.to_bytes())
    back = Basis.from_cursor(cursor, n)
    cursor.end()
    np.testing.assert_array_equal(back.order, basis.order)
    np.testing.assert_array_equal(back.sent, basis.sent)
    np.testing.assert_array_equal(back.atoms(n), atoms)


def test_the_first_atom_that_is_sent_stays_the_first(rng):
    order, atoms = rng.permutation(12), np.zeros((2, 12), np.int64)
    atoms[0, :3], atoms[1, :3] = (8, 4, -1), (-4, 8, 1)
    basis = sent_basis(order, atoms) / UNIT
    cosines = cosine_atoms(12)[:, np.argsort(order)] / UNIT
    np.testing.assert_allclose(basis[0], atoms[0] @ cosines / 9, atol=1e-6)
    assert abs(basis[1] @ (atoms[1] @ cosines / 9)) > 0.99


@given(st.integers(0, 2**32), st.integers(1, 12), st.integers(1, 20), st.integers(5, 14))
def test_a_dictionary_comes_back(seed, n, n_atoms, precision):
    rng = np.random.default_rng(seed)
    dictionary = rng.integers(-(1 << precision), (1 << precision) + 1, (n_atoms, n))
    basis = Basis(DICTIONARY, dictionary=dictionary, precision=precision, n_nonzero=rng.integers(1, n + 1))
    back = Basis.from_cursor(Cursor(basis.to_bytes()), n)
    np.testing.assert_array_equal(back.dictionary, dictionary)
    assert (back.precision, back.n_nonzero) == (precision, basis.n_nonzero)


def test_groups_come_back():
    groups = [
        Group(np.array([0, 3]), Basis()),
        Group(np.array([1, 4]), Basis(SENT, order=np.array([1, 0]), sent=np.array([[9, -1]]))),
        Group(np.array([2]), Basis(DICTIONARY, dictionary=np.array([[64]]), precision=6, n_nonzero=1)),
    ]
    back = read_groups(write_groups(groups, 5), 5)
    assert [group.columns.tolist() for group in back] == [[0, 3], [1, 4], [2]]
    assert [group.basis.kind for group in back] == [0, 1, 2]
    assert back[1].basis.sent.tolist() == [[9, -1]]
    assert write_groups([Group(np.arange(5), Basis())], 5) == b""
    assert read_groups(b"", 5)[0].columns.tolist() == [0, 1, 2, 3, 4]
