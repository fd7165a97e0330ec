"""Read a compressed table as a whole, chunk by chunk, or a range of its rows."""

import io
from collections.abc import Callable, Iterator, Sequence
from itertools import compress
from os import PathLike
from types import TracebackType
from typing import Any, Self

from hrpursuit.compression.decoding import LIMIT, Budget, FrameDecoder, LabelledFrame, checked_limit
from hrpursuit.compression.errors import DamagedFile
from hrpursuit.compression.files.feed import Feed, Growing, can_seek, opened
from hrpursuit.compression.files.frame import Frame
from hrpursuit.compression.files.header import Header
from hrpursuit.compression.files.listing import ChunkInfo, Listing, Stored, list_by_index, list_by_scan
from hrpursuit.compression.files.members import Headers, Member
from hrpursuit.compression.files.scan import HOW_TO_GO_ON, Scan, read_header
from hrpursuit.compression.files.streaming import streamed
from hrpursuit.compression.jobs import n_threads
from hrpursuit.compression.tables.bounds import Bounds
from hrpursuit.compression.tables.joining import joined
from hrpursuit.compression.tables.lookup import Lookup
from hrpursuit.compression.targets import Target


class Decoder:
    """Read a compressed table as a whole, chunk by chunk, or a range of its rows.

    Concatenated files (`cat a.hrp b.hrp`) are one table if their columns are equal.

    Parameters
    ----------
    source : path, bytes-like or binary file
        The file. If it cannot seek, like a pipe, its chunks can be iterated over once, and each is decoded when its
        last byte has arrived; `n_rows` and `n_bytes` are then None, and `chunks` is empty.
    damaged : {"raise", "skip"}, default="raise"
        What to do if the file was cut or changed: raise DamagedFile, or leave out what is damaged and list it in
        `damage`. If the header is damaged, DamagedFile is raised in both cases.
    limit : int or None, default=2**33
        Maximum size in bytes of the tables of one `read`, or of one iteration over all chunks, readings and labels
        together, since a file of a few bytes can claim to be a table of terabytes. Each reading counts as 8 bytes, its
        size while it is decoded. Beyond the limit LimitExceeded is raised, if possible before anything is decoded.
        None: no limit.
    n_jobs : int or None, default=None
        Number of threads, each of which works on a chunk: None is 1, -1 one per core. Chunks of a pipe are decoded one
        by one, as they arrive.

    Attributes
    ----------
    n_rows, n_columns : int
        Shape of the table; of a damaged file the rows of whole chunks.
    columns : list of str or int, or None
        Names of the columns; None for an array.
    types : list of str
        Types of the columns.
    index : str
        Kind of labels of the rows; "none" for an array.
    chunk_rows : int
        Maximum number of rows per chunk; that of the first of concatenated files.
    attrs : dict
        `attrs` of the DataFrame; those of the first of concatenated files.
    target : Target
        Target of the file; that of the first of concatenated files.
    targets : list of Target
        The different targets of concatenated files. Of a pipe, those that were read so far.
    version : int
        Version of the format; that of the first of concatenated files.
    chunks : list of ChunkInfo
        The chunks, in order.
    damage : list of str
        What was left out because it is damaged, in words.
    n_bytes : int
        Size of the file.
    n_decoded : int
        Number of chunks that were decoded so far.
    """

    def __init__(
        self,
        source: str | PathLike[str] | bytes | io.BufferedIOBase | Any,
        *,
        damaged: str = "raise",
        limit: int | None = LIMIT,
        n_jobs: int | None = None,
    ) -> None:
        self._set_up(damaged, limit, n_jobs)
        self._file, self._own = opened(source)
        try:
            if can_seek(self._file):
                base = self._file.tell()
                self._begin(Feed(self._file))
                self._list(Stored(self._file, base))
            else:
                self._begin(Feed(self._file))
        except BaseException:
            self.close()
            raise

    def _set_up(self, damaged: str, limit: int | None, n_jobs: int | None) -> None:
        if damaged not in ("raise", "skip"):
            raise ValueError(f"damaged must be 'raise' or 'skip'; got {damaged!r}.")
        self._strict = damaged == "raise"
        self._limit, self._n_jobs = checked_limit(limit), n_threads(n_jobs)
        self.damage: list[str] = []
        self.chunks: list[ChunkInfo] = []
        self.n_rows: int | None = None
        self.n_bytes: int | None = None
        self._stored: Stored | None = None
        self._listing: Listing | None = None
        self._scan: Scan | None = None

    def _begin(self, feed: Feed) -> None:
        self._feed = feed
        self._headers = Headers()
        self._header = read_header(feed, self._headers)
        schema = self._header.schema
        self.n_columns = len(schema.kinds)
        self.columns = None if schema.names is None else list(schema.names.values)
        self.types, self.index, self.chunk_rows = list(schema.kinds), schema.labels.kind, self._header.chunk_rows
        self.attrs, self.target, self.version = schema.attrs, self._header.target, self._header.version
        self.targets = [self.target]
        self._decoder = FrameDecoder(self._header, self._limit, self._strict, self.damage)

    def _list(self, stored: Stored) -> None:
        self._stored, self.n_bytes = stored, stored.n_bytes
        if self._strict:
            self._listing = list_by_index(stored, self._headers)
        else:
            self._listing = list_by_scan(stored, self._headers)
            self.damage += self._listing.damage
        self.chunks = self._listing.chunks
        self.n_rows = sum(chunk.n_rows for chunk in self.chunks)
        self.targets = _different([member.header.target for member in self._listing.members])

    @classmethod
    def follow(
        cls,
        source: str | PathLike[str] | io.BufferedIOBase | Any,
        *,
        interval: float = 1.0,
        stop: Callable[[], bool] | None = None,
        damaged: str = "raise",
        limit: int | None = LIMIT,
    ) -> Iterator[Any]:
        """Return an iterator over the chunks of a file that is still growing, or of a pipe.

        Parameters
        ----------
        source : path or binary file
            The file; it may still be empty.
        interval : float, default=1.0
            Seconds between two looks at a file in which nothing is new. Chunks of a pipe are returned at once.
        stop : callable, default=None
            Called without arguments whenever nothing is new, at least every `interval` seconds. When it returns True,
            the iteration ends after the chunks that have arrived, even if another one is incomplete. None: end when the
            file is finished, that is when its index has arrived and nothing follows. The iteration over a pipe always
            ends when its last writer closes it.
        damaged : {"raise", "skip"}, default="raise"
            As for a Decoder. A chunk that is incomplete is not damaged: the iterator waits for it.
        limit : int or None, default=2**33
            Maximum size of one chunk in bytes.

        Returns
        -------
        tables : iterator of ndarray or DataFrame
            One table per chunk, as soon as its last byte has arrived. Closing the iterator closes a file that was given
            by its path.

        Examples
        --------
        >>> import io, numpy as np
        >>> from hrpursuit.compression import Decoder, Encoder
        >>> encoder, file = Encoder(lossless=True), io.BytesIO()
        >>> _ = file.write(encoder.append(np.zeros((3, 2))) + encoder.flush())
        >>> _ = file.seek(0)
        >>> tables = Decoder.follow(file, interval=0.01)
        >>> next(tables).shape
        (3, 2)
        """
        if isinstance(interval, bool) or not isinstance(interval, (int, float)) or not 0 < interval < float("inf"):
            raise ValueError(f"interval must be a number of seconds above 0; got {interval!r}.")
        if stop is not None and not callable(stop):
            raise ValueError(f"stop must be a function without arguments or None; got {stop!r}.")
        decoder = cls.__new__(cls)
        decoder._set_up(damaged, limit, None)
        decoder._file, decoder._own = opened(source, buffering=0)
        return decoder._followed(interval, stop)

    def _followed(self, interval: float, stop: Callable[[], bool] | None) -> Iterator[Any]:
        with self:
            feed = Growing(self._file, interval, stop or self._is_finished)
            try:
                self._begin(feed)
            except DamagedFile:
                if feed.was_stopped:
                    return
                raise
            yield from self._decoder.tables(self._streamed(), None, 1)

    def _is_finished(self) -> bool:
        """Whether an index was the last thing to come."""
        return self._scan is not None and self._scan.is_finished and not self._scan.feed.has_rest

    @property
    def n_decoded(self) -> int:
        """How many chunks were decoded so far."""
        return self._decoder.n_decoded

    def __iter__(self) -> Iterator[Any]:
        """Tables, one per chunk, in order."""
        if self._listing is None:
            return self._decoder.tables(self._streamed(), Budget(self._limit), 1)
        self._decoder.check_room(self.chunks)
        return self._decoder.tables(self._frames(), Budget(self._limit), self._n_jobs)

    def _frames(self) -> Iterator[tuple[Member, Frame]]:
        assert self._listing is not None
        for chunk, member in zip(self.chunks, self._listing.owners, strict=True):
            yield member, self._frame(chunk, member)

    def _frame(self, chunk: ChunkInfo, member: Member) -> Frame:
        assert self._stored is not None
        try:
            frame = Frame.parse(self._stored.read_at(chunk.offset, chunk.n_bytes), member.header)
            if (member.n_before + frame.first_row, frame.n_rows) != (chunk.first_row, chunk.n_rows):
                raise DamagedFile("it is another chunk than the index says")
        except DamagedFile as error:
            where = f"bytes {chunk.offset} to {chunk.offset + chunk.n_bytes - 1}"
            raise DamagedFile(
                f"the chunk from row {chunk.first_row} on ({where}) is damaged: {error}; {HOW_TO_GO_ON}"
            ) from error
        return frame

    def _streamed(self) -> Iterator[tuple[Member, Frame]]:
        """Chunks as they come, of a source that is read once."""
        self._scan = scan = Scan(self._feed, self._headers, self._strict)
        yield from streamed(scan, self._header, self._decoder.leave_out, self._join)
        self.damage += scan.damage

    def _join(self, header: Header) -> None:
        self.targets = _different([*self.targets, header.target])

    def read(self, start: Any = None, stop: Any = None, *, columns: Sequence[str | int] | None = None) -> Any:
        """Return the rows with labels from `start` to `stop`, both included; decodes only the chunks that hold them.

        Parameters
        ----------
        start : label, default=None
            Row number for an array, otherwise a label of the index. Time stamps may be texts, and then
            stand for the whole period that they name: `stop="2017-10-05"` includes that day. None: from the beginning.
        stop : label, default=None
            As `start`. None: to the end.
        columns : sequence of str or int, default=None
            Names of the columns to return, numbers for an array, in this order. None: all. Fewer columns take less
            memory but not less time, since the columns of a chunk are decoded together.

        Returns
        -------
        table : ndarray or DataFrame
            The rows, in order.
        """
        places = None if columns is None else self.places_of(columns)
        if self._listing is None:
            raise ValueError("rows of a range need a file that can seek; of a pipe, iterate over the chunks.")
        bounds = Bounds(self._header.schema.labels, start, stop)
        skips = self._listing.in_order
        wanted = [
            (chunk, member)
            for chunk, member in zip(self.chunks, self._listing.owners, strict=True)
            if not (skips and bounds.misses(chunk.first, chunk.last))
        ]
        if skips or (start is None and stop is None):  # otherwise only their labels tell which are wanted
            self._decoder.check_room(chunk for chunk, _ in wanted)
        budget = Budget(self._limit)

        def frames() -> Iterator[LabelledFrame]:
            for chunk, member in wanted:
                with self._decoder.leaving_out():
                    frame = self._frame(chunk, member)
                    here = member.labels(frame)
                    if bounds.mask(here).any():
                        budget.take(self._decoder.n_bytes_of(frame, here))
                        yield self._decoder.reader_of(member.header), frame, here

        blocks, labels, n_rows = [], [], 0
        for _, here, block in self._decoder.columns(frames(), budget, self._n_jobs):
            keep = bounds.mask(here)
            if places is not None:
                block = [block[place] for place in places]
            if not keep.all():
                block = [column[keep] for column in block]
                here = list(compress(here, keep)) if isinstance(here, list) else here[keep]
            blocks.append(block)
            labels.append(here)
            n_rows += int(keep.sum())
        schema = self._header.schema if places is None else self._header.schema.take(places)
        return joined(schema, blocks, labels, n_rows)

    def parts_of_headers(self) -> dict[str, int]:
        """Bytes of all headers, by part: "header", "names and index", "dictionary", "checksums and index"."""
        headers = [self._header] if self._listing is None else [member.header for member in self._listing.members]
        parts: dict[str, int] = {}
        for header in headers:
            for name, size in header.parts().items():
                parts[name] = parts.get(name, 0) + size
        return parts

    def parts_of_chunk(self, place: int) -> tuple[str, dict[str, int]]:
        """Return how a chunk is coded and the bytes of its parts, without decoding its readings.

        Parameters
        ----------
        place : int
            Place of the chunk in `chunks`.

        Returns
        -------
        mode : str
            How its readings are coded.
        parts : dict of str to int
            Bytes by part; they add up to its `n_bytes`.
        """
        if self._listing is None:
            raise ValueError("chunks of a pipe are read once; read it first, and give its bytes to a Decoder.")
        member = self._listing.owners[place]
        frame = self._frame(self.chunks[place], member)
        mode, parts = self._decoder.reader_of(member.header).parts(frame)
        parts["names and index"] = parts.get("names and index", 0) + len(frame.labels)
        parts["texts"] = len(frame.texts)
        parts["checksums and index"] = frame.n_bytes - len(frame.payload) - len(frame.labels) - len(frame.texts)
        return mode, parts

    def places_of(self, columns: Sequence[str | int]) -> list[int]:
        """Find columns.

        Parameters
        ----------
        columns : sequence of str or int
            Names of columns; numbers for an array.

        Returns
        -------
        places : list of int
            Where they stand in the table, from 0, in the order of `columns`. Raises ValueError if one is not there.
        """
        if isinstance(columns, (str, bytes)):
            raise ValueError(f"columns must be a list of columns; got {columns!r}: give [{columns!r}].")
        lookup, places = Lookup(self._header.schema.columns), []
        for key in columns:
            found = lookup.exactly(key)
            if not found:
                raise lookup.missing(key, "columns")
            places += found
        return places

    def close(self) -> None:
        """Close the file if it was opened here."""
        if self._own:
            self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _different(targets: list[Target]) -> list[Target]:
    """Each one once. Headers share a target with a bound for each of many columns, so equal objects come first."""
    return list(dict.fromkeys({id(target): target for target in targets}.values()))
