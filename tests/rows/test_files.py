"""Files as people have them: what is read, what is refused with which words, and what is written."""

import threading
import time

import dask.array as da
import dask.dataframe as dd
import h5py
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest
import zarr
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from hrpursuit import HRP, MiniBatchHRP
from hrpursuit.datasets import make_sparse_coded
from hrpursuit.rows import ArrayRows, BlockError, StreamedRows, open_rows, survey, write_blocks
from hrpursuit.rows.source import repacked

X = make_sparse_coded(2000, 6, sparsity=0.3, random_state=0)[0]
NAMES = list("abcdef")
SUFFIXES = [".npy", ".csv", ".parquet", ".h5", ".hdf5", ".zarr"]


def everything(rows):
    return np.concatenate([block.copy() for block in rows.blocks()])


@given(lengths=st.lists(st.integers(0, 30), max_size=8), n_rows=st.integers(1, 40))
def test_parts_of_any_length_become_pieces_of_one_length(lengths, n_rows):
    parts = np.split(np.arange(2.0 * sum(lengths)).reshape(-1, 2), np.cumsum(lengths)[:-1]) if lengths else []
    pieces = [piece.copy() for piece in repacked(parts, n_rows, 2, np.dtype(float))]
    assert [len(piece) for piece in pieces[:-1]] == [n_rows] * (len(pieces) - 1)
    assert_array_equal(np.concatenate([np.empty((0, 2)), *pieces]), np.concatenate([np.empty((0, 2)), *parts]))


