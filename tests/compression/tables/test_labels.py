"""Labels of rows survive, whatever their kind; those that count on take no bytes."""

import datetime

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pandas.testing import assert_index_equal

from hrpursuit.compression import compress, decompress
from hrpursuit.compression.errors import DamagedFile, damage
from hrpursuit.compression.layout import Cursor
from hrpursuit.compression.tables.labels import LabelKind, labels_of

WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
WHOLE = st.integers(-(2**63), 2**63 - 1)
UNITS = st.sampled_from(["s", "ms", "us", "ns"])
ZONES = st.sampled_from([None, "UTC", "Europe/Warsaw", datetime.timezone(datetime.timedelta(hours=-3, minutes=-30))])
FREQUENCIES = ["h", "15min", "D", "B", "W-SUN", "MS", "-1h", "30s", "YE-DEC"]


@st.composite
def times(draw):
    unit, zone = draw(UNITS), draw(ZONES)
    stamps = draw(st.lists(st.integers(-(2**33), 2**33), max_size=20))
    values = np.array(stamps, np.int64).view("M8[s]").astype(f"M8[{unit}]")
    if stamps and draw(st.booleans()):
        values[draw(st.integers(0, len(stamps) - 1))] = np.datetime64("NaT")
    index = pd.DatetimeIndex(values)
    return index if zone is None else index.tz_localize("UTC").tz_convert(zone)


@st.composite
def even_times(draw):
    freq, n = draw(st.sampled_from(FREQUENCIES)), draw(st.integers(0, 30))
    return pd.date_range("2017-10-28 00:00", periods=n, freq=freq, tz=draw(ZONES), unit=draw(UNITS))


def indices():
    return st.one_of(
        times(),
        even_times(),
        st.builds(
            lambda a, n, step: pd.RangeIndex(a, a + n * step, step),
            WHOLE.filter(lambda a: abs(a) < 2**60),
            st.integers(0, 30),
            st.sampled_from([1, 7, -2]),
        ),
        *(
            st.lists(st.integers(np.iinfo(t).min, np.iinfo(t).max)).map(lambda v, t=t: pd.Index(np.array(v, t)))
            for t in ("i1", "i4", "i8", "u2", "u8")
        ),
        st.lists(st.floats(width=32)).map(lambda v: pd.Index(np.array(v, "f4"))),
        st.lists(st.floats()).map(lambda v: pd.Index(np.array(v, "f8"))),
        st.lists(WORDS).map(lambda v: pd.Index(v, dtype="str")),
        st.lists(WORDS).map(lambda v: pd.Index(v, dtype=object)),
        st.lists(WHOLE, max_size=20).map(lambda v: pd.TimedeltaIndex(np.array(v, "i8").view("m8[us]"))),
        st.builds(lambda n, unit: pd.timedelta_range("1h", periods=n, freq="2h", unit=unit), st.integers(0, 20), UNITS),
    )


@given(indices(), st.one_of(st.none(), WORDS, WHOLE), st.integers(1, 7))
def test_an_index_survives_in_chunks(index, name, chunk_rows):
    index = index.rename(name)
    kind, labels = labels_of(index)
    cursor = Cursor(kind.to_bytes())
    back = LabelKind.read(cursor)
    cursor.end()
    assert back == kind
    chunks = [labels[start : start + chunk_rows] for start in range(0, len(index), chunk_rows)]
    parts = [
        back.decode(kind.encode(chunk, place * chunk_rows), place * chunk_rows, len(chunk))
        for place, chunk in enumerate(chunks)
    ] or [back.decode(b"", 0, 0)]
    joined = [label for part in parts for label in part] if kind.kind == "text" else np.concatenate(parts)
    assert_index_equal(back.index(joined), index, exact=True)
    assert getattr(back.index(joined), "freq", None) == getattr(index, "freq", None)


@pytest.mark.parametrize(
    "index",
    [
        pd.date_range("2017-10-01", periods=5000, freq="h", tz="Europe/Warsaw"),
        pd.RangeIndex(5, 50_005, 10),
        pd.Index(np.arange(7, 5007, dtype="u2")),
        pd.timedelta_range("0s", periods=5000, freq="1min"),
    ],
)
def test_labels_that_count_on_take_no_bytes(index):
    kind, labels = labels_of(index)
    assert [kind.encode(labels[at : at + 1000], at) for at in range(0, 5000, 1000)] == [b""] * 5


