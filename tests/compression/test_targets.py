"""A target for all columns or by column: exactly one; what is wrong with it is said; the header has it in few bytes."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hrpursuit.compression import DamagedFile, Decoder, Encoder, Target, compress, decompress
from hrpursuit.compression.layout import Cursor
from hrpursuit.compression.parameters import check_settings, read_bounds

TABLE = np.arange(12.0).reshape(4, 3)
NAMES = ["flow", "temp_1", "temp_2", "status"]
FRAME = pd.DataFrame(np.arange(20.0).reshape(5, 4), columns=NAMES)


def bounds_of(table, **given):
    """As a reader finds them in the file."""
    target = Decoder(compress(table, **given)).target
    return target.bounds(table.shape[1]).tolist()


class TestOneForAll:
    @pytest.mark.parametrize(
        ("given", "target"),
        [
            ({"relative_rmse": 0.05}, Target("relative_rmse", 0.05)),
            ({"max_error": 2}, Target("max_error", 2.0)),
            ({"max_error": np.float32(0.5)}, Target("max_error", 0.5)),
            ({"max_error": {None: 2}}, Target("max_error", 2.0)),
            ({"max_error": [2, 2.0, np.float32(2)]}, Target("max_error", 2.0)),
            ({"max_error": [0, 0, 0]}, Target("lossless")),
            ({"max_error": 2, "lossless": [0, 1, 2]}, Target("lossless")),
            ({"n_nonzero_coefs": np.int64(2)}, Target("n_nonzero_coefs", 2)),
            ({"lossless": True}, Target("lossless", 0.0)),
        ],
    )
    def test_each_alone(self, given, target):
        assert Decoder(compress(TABLE, **given)).target == target
        encoder = Encoder(**given)
        assert encoder.target is None
        data = encoder.append(TABLE) + encoder.finish()
        assert encoder.target == Decoder(data).target == target

    @pytest.mark.parametrize(
        ("given", "said"),
        [
            ({}, "exactly one .* got none"),
            ({"lossless": ["a"]}, "got none. Columns that are lossless need one for the others"),
            ({"relative_rmse": 0.1, "lossless": True}, "relative_rmse and lossless"),
            ({"relative_rmse": 0.1, "max_error": 1}, "relative_rmse and max_error"),
            ({"max_error": 1, "relative_error": 0.1}, "max_error and relative_error"),
            ({"relative_rmse": 5}, "For 5% give 0.05"),
            ({"relative_rmse": 0}, "lossless=True"),
            ({"relative_rmse": -0.1}, "above 0 and below 1"),
            ({"relative_rmse": float("nan")}, "above 0 and below 1"),
            ({"relative_rmse": "5%"}, "fraction"),
            ({"relative_rmse": True}, "fraction"),
            ({"relative_rmse": [0.1, 0.2, 0.3]}, "fraction"),
            ({"relative_error": 2}, "relative_error .* For 2% give 0.02"),
            ({"relative_error": -0.5}, "relative_error must be a fraction above 0"),
            ({"relative_error": {None: 1.5}}, "relative_error of column None .* below 1"),
            ({"max_error": 0}, "lossless=True"),
            ({"max_error": -1}, "finite number above 0"),
            ({"max_error": float("inf")}, "finite"),
            ({"max_error": float("nan")}, "finite"),
            ({"max_error": True}, "a number, a mapping .*; got True"),
            ({"max_error": "5"}, "a number, a mapping .*; got '5'"),
            ({"max_error": 10**400}, "finite"),
            ({"max_error": [[1.0, 2.0, 3.0]]}, "one number per column"),
            ({"max_error": [1.0, -2.0, 3.0]}, "max_error of column 1 must be a finite number at least 0"),
            ({"max_error": [1.0, float("nan"), 3.0]}, "max_error of column 1"),
            ({"max_error": [1.0, True, 3.0]}, "max_error of column 1"),
            ({"max_error": {0: float("nan"), None: 1}}, "max_error of column 0 .* give 0 or 'lossless'"),
            ({"max_error": {"flow": "exact"}}, "max_error of column 'flow' must be a finite number"),
            ({"n_nonzero_coefs": 0}, "whole number from 1"),
            ({"n_nonzero_coefs": 2.5}, "whole number"),
            ({"n_nonzero_coefs": True}, "whole number"),
            ({"lossless": 1}, "True or False, or a list"),
            ({"lossless": "status", "max_error": 1}, r"a list of columns as \['status'\]"),
        ],
    )
    def test_what_is_wrong_is_said_before_there_are_rows(self, given, said):
        for call in (lambda: compress(TABLE, **given), lambda: Encoder(**given)):
            with pytest.raises(ValueError, match=said):
                call()


class TestByColumn:
    @pytest.mark.parametrize(
        ("given", "bounds"),
        [
            ({"max_error": {"flow": 1, "temp_1": 2, "temp_2": 3, "status": 4}}, [1, 2, 3, 4]),
            ({"max_error": {"flow": 1, None: 2}}, [1, 2, 2, 2]),
            ({"max_error": {"temp*": 0.5, "*": 2}}, [2, 0.5, 0.5, 2]),
            ({"max_error": {"*": 2, "temp*": 0.5}}, [2, 2, 2, 2]),  # the first that fits
            ({"max_error": {"*": 2, "temp_1": 0.5}}, [2, 0.5, 2, 2]),  # a name comes first
            ({"max_error": {"temp_?": 0.5, "status": "lossless", None: 2}}, [2, 0.5, 0.5, 0]),
            ({"max_error": {"status": 0, None: 2}}, [2, 2, 2, 0]),
            ({"max_error": 2, "lossless": ["status"]}, [2, 2, 2, 0]),
            ({"max_error": {"*": 2}, "lossless": ["s*", "flow"]}, [0, 2, 2, 0]),
            ({"max_error": {"flow": 1, "temp*": 2}, "lossless": ["status"]}, [1, 2, 2, 0]),
            ({"max_error": [1, 2, 3, 0]}, [1, 2, 3, 0]),
            ({"max_error": np.array([1, 2, 3, 4]), "lossless": ["flow"]}, [0, 2, 3, 4]),
            ({"max_error": pd.Series([4.0, 3, 2, 1], index=NAMES[::-1])}, [1, 2, 3, 4]),
            ({"relative_rmse": 0.1, "lossless": ["status"]}, [np.inf, np.inf, np.inf, 0]),
            ({"n_nonzero_coefs": 2, "lossless": ["temp_1"]}, [np.inf, 0, np.inf, np.inf]),
        ],
    )
    def test_by_name_pattern_default_and_place(self, given, bounds):
        assert bounds_of(FRAME, **given) == bounds
        encoder = Encoder(chunk_rows=3, **given)
        data = b"".join([encoder.append(FRAME[:2]), encoder.append(FRAME[2:]), encoder.finish()])
        assert Decoder(data).target.bounds(4).tolist() == bounds

    def test_columns_of_arrays_have_numbers(self):
        assert bounds_of(TABLE, max_error={0: 1, np.int64(2): 3, None: 2}) == [1, 2, 3]
        assert bounds_of(TABLE, max_error={"0": 1, "*": 2}) == [1, 2, 2]  # as the command line has them
        assert bounds_of(TABLE, max_error=1, lossless=[2]) == [1, 1, 0]

    def test_a_name_may_look_like_a_pattern(self):
        table = pd.DataFrame(np.arange(8.0).reshape(2, 4), columns=["t[C]", "tC", "a*", "ab"])
        assert bounds_of(table, max_error={"t[C]": 1, "a*": 2, None: 3}) == [1, 3, 2, 3]

    def test_columns_that_share_a_name_share_a_bound(self):
        table = pd.DataFrame(np.arange(6.0).reshape(2, 3), columns=["a", "b", "a"])
        assert bounds_of(table, max_error={"a": 1, "b": 2}) == [1, 2, 1]

    @pytest.mark.parametrize(
        ("given", "said"),
        [
            (
                {"max_error": {"flw": 1, None: 2}},
                "max_error: there is no column 'flw'; the table has the columns 'flow'",
            ),
            ({"max_error": {"Temp*": 1, None: 2}}, r"max_error: the pattern 'Temp\*' fits no column; the table has"),
            ({"max_error": {0: 1, None: 2}}, "there is no column 0"),
            ({"max_error": {True: 1, None: 2}}, "there is no column True"),
            ({"max_error": {"flow": 1}}, "nothing about the columns 'temp_1', 'temp_2', 'status'; add them, or None"),
            ({"max_error": {"flow": 1, "temp*": 1}}, "nothing about the column 'status'; add it"),
            ({"max_error": {}}, r"\(4 in all\)|nothing about"),
            ({"max_error": [1, 2, 3]}, "max_error has 3 entries for 4 columns; give one per column"),
            ({"relative_error": [0.1, 0.2, 0.3]}, "relative_error has 3 entries for 4 columns"),
            ({"relative_rmse": 0.1, "lossless": ["state"]}, "lossless: there is no column 'state'"),
            ({"relative_rmse": 0.1, "lossless": ["x*"]}, r"lossless: the pattern 'x\*' fits no column"),
            ({"relative_rmse": 0.1, "lossless": [["flow"]]}, "lossless: there is no column"),
            (
                {"max_error": {"status": 1, None: 2}, "lossless": ["status"]},
                "'status' is in lossless, and max_error is 1",
            ),
            ({"n_nonzero_coefs": 4, "lossless": ["status"]}, "more than the 3 columns .* not lossless"),
        ],
    )
    def test_what_is_wrong_is_said_when_the_columns_are_known(self, given, said):
        with pytest.raises(ValueError, match=said):
            compress(FRAME, **given)
        encoder = Encoder(chunk_rows=5, **given)
        with pytest.raises(ValueError, match=said):
            encoder.append(FRAME)

    def test_names_of_many_columns_are_cut_short(self):
        with pytest.raises(ValueError, match=r"the columns 0 to 2\."):
            compress(TABLE, max_error={7: 1, None: 1})
        wide = pd.DataFrame(np.zeros((1, 40)), columns=[f"s{i}" for i in range(40)])
        with pytest.raises(ValueError, match=r"'s0', 's1', 's2', 's3', 's4', \.\.\. \(40 in all\)"):
            compress(wide, max_error={"t": 1})

    def test_tables_without_columns_take_any_target(self):
        for asked in ({"max_error": {"*": 1}}, {"relative_error": 0.1}, {"max_error": 1, "lossless": ["a"]}):
            assert decompress(compress(np.zeros((3, 0)), **asked)).shape == (3, 0)
        assert Decoder(compress(np.zeros((3, 0)), max_error=2)).target == Target("max_error", 2.0)


class TestShareOfTheRange:
    def test_each_column_by_its_largest_minus_its_smallest_reading(self):
        table = pd.DataFrame(
            {
                "kelvin": [280.0, 300.0, np.nan, 290.0],
                "flow": [1e-6, -2e-6, np.inf, 0.0],
                "count": np.array([7, 7, 9, 107], dtype=np.uint8),
                "constant": 5.0,
                "empty": np.nan,
                "single": np.array([0.1, 0.2, 0.3, 0.8], dtype=np.float32),
                "is_on": [True, False, True, True],
            }
        )
        assert bounds_of(table, relative_error=0.1) == [2.0, 3e-7, 10.0, 0.0, 0.0, 0.07, 0.0]
        assert bounds_of(table, relative_error={"kelvin": 0.01, None: "lossless"}) == [0.2, 0, 0, 0, 0, 0, 0]
        assert bounds_of(table, relative_error=0.1, lossless=["c*"]) == [2.0, 3e-7, 0.0, 0.0, 0.0, 0.07, 0.0]

    def test_bounds_are_rounded_down_in_decimals(self):
        table = np.array([[0.0, 0.0, 0.0], [0.7, 12.3456, 1 / 3]])
        assert bounds_of(table, relative_error=0.1) == [0.07, 1.234, 0.03333]  # .1 * .7 is .06999 in floats

    @pytest.mark.parametrize("ends", [(-1.7e308, 1.7e308), (0.0, 5e-324), (1e22, 1e22 + 2**22), (-3, 2**62)])
    def test_ranges_of_any_size(self, ends):
        table = np.array([ends]).T
        share = 0.25
        back = decompress(compress(table, relative_error=share))
        size = 2.0**-70 if max(ends) > 1e300 else 1.0
        range_ = float(ends[1]) * size - float(ends[0]) * size
        assert (np.abs(back * size - table * size) <= share * range_).all()

    def test_a_stream_takes_the_range_of_its_first_chunk(self, rng):
        table = np.round(rng.uniform(0, [[1, 100, 10000]], (60, 3)), 2)
        table[20:] *= 50
        encoder = Encoder(relative_error=0.05, chunk_rows=20)
        data = b"".join([*(encoder.append(table[i : i + 7]) for i in range(0, 60, 7)), encoder.finish()])
        ranges = np.ptp(table[:20], axis=0)
        bounds = Decoder(data).target.bounds(3)
        assert (bounds <= 0.05 * ranges * (1 + 1e-12)).all()
        assert (bounds > 0.0499 * ranges).all()
        assert (np.abs(decompress(data) - table).max(axis=0) <= bounds).all()

    def test_a_stream_without_rows_is_lossless(self):
        encoder = Encoder(relative_error=0.05)
        encoder.append(TABLE[:0])
        assert Decoder(encoder.finish()).target == Target("lossless")


class TestHeader:
    @pytest.mark.parametrize(
        ("target", "n_bytes"),
        [
            (Target("lossless"), 1),
            (Target("max_error", 1.0), 4),  # length, kind, and 2 bytes for the bound of all 1,000 columns
            (Target("relative_rmse", 0.05), 4),
            (Target("n_nonzero_coefs", 5), 3),
            (Target.of_columns("max_error", [0.5] * 999 + [0.0]), 8),
            (Target.of_columns("max_error", [0.5, 0.0] * 500), 30),
        ],
    )
    def test_few_bytes_for_a_thousand_columns(self, target, n_bytes):
        data = target.to_bytes()
        assert len(data) <= n_bytes
        cursor = Cursor(data + b"rest")
        assert Target.read(cursor, 1000) == target
        assert cursor.rest() == b"rest"

    @given(
        data=st.data(),
        n_columns=st.integers(1, 12),
        kind=st.sampled_from(["max_error", "relative_rmse", "n_nonzero_coefs"]),
    )
    def test_any_target_comes_back(self, data, n_columns, kind):
        amount = {
            "max_error": st.floats(0, 1.7e308),
            "relative_rmse": st.sampled_from([0.0, 0.0123]),
            "n_nonzero_coefs": st.sampled_from([0, 7]),
        }[kind]
        amounts = data.draw(st.lists(st.one_of(st.just(0), amount), min_size=n_columns, max_size=n_columns))
        target = Target.of_columns(kind, amounts)
        again = Target.read(Cursor(target.to_bytes()), n_columns)
        assert again == target
        assert again.amounts(n_columns).tolist() == amounts

    @settings(max_examples=300)
    @given(data=st.binary(max_size=40), n_columns=st.integers(0, 50))
    def test_any_bytes_are_a_target_or_damage(self, data, n_columns):
        try:
            target = Target.read(Cursor(data), n_columns)
        except DamagedFile:
            return
        bounds = target.bounds(n_columns)
        assert len(bounds) == n_columns
        assert (bounds >= 0).all()
        assert Target.read(Cursor(target.to_bytes()), n_columns) == target

    @pytest.mark.parametrize(
        "section",
        [
            b"\x01\x00",  # kind 0 is written as nothing
            b"\x03\x03\x05\x01",  # an amount for one column, and none for the others
            b"\x03\x02\x00\x00",  # a bound of 0 for all
            b"\x03\x01\x01\x00",  # a relative RMSE of 1
            b"\x05\x03\x05\x01\x07\x01",  # 5 coefficients for a column, 7 for another
            b"\x04\x03\x05\x00\x00",  # an amount for no column
            b"\x04\x03\x05\x09\x00",  # for more columns than there are
            b"\x05\x02\x01\xa0\x06\x00",  # a bound of 1e400
            b"\x03\x08\x01\x00",  # an unknown kind
            b"\x03\x06\x01\x00",  # not deflated
            b"\x09\x02\x01\x00",  # too short
        ],
    )
    def test_what_is_never_written_is_damage(self, section):
        with pytest.raises(DamagedFile):
            Target.read(Cursor(section), 3)

    def test_a_target_is_for_its_number_of_columns(self):
        with pytest.raises(ValueError, match="for 2 columns; got 3"):
            Target.of_columns("max_error", [1, 2]).bounds(3)


@pytest.mark.parametrize(
    ("target", "text"),
    [
        (Target("lossless"), "lossless"),
        (Target("relative_rmse", 0.05), "relative RMSE 5%"),
        (Target("max_error", 2.0), "±2"),
        (Target("n_nonzero_coefs", 5), "5 coefficients per row"),
        (Target("n_nonzero_coefs", 1), "1 coefficient per row"),
        (Target.of_columns("max_error", [1e-6, 0.1, 1.0, 1.0]), "±1e-06 to ±1 by column"),
        (Target.of_columns("max_error", [2.0, 0.0]), "±2, 1 column lossless"),
        (Target.of_columns("max_error", [2.0, 0.0, 0.5, 0.0]), "±0.5 to ±2 by column, 2 columns lossless"),
        (Target.of_columns("relative_rmse", [0.094, 0.0]), "relative RMSE 9.4%, 1 column lossless"),
    ],
)
def test_a_target_reads_as_a_person_would_write_it(target, text):
    assert str(target) == text


@pytest.mark.parametrize(
    ("text", "amounts"),
    [
        ("1", 1.0),
        (" .5 ", 0.5),
        ("flow=1e-6,pressure=.1,*=1", {"flow": 1e-6, "pressure": 0.1, "*": 1.0}),
        ("flow = 1e-6, status=Lossless , *= 0", {"flow": 1e-6, "status": "lossless", "*": 0.0}),
        ('"a,b=1",x=y=2', {"a,b": 1.0, "x=y": 2.0}),
    ],
)
def test_bounds_are_read_from_text(text, amounts):
    assert read_bounds(text) == amounts


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "could not convert"),
        ("flow", "could not convert"),
        ("flow=", "could not convert"),
        ("flow=1,2", "'2' is not a column and its bound"),
        ("=1", "'=1' is not a column"),
        ("a=1,a=2", "'a' is named twice"),
    ],
)
def test_texts_that_are_no_bounds(text, said):
    with pytest.raises(ValueError, match=said):
        read_bounds(text)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (("slow", "adaptive", 1000), "'fast', 'default', 'best'; got 'slow'"),
        (("fast", "ica", 1000), "'adaptive', 'hrp', 'pca', 'dct'; got 'ica'"),
        (("fast", "pca", 0), "chunk_rows .* from 1 to 65536; got 0"),
        (("fast", "pca", 65537), "65536"),
        (("fast", "pca", 10.0), "whole number"),
    ],
)
def test_settings_are_those_there_are(settings, said):
    with pytest.raises(ValueError, match=said):
        check_settings(*settings)
