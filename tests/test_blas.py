"""The limit on threads of linear algebra is lifted whatever happens."""

import pytest

from hrpursuit import blas


class Library:
    """Stands for a linear algebra library; Ctrl-C comes at the given call, before or after it has done its work."""

    def __init__(self, n_threads, interrupted_at=None, *, before=True):
        self._n_threads, self._n_calls = n_threads, 0
        self._interrupted_at, self._before = interrupted_at, before

    def _call(self, work):
        self._n_calls += 1
        is_now = self._n_calls == self._interrupted_at
        if is_now and self._before:
            raise KeyboardInterrupt
        found = work()
        if is_now:
            raise KeyboardInterrupt
        return found

    @property
    def num_threads(self):
        return self._call(lambda: self._n_threads)

    def set_num_threads(self, n_threads):
        self._call(lambda: setattr(self, "_n_threads", n_threads))


@pytest.fixture
def loaded(monkeypatch):
    """Let these be the libraries that are loaded."""
    monkeypatch.setattr(blas, "_shared", blas._SharedLimit())
    return lambda *libraries: monkeypatch.setattr(blas, "_libraries", lambda: list(libraries))


def test_the_limit_holds_inside_and_until_the_last_has_left(loaded):
    libraries = Library(4), Library(1), Library(2)
    loaded(*libraries)
    with blas.one_blas_thread():
        with blas.one_blas_thread():
            assert [one.num_threads for one in libraries] == [1, 1, 1]
        assert [one.num_threads for one in libraries] == [1, 1, 1]
    assert [one.num_threads for one in libraries] == [4, 1, 2]


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("call", [1, 2, 3])  # to ask for the number of threads, to set it to 1, to set it back
@pytest.mark.parametrize("which", [0, 1])
def test_an_interrupt_leaves_no_limit(loaded, which, call, before):
    libraries = [Library(4), Library(2)]
    n_threads = libraries[which]._n_threads
    libraries[which] = Library(n_threads, call, before=before)
    loaded(*libraries)
    with pytest.raises(KeyboardInterrupt), blas.one_blas_thread():
        pass
    assert [one.num_threads for one in libraries] == [4, 2]
    with blas.one_blas_thread():
        assert [one.num_threads for one in libraries] == [1, 1]
    assert [one.num_threads for one in libraries] == [4, 2]
