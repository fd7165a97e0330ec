"""Names of columns survive, in few bytes where they count on."""

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pandas.testing import assert_index_equal

from hrpursuit.compression.errors import DamagedFile
from hrpursuit.compression.layout import Cursor, shorter
from hrpursuit.compression.tables.names import Names

WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
NUMBERED = st.builds("{}{:0{}d}{}".format, WORDS, st.integers(0, 300), st.integers(1, 4), WORDS)
WHOLE = st.integers(-(2**63), 2**63 - 1)


def indices():
    return st.one_of(
        st.lists(st.one_of(WORDS, NUMBERED)).map(lambda names: pd.Index(names, dtype="str")),
        st.lists(st.one_of(WORDS, NUMBERED, WHOLE)).map(lambda names: pd.Index(names, dtype=object)),
        st.lists(WHOLE).map(lambda names: pd.Index(names, dtype="int64")),
        st.lists(st.integers(0, 255)).map(lambda names: pd.Index(names, dtype="uint8")),
        st.builds(
            lambda a, n, step: pd.RangeIndex(a, a + n * step, step),
            st.integers(-9, 9),
            st.integers(0, 9),
            st.sampled_from([1, 3, -2]),
        ),
    )


@given(indices(), st.one_of(st.none(), WORDS, WHOLE))
def test_names_survive(index, name):
    index = index.rename(name)
    cursor = Cursor(Names.of(index).to_bytes())
    assert_index_equal(Names.read(cursor, len(index)).index(), index, exact=True)
    cursor.end()


@pytest.mark.parametrize(
    ("names", "most"),
    [
        ([f"s{i:02d}" for i in range(1, 57)], 12),
        ([f"{i}_pm25" for i in range(171, 227)], 17),
        ([f"room 7, sensor {i}" for i in range(1000)], 35),
        ([f"{17 * i % 97 + 100}_pm10" for i in range(56)], 80),
        (list(range(10, 5000, 10)), 10),
    ],
)
def test_names_that_count_on_are_short(names, most):
    data = Names.of(pd.Index(names)).to_bytes()
    assert min(len(data), len(shorter(data))) <= most


@pytest.mark.parametrize(
    "name", ["s007", "7", "0", "00", "x00y0", "1" * 40, "٣", "a\nb1", "\ud800", "", "0" * 30, "-1", "s-01"]
)
def test_names_that_only_look_like_numbers(name):
    index = pd.Index([name, "s01", name, "s2"], dtype=object)
    assert list(Names.read(Cursor(Names.of(index).to_bytes()), 4).values) == list(index)


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        (pd.MultiIndex.from_tuples([("a", 1)]), "several levels"),
        (pd.Index([1.5, 2.5]), "texts or whole numbers"),
        (pd.Index([True, False]), "texts or whole numbers"),
        (pd.Index(["a", None], dtype=object), "got None: rename that column"),
        (pd.Index([("a", 1)], tupleize_cols=False), "rename that column"),
        (pd.CategoricalIndex(["a", "b"]), "category"),
        (pd.date_range("2020", periods=2), "texts or whole numbers"),
        (pd.Index(["a"], name=1.5), "the name of the columns"),
        (pd.Index([2**70], dtype=object), "64 bits"),
    ],
)
def test_other_names_are_refused(columns, said):
    with pytest.raises(ValueError, match=said):
        Names.of(columns)


@given(st.binary(max_size=60), st.integers(0, 2**20))
def test_any_bytes_are_names_or_damage(data, n_columns):
    try:
        names = Names.read(Cursor(data), n_columns)
    except DamagedFile:
        return
    assert len(names.values) == n_columns


def test_many_names_are_one_group_and_no_bomb():
    index = pd.Index([f"a rather long name of a sensor in a room, number {i}" for i in range(2**16)])
    data = Names.of(index).to_bytes()
    assert len(data) < 80
    assert list(Names.read(Cursor(data), 2**16).values) == list(index)
    bomb = b"\x02\x00" + (b"\x00" + b"\xff\xff\x03" + b"x" * 65535 + b"\x80\x80\x04") * 2
    with pytest.raises(DamagedFile, match="too much memory"):
        Names.read(Cursor(bomb), 2**20)