def test_a_gap_in_the_hours_costs_little():
    hours = pd.date_range("2017-10-01", periods=1000, freq="h")
    kind, labels = labels_of(hours.delete([100, 500, 501]))
    assert 0 < len(kind.encode(labels, 0)) < 60


@pytest.mark.parametrize(
    ("index", "said"),
    [
        (pd.MultiIndex.from_product([[1, 2], ["a"]]), r"reset_index\(\)"),
        (pd.period_range("2020", periods=2, freq="M"), r"to_timestamp\(\)"),
        (pd.CategoricalIndex(["a", "b"]), "categories"),
        (pd.IntervalIndex.from_breaks([0, 1, 2]), "cannot be stored"),
        (pd.Index([True, False]), "cannot be stored"),
        (pd.Index([1 + 2j]), "cannot be stored"),
        (pd.Index(["a", 1], dtype=object), "holds 1 among texts"),
        (pd.Index(["a", None], dtype="str"), "among texts"),
        (pd.Index([1, None], dtype="Int64"), "cannot be stored"),
        (pd.Index([1], name=("a", "b")), "the name of the index"),
        (pd.date_range("2020", periods=3, freq=pd.DateOffset(days=1, hours=1)), "index.freq = None"),
    ],
)
def test_other_indices_are_refused_with_what_to_do(index, said):
    with pytest.raises(ValueError, match=said):
        labels_of(index)


def test_a_zone_without_a_name_is_refused():
    dateutil = pytest.importorskip("dateutil.tz")
    index = pd.date_range("2020", periods=2, tz=dateutil.gettz("Europe/Warsaw"))
    with pytest.raises(ValueError, match="tz_convert"):
        labels_of(index)


def test_no_zone_is_read_from_a_path():
    data = LabelKind("datetime", "ns", tz="dateutil//etc/passwd").to_bytes()
    with pytest.raises(DamagedFile, match="time zone"):
        LabelKind.read(Cursor(data))


@given(st.binary(max_size=60))
def test_any_bytes_are_a_kind_or_damage(data):
    try:
        kind = LabelKind.read(Cursor(data))
    except DamagedFile:
        return
    assert LabelKind.read(Cursor(kind.to_bytes())) == kind


def test_order_is_told():
    kind, labels = labels_of(pd.Index(np.array([1, 2**63 + 5], np.uint64)))
    assert kind.in_order(labels)
    assert not kind.in_order(labels[::-1])
    kind, labels = labels_of(pd.DatetimeIndex(["NaT", "2020-01-01"]))
    assert not kind.in_order(labels)
    kind, labels = labels_of(pd.Index([1.0, np.nan]))
    assert not kind.in_order(labels)


def test_ends_of_chunks_may_be_as_far_apart_as_numbers_of_64_bits_are():
    """Their differences are not: -1 and 2^63 - 1 came back as floats."""
    kind, labels = labels_of(pd.Index([0, -1, 2**63 - 1, -(2**63)]))
    assert kind.read_ends(Cursor(kind.ends_to_bytes(labels)), 2).tolist() == [0, -1, 2**63 - 1, -(2**63)]


def test_zoned_times_beyond_the_years_that_python_knows():
    """pandas keeps them, but cannot show them: such a file was written, and could not be read."""
    far = pd.DatetimeIndex(np.array([973_412_000_000, 973_412_003_600], "M8[s]"))
    assert_index_equal(decompress(compress(pd.DataFrame({"a": [1.0, 2.0]}, index=far), lossless=True)).index, far)
    zoned = far.tz_localize("UTC").tz_convert("Europe/Berlin")
    with pytest.raises(ValueError, match="years 1 to 9999"):
        labels_of(zoned)
    with pytest.raises(ValueError, match="years 1 to 9999"):
        labels_of(zoned.insert(0, pd.NaT))
    assert labels_of(pd.DatetimeIndex([None, None]).tz_localize("Europe/Berlin"))[0].tz == "Europe/Berlin"
    kind = LabelKind("datetime", "s", None, tz="Europe/Berlin")
    with pytest.raises(DamagedFile), damage("the index"):
        list(kind.values(far.asi8))