@pytest.mark.parametrize("block_size", [1, 7, 500, 5000])
def test_blocks_are_as_long_as_asked(block_size, tmp_path):
    np.save(tmp_path / "x.npy", X)
    rows = open_rows(tmp_path / "x.npy", block_size=block_size)
    assert [len(block) for block in rows.blocks()][:-1] == [block_size] * (-(-len(X) // block_size) - 1)
    assert_array_equal(everything(rows), X)


def test_blocks_on_disk_and_in_memory_are_the_same_so_that_sums_are_equal_to_the_last_bit(tmp_path):
    np.save(tmp_path / "x.npy", X)
    lengths = [len(block) for block in open_rows(tmp_path / "x.npy").blocks()]
    assert lengths == [len(block) for block in ArrayRows(X).blocks()]


def test_a_pass_that_is_given_up_leaves_no_thread(tmp_path):
    np.save(tmp_path / "x.npy", X)
    rows = open_rows(tmp_path / "x.npy", block_size=10)
    before = threading.active_count()
    blocks = rows.blocks()
    next(blocks)
    blocks.close()
    assert threading.active_count() == before


def test_each_pass_is_counted(tmp_path):
    np.save(tmp_path / "x.npy", make_sparse_coded(2000, 30, sparsity=0.3, random_state=0)[0])
    rows = open_rows(tmp_path / "x.npy")
    HRP(random_state=0).fit(rows)
    assert rows.n_passes == 2  # the survey, and the rows by which atoms are ordered and which the search works on


class TestTypes:
    @pytest.mark.parametrize("kind", ["i4", "u1", "?", "f2", ">f8", ">f4", "i8"])
    @pytest.mark.parametrize("order", ["C", "F"])
    def test_other_numbers_become_double(self, kind, order, tmp_path):
        data = np.array(np.round(10 * np.abs(X)), dtype=kind, order=order)
        np.save(tmp_path / "x.npy", data)
        rows = open_rows(tmp_path / "x.npy")
        assert rows.dtype == (np.float32 if kind == ">f4" else np.float64)
        assert rows.dtype.isnative
        assert_array_equal(everything(rows), data)
        assert_array_equal(rows.sample(5, 0), ArrayRows(data).sample(5, 0))

    @pytest.mark.parametrize("suffix", [".npy", ".parquet", ".h5", ".zarr"])
    def test_single_stays_single(self, suffix, tmp_path):
        single = X.astype(np.float32)
        write_blocks(tmp_path / f"x{suffix}", iter([single]), NAMES, single.dtype)
        rows = open_rows(tmp_path / f"x{suffix}")
        assert rows.dtype == np.float32
        model = HRP(random_state=0).fit(rows)
        assert model.components_.dtype == np.float32
        assert model.certificate_

    def test_parquet_of_single_and_double(self, tmp_path):
        table = pa.table({"a": X[:, 0].astype(np.float32), "b": X[:, 1], "c": np.arange(2000)})
        pa.parquet.write_table(table, tmp_path / "x.parquet")
        assert_array_equal(everything(open_rows(tmp_path / "x.parquet"))[:, 2], np.arange(2000.0))


class TestBuffers:
    """Pieces much smaller than the file, so that buffers are used again and again while the next piece is read."""

    @pytest.fixture(autouse=True)
    def _small_pieces(self, monkeypatch):
        monkeypatch.setattr("hrpursuit.rows.stream.PIECE_BYTES", 1)
        monkeypatch.setattr("hrpursuit.rows.chunked._SLAB_BYTES", 1)

    @pytest.mark.parametrize("suffix", SUFFIXES)
    def test_a_block_is_whole_while_the_next_one_is_read(self, suffix, tmp_path):
        write_blocks(tmp_path / f"x{suffix}", iter([X]), NAMES, X.dtype)
        rows = open_rows(tmp_path / f"x{suffix}", block_size=100)
        for i, block in enumerate(rows.blocks()):
            time.sleep(0.005)  # the reader goes on meanwhile
            assert_array_equal(block, X[100 * i : 100 * i + 100])

    def test_the_next_piece_is_read_while_this_one_is_computed(self):
        asked = []

        def blocks():
            for i in range(20):
                asked.append(i)
                yield X[100 * i : 100 * i + 100]

        rows = open_rows(blocks, block_size=100)
        asked.clear()
        passing = rows.blocks()
        next(passing)
        deadline = time.time() + 5
        while len(asked) < 2 and time.time() < deadline:
            time.sleep(0.001)
        assert asked[:2] == [0, 1]  # the second, though nobody has asked for it yet
        passing.close()


class TestMemoryMaps:
    @pytest.fixture
    def path(self, tmp_path):
        np.save(tmp_path / "x.npy", X)
        return tmp_path / "x.npy"

    @pytest.mark.parametrize("part", [np.s_[:], np.s_[100:900], np.s_[1:2]])
    def test_a_slice_of_rows_is_read_from_the_file(self, path, part):
        rows = open_rows(np.load(path, mmap_mode="r")[part])
        assert isinstance(rows, StreamedRows)
        assert_array_equal(everything(rows), X[part])

    @pytest.mark.parametrize("part", [np.s_[::2], np.s_[:, 2:5], np.s_[::-1]])
    def test_other_slices_are_taken_as_arrays(self, path, part):
        assert_array_equal(everything(open_rows(np.load(path, mmap_mode="r")[part])), X[part])

    def test_private_changes_count(self, path):
        mapped = np.load(path, mmap_mode="c")
        mapped[3] = 7
        assert_array_equal(everything(open_rows(mapped))[3], np.full(6, 7.0))

    def test_changes_of_a_shared_map_count(self, path):
        mapped = np.load(path, mmap_mode="r+")
        mapped[3] = 7
        assert_array_equal(everything(open_rows(mapped))[3], np.full(6, 7.0))

    def test_a_map_of_a_file_that_was_replaced_shows_what_it_showed(self, path, tmp_path):
        mapped = np.load(path, mmap_mode="r")
        write_blocks(path, iter([2 * X]), NAMES, X.dtype)
        assert_array_equal(everything(open_rows(mapped)), X)
        path.unlink()
        assert_array_equal(everything(open_rows(mapped)), X)

    def test_a_transposed_map(self, tmp_path):
        np.save(tmp_path / "t.npy", X.T.copy())
        assert_array_equal(everything(open_rows(np.load(tmp_path / "t.npy", mmap_mode="r").T)), X)


class TestTables:
    @pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
    def test_tables_in_memory(self, make):
        rows = open_rows(make(dict(zip(NAMES, X.T, strict=True))))
        assert rows.feature_names == NAMES
        assert_array_equal(rows.X, X)

    @pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
    def test_columns_of_tables(self, make):
        rows = open_rows(make(dict(zip(NAMES, X.T, strict=True))), columns=["c", "a"])
        assert_array_equal(rows.X, X[:, [2, 0]])

    def test_frames_without_names(self):
        rows = open_rows(pd.DataFrame(X))
        assert rows.feature_names is None
        assert_array_equal(rows.X, X)

    @pytest.mark.parametrize("suffix", [".csv", ".parquet"])
    def test_columns_by_name(self, suffix, tmp_path):
        frame = pd.DataFrame(X, columns=NAMES).assign(day="monday")
        getattr(frame, f"to_{suffix[1:]}")(tmp_path / f"x{suffix}", index=False)
        rows = open_rows(tmp_path / f"x{suffix}", columns=["c", "a"])
        assert rows.feature_names == ["c", "a"]
        assert_array_equal(everything(rows), X[:, [2, 0]])
        frames = dd.from_pandas(frame, npartitions=3)
        assert_array_equal(everything(open_rows(frames, columns=["c", "a"])), X[:, [2, 0]])

    def test_parquet_with_an_index_of_pandas(self, tmp_path):
        pd.DataFrame(X, columns=NAMES, index=np.arange(2000)[::-1]).to_parquet(tmp_path / "x.parquet")
        assert_array_equal(everything(open_rows(tmp_path / "x.parquet")), X)

    def test_quoted_cells_and_empty_lines(self, tmp_path):
        (tmp_path / "x.csv").write_text('"a, b",c\n"1.5",2\n\n3,"4"\n')
        rows = open_rows(tmp_path / "x.csv")
        assert rows.feature_names == ["a, b", "c"]
        assert_array_equal(everything(rows), [[1.5, 2], [3, 4]])

    def test_folders_are_read_in_the_order_of_their_names(self, tmp_path):
        for name, part in (("b", X[1000:]), ("a", X[:1000])):
            pd.DataFrame(part, columns=NAMES).to_parquet(tmp_path / f"{name}.parquet")
        (tmp_path / "_SUCCESS").write_text("")
        assert_array_equal(everything(open_rows(tmp_path)), X)


class TestDatasets:
    def test_one_of_several(self, tmp_path):
        with h5py.File(tmp_path / "x.h5", "w") as file:
            file["train/X"], file["y"] = X, X[:, 0]
        assert_array_equal(everything(open_rows(tmp_path / "x.h5", dataset="train/X")), X)
        group = zarr.open_group(str(tmp_path / "x.zarr"), mode="w")
        for name in "ab":
            group.create_array(name, data=X)
        assert_array_equal(everything(open_rows(tmp_path / "x.zarr", dataset="b")), X)
        for suffix in (".h5", ".zarr"):
            with pytest.raises(ValueError, match=r"several datasets, .*; say which one \(dataset="):
                open_rows(tmp_path / f"x{suffix}")
            with pytest.raises(ValueError, match="no dataset 'z'"):
                open_rows(tmp_path / f"x{suffix}", dataset="z")


class TestBadInput:
    """What was expected, what came, where."""

    def refused(self, data, words, **options):
        with pytest.raises((ValueError, OSError), match=words):
            HRP().fit(open_rows(data, **options))

    @pytest.mark.parametrize("suffix", SUFFIXES)
    @pytest.mark.parametrize("value", [np.nan, np.inf])
    def test_a_gap_in_the_middle_is_named_by_row_and_column(self, suffix, value, tmp_path):
        spoiled = X.copy()
        spoiled[1234, 2] = value
        write_blocks(tmp_path / f"x{suffix}", iter([spoiled]), NAMES, spoiled.dtype)
        column = "'c'" if suffix in (".csv", ".parquet") else "3"
        kind = "infinite" if np.isinf(value) else "NaN or missing"
        self.refused(
            tmp_path / f"x{suffix}",
            rf"1 value is {kind}, the first in row 1235, column {column}; (fill|replace)",
        )

    @pytest.mark.parametrize("part", [np.s_[:], np.s_[::2]])
    def test_a_gap_in_memory_is_found_too(self, part, tmp_path):
        spoiled = X.copy()
        spoiled[1234, 2] = np.nan
        np.save(tmp_path / "x.npy", spoiled)
        row = 1235 if part == np.s_[:] else 618
        with pytest.raises(ValueError, match=f"row {row}, column 3"):
            MiniBatchHRP().fit(open_rows(np.load(tmp_path / "x.npy", mmap_mode="r")[part]))
        frame = pd.DataFrame(spoiled[part], columns=NAMES).convert_dtypes()
        with pytest.raises(ValueError, match=f"row {row}, column 'c'"):
            MiniBatchHRP().fit(open_rows(frame))
        for use in (MiniBatchHRP().partial_fit, MiniBatchHRP(random_state=0).fit(X).transform, HRP().fit(X).certify):
            with pytest.raises(ValueError, match=f"row {row}, column 3"):
                use(open_rows(spoiled[part]))

    def test_a_value_too_large_to_compute_with(self, tmp_path):
        spoiled = np.tile(X, (20, 1))
        spoiled[33_333, 2] = -1e160
        np.save(tmp_path / "x.npy", spoiled)
        for model in (
            HRP(),
            HRP(dictionary="complete"),
            MiniBatchHRP(n_nonzero_coefs=1),
            MiniBatchHRP(dictionary="complete"),
        ):
            with pytest.raises(ValueError, match=r"x.npy: 1 value is 1e\+90 or larger in magnitude"):
                model.fit(tmp_path / "x.npy")
        with pytest.raises(ValueError, match="or larger in magnitude"):
            MiniBatchHRP(n_nonzero_coefs=1).partial_fit(tmp_path / "x.npy")

    def test_a_gap_in_a_dask_collection(self):
        spoiled = X.copy()
        spoiled[1234, 2] = np.nan
        self.refused(da.from_array(spoiled, chunks=(300, -1)), "row 1235, column 3")
        frame = dd.from_pandas(pd.DataFrame(spoiled, columns=NAMES), npartitions=4)
        self.refused(frame, "row 1235, column 'c'")

    @pytest.mark.parametrize(("line", "words"), [("1,2,3", "3 columns"), ("1,2,3,4,5,6,7", "7 columns")])
    def test_a_csv_file_whose_column_count_changes(self, line, words, tmp_path):
        pd.DataFrame(X, columns=NAMES).to_csv(tmp_path / "x.csv", index=False)
        text = (tmp_path / "x.csv").read_text().splitlines()
        (tmp_path / "x.csv").write_text("\n".join([*text[:1500], line, *text[1500:]]))
        self.refused(tmp_path / "x.csv", rf"x.csv: row 1500 has {words} where the first has 6")

    def test_a_csv_file_with_a_word_in_the_middle(self, tmp_path):
        pd.DataFrame(X, columns=NAMES).to_csv(tmp_path / "x.csv", index=False)
        text = (tmp_path / "x.csv").read_text().splitlines()
        text[1500] = "1,2,broken,4,5,6"
        (tmp_path / "x.csv").write_text("\n".join(text))
        self.refused(tmp_path / "x.csv", "column 'c' holds 'broken' in row 1500, not a number")

    @pytest.mark.parametrize("cell", ["1_000", '"1,000"', "1;5", "0x1"])
    def test_a_cell_that_only_looks_like_a_number(self, cell, tmp_path):
        (tmp_path / "x.csv").write_text("a,b\n" + "1,2\n" * 20 + f"3,{cell}\n")
        self.refused(tmp_path / "x.csv", "column 'b' holds '.*' in row 21, not a number")

    @pytest.mark.parametrize("cell", ["", " ", "-", "None", "NA", "n/a", "NULL"])
    def test_words_for_a_gap(self, cell, tmp_path):
        (tmp_path / "x.csv").write_text("a,b\n" + "1,2\n" * 20 + f"3,{cell}\n")
        self.refused(tmp_path / "x.csv", r"NaN or missing, the first in row 21, column 'b'; fill")

    def test_thousands_of_columns(self, tmp_path):
        """In time that does not grow with their square."""
        names = [f"c{i}" for i in range(20_000)]
        line = ",".join(["1"] * 20_000)
        (tmp_path / "x.csv").write_text("\n".join([",".join(names), *[line] * 20, line[:-1] + "x"]))
        start = time.perf_counter()
        self.refused(tmp_path / "x.csv", "column 'c19999' holds 'x' in row 21")
        assert time.perf_counter() - start < 10

    def test_a_folder_whose_files_have_different_columns(self, tmp_path):
        pd.DataFrame(X, columns=NAMES).to_parquet(tmp_path / "a.parquet")
        pd.DataFrame(X[:, :5], columns=NAMES[:5]).to_parquet(tmp_path / "b.parquet")
        self.refused(
            tmp_path, r"b.parquet has the columns a, b, c, d, e where a.parquet has a, .*, f \(5 and 6 in all\)"
        )
        assert open_rows(tmp_path, columns=["a", "b"]).n_samples == 4000

    def test_a_column_of_words(self, tmp_path):
        frame = pd.DataFrame(X, columns=NAMES).assign(day="monday")
        frame.to_parquet(tmp_path / "x.parquet")
        self.refused(tmp_path / "x.parquet", "column 'day' holds .*string, not numbers; leave it out")
        self.refused(dd.from_pandas(frame, npartitions=2), "column 'day' holds str.*, not numbers")

    @pytest.mark.parametrize("kind", ["c16", "U3", "M8[s]"])
    def test_types_that_do_not_fit(self, kind, tmp_path):
        data = np.ones((30, 3)).astype(kind)
        np.save(tmp_path / "x.npy", data)
        self.refused(tmp_path / "x.npy", "x.npy must hold real numbers; got")
        self.refused(da.from_array(data), "must hold real numbers; got")
        self.refused(lambda: iter([data]), "block 1 of .* must hold real numbers")
        self.refused(data, "must hold real numbers")

    def test_arrays_of_objects_are_not_unpickled(self, tmp_path):
        np.save(tmp_path / "x.npy", np.ones((3, 3), dtype=object), allow_pickle=True)
        self.refused(tmp_path / "x.npy", "must hold real numbers")

    @pytest.mark.parametrize("suffix", SUFFIXES)
    def test_a_table_without_rows(self, suffix, tmp_path):
        write_blocks(tmp_path / f"x{suffix}", iter([]), NAMES, X.dtype)
        self.refused(tmp_path / f"x{suffix}", "empty")

    @pytest.mark.parametrize("suffix", SUFFIXES[:-1])
    def test_an_empty_file(self, suffix, tmp_path):
        (tmp_path / f"x{suffix}").write_bytes(b"")
        self.refused(tmp_path / f"x{suffix}", f"x{suffix} (is empty|cannot be read)")

    def test_empty_folders(self, tmp_path):
        for name in ("x", "x.parquet", "x.zarr"):
            (tmp_path / name).mkdir()
            self.refused(tmp_path / name, f"{name} (is empty|cannot be read)")

    @pytest.mark.parametrize("suffix", SUFFIXES)
    def test_a_file_that_is_cut_short(self, suffix, tmp_path):
        write_blocks(tmp_path / f"x{suffix}", iter([X]), NAMES, X.dtype)
        path = tmp_path / f"x{suffix}"
        if suffix == ".zarr":
            (path / "zarr.json").write_text((path / "zarr.json").read_text()[:100])
        else:
            path.write_bytes(path.read_bytes()[:-101])
        self.refused(path, "cannot be read|row 2000 has|not a number|holds")

    def test_a_file_that_is_cut_short_while_it_is_read(self, tmp_path):
        np.save(tmp_path / "x.npy", X)
        rows = open_rows(tmp_path / "x.npy")
        survey(rows, "x")
        (tmp_path / "x.npy").write_bytes((tmp_path / "x.npy").read_bytes()[:-100])
        with pytest.raises(ValueError, match="cut short while it was read"):
            survey(rows, "x")

    def test_rows_that_come_and_go(self):
        lengths = iter([2000, 2000, 1500])
        rows = open_rows(lambda: iter([X[: next(lengths)]]))
        survey(rows, "x")
        with pytest.raises(BlockError, match="had 2000 rows and now has 1500"):
            survey(rows, "x")

    def test_unknown_kinds_and_places(self, tmp_path):
        self.refused(tmp_path / "x.npy", "x.npy does not exist")
        (tmp_path / "x.mat").write_bytes(b"")
        self.refused(tmp_path / "x.mat", r"expected a name that ends in .csv, .csv.gz.*.npy.*got '.mat'")
        np.savez(tmp_path / "x.npz", a=X)
        (tmp_path / "x.npz").rename(tmp_path / "y.npy")
        self.refused(tmp_path / "y.npy", "archive of several arrays")
        np.save(tmp_path / "z.npy", X[0])
        self.refused(tmp_path / "z.npy", "must be two-dimensional, one sample per row; got 1 dimensions")

    def test_what_can_be_read_only_once(self, tmp_path):
        with pytest.raises(ValueError, match=r"fit\(blocks\) rather than fit\(blocks\(\)\)"):
            HRP().fit(block for block in [X])
        with pytest.raises(ValueError, match="a list of paths is not one table; give a folder"):
            HRP().fit([tmp_path / "a.npy", tmp_path / "b.npy"])

    def test_options_that_a_kind_does_not_have(self, tmp_path):
        np.save(tmp_path / "x.npy", X)
        self.refused(tmp_path / "x.npy", "no column names, so none can be chosen by name; got a", columns=["a"])
        self.refused(tmp_path / "x.npy", "no datasets; leave out 'a'", dataset="a")
        self.refused(X, "no column names", columns=["a"])

    def test_chunked_columns_are_rechunked_with_a_warning(self):
        with pytest.warns(UserWarning, match=r"6 columns in 3 chunks; it is rechunked"):
            rows = open_rows(da.from_array(X, chunks=(500, 2)))
        assert_array_equal(everything(rows), X)


class TestSourcesThatRaise:
    def blocks(self):
        for i in range(4):
            if i == 3:
                raise KeyError("sensor 7")
            yield X[500 * i : 500 * i + 500]

    def test_the_error_names_the_block(self):
        before = threading.active_count()
        with pytest.raises(BlockError, match=r"block 4 of .*from row 1501 on, could not be read: KeyError: 'sensor 7'"):
            HRP().fit(self.blocks)
        assert threading.active_count() == before

    @pytest.mark.parametrize("error", [ValueError("bad record"), UnicodeError("bad text"), np.linalg.LinAlgError("x")])
    def test_whatever_the_error_is(self, error):
        def blocks():
            yield X
            raise error

        def fail(block, block_info=None):
            if block_info[0]["chunk-location"][0] == 2:
                raise error
            return block

        with pytest.raises(BlockError, match=rf"block 2 of .*from row 2001 on, .*{error}"):
            HRP().fit(blocks)
        array = da.from_array(X, chunks=(500, -1)).map_blocks(fail, dtype=float, meta=np.empty((0, 0)))
        with pytest.raises(BlockError, match=rf"chunk 3 of the Dask collection .*{error}"):
            HRP().fit(array)

    def test_the_generator_is_closed(self):
        closed = []

        def blocks():
            try:
                while True:
                    yield X
            finally:
                closed.append(True)

        kept = []  # so that nobody but us can close them

        def call():
            kept.append(blocks())
            return kept[-1]

        rows = open_rows(call, block_size=10)
        closed.clear()
        next(opened := rows.blocks())
        opened.close()
        assert closed == [True]

    def test_blocks_of_another_type(self):
        with pytest.raises(ValueError, match=r"block 2 of .* holds float64 where the first holds float32"):
            HRP().fit(lambda: iter([X.astype("f4"), X]))

    def test_blocks_without_rows_are_passed_over(self):
        assert_array_equal(everything(open_rows(lambda: iter([np.empty((0, 0)), X, X[:0], X]))), np.vstack([X, X]))

    def test_blocks_of_different_width(self):
        with pytest.raises(ValueError, match=r"block 2 of .* has 5 columns where the first has 6"):
            HRP().fit(lambda: iter([X, X[:, :5]]))

    def test_a_chunk_of_a_dask_array(self):
        def fail(block, block_info=None):
            if block_info[0]["chunk-location"][0] == 2:
                raise KeyError("sensor 7")
            return block

        array = da.from_array(X, chunks=(500, -1)).map_blocks(fail, dtype=float, meta=np.empty((0, 0)))
        with pytest.raises(BlockError, match=r"chunk 3 of the Dask collection could not be computed: KeyError"):
            HRP().fit(array)

    def test_the_estimator_is_as_it_was(self):
        model = HRP(random_state=0).fit(pd.DataFrame(X[:, :5], columns=NAMES[:5]))
        before = model.components_.copy()
        with pytest.raises(BlockError):
            model.fit(self.blocks)
        assert_array_equal(model.components_, before)
        assert model.n_features_in_ == 5
        assert list(model.feature_names_in_) == NAMES[:5]


@pytest.mark.parametrize("kind", ["Float64", "double[pyarrow]", "Float32", "Int64"])
def test_nullable_numbers_of_dask_frames(kind):
    frame = pd.DataFrame(np.round(100 * X), columns=NAMES)
    expected = HRP(random_state=0).fit(frame.astype(np.float32 if kind == "Float32" else float))
    nullable = dd.from_pandas(frame.astype(kind), npartitions=3)
    model = HRP(random_state=0).fit(nullable)
    assert_array_equal(model.components_, expected.components_)
    assert_array_equal(model.transform(nullable).compute(), expected.transform(frame.astype(model.components_.dtype)))
    spoiled = frame.astype(kind)
    spoiled.iloc[1234, 2] = pd.NA
    with pytest.raises(ValueError, match="row 1235, column 'c'"):
        HRP().fit(dd.from_pandas(spoiled, npartitions=3))


def test_sums_of_many_chunks_are_added_in_a_tree(monkeypatch):
    rows = open_rows(da.from_array(X, chunks=(25, -1)))
    sizes, added = [], rows._engine.added
    monkeypatch.setattr(rows._engine, "added", lambda parts, key: (sizes.append(len(parts)), added(parts, key))[1])
    survey(rows, "x")
    assert sizes == [8] * 10 + [8, 2] + [2]


class TestWriting:
    @pytest.mark.parametrize("suffix", SUFFIXES)
    def test_what_is_written_is_read(self, suffix, tmp_path):
        path = tmp_path / f"x{suffix}"
        assert write_blocks(path, (X[i : i + 77] for i in range(0, 2000, 77)), NAMES, X.dtype) == 2000
        rows = open_rows(path)
        assert_array_equal(everything(rows), X)
        assert rows.feature_names == (NAMES if suffix in (".csv", ".parquet") else None)
        assert [child.name for child in tmp_path.iterdir()] == [path.name]

    @pytest.mark.parametrize("suffix", SUFFIXES)
    def test_a_file_is_replaced_whole_or_not_at_all(self, suffix, tmp_path):
        path = tmp_path / f"x{suffix}"
        write_blocks(path, iter([X[:100]]), NAMES, X.dtype)

        def failing():
            yield X[:50]
            raise RuntimeError("no more")

        with pytest.raises(RuntimeError, match="no more"):
            write_blocks(path, failing(), NAMES, X.dtype)
        assert_array_equal(everything(open_rows(path)), X[:100])
        write_blocks(path, iter([X]), NAMES, X.dtype)
        assert_array_equal(everything(open_rows(path)), X)
        assert [child.name for child in tmp_path.iterdir()] == [path.name]

    def test_folders_are_not_replaced_unless_they_are_zarr_arrays(self, tmp_path):
        (tmp_path / "x.zarr").mkdir()
        (tmp_path / "x.zarr" / "thesis.tex").write_text("years of work")
        with pytest.raises(IsADirectoryError, match="it is a folder"):
            write_blocks(tmp_path / "x.zarr", iter([X]), NAMES, X.dtype)
        assert (tmp_path / "x.zarr" / "thesis.tex").exists()

    def test_not_into_a_folder_that_is_read(self, tmp_path):
        pd.DataFrame(X, columns=NAMES).to_parquet(tmp_path / "a.parquet")
        model = HRP(random_state=0).fit(tmp_path)
        with pytest.raises(ValueError, match=r"codes.parquet is inside .*, which is read"):
            model.transform(tmp_path, out=tmp_path / "codes.parquet")

    def test_unknown_suffix(self, tmp_path):
        with pytest.raises(ValueError, match=r"ends in .csv, .npy"):
            write_blocks(tmp_path / "x.txt", iter([X]), NAMES, X.dtype)
