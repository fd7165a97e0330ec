import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hrpursuit.core.tournament import SMALLEST_GROUPED, round_robin, schedule


@given(n=st.one_of(st.integers(1, 40), st.integers(SMALLEST_GROUPED, SMALLEST_GROUPED + 90)))
def test_every_pair_is_visited_once(n):
    pairs = schedule(n).pairs
    assert len(pairs) == n * (n - 1) // 2
    assert np.all(pairs[:, 0] < pairs[:, 1])
    assert len(np.unique(pairs[:, 0].astype(int) * n + pairs[:, 1])) == len(pairs)


@pytest.mark.parametrize("n", [150, 200, 257, 500])
def test_tasks_of_a_round_share_no_atom_and_cover_the_pairs(n):
    plan = schedule(n)
    reached = 0
    for tasks in plan.rounds:
        atoms = [set(plan.pairs[first:last].ravel()) for first, last in tasks]
        assert sum(map(len, atoms)) == len(set.union(*atoms))
        for first, last in tasks:
            assert first == reached
            reached = last
    assert reached == len(plan.pairs)


@given(n=st.integers(2, 30))
def test_nobody_plays_twice_in_a_round(n):
    for games in round_robin(n):
        players = [player for game in games for player in game]
        assert len(players) == len(set(players))
