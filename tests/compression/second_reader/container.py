"""What is around the payloads of chunks: headers, labels of rows, indices. Every byte that is read can be noted."""

import itertools
import json
import struct
import zlib
from dataclasses import dataclass, field

from . import words
from .table_part import read_table
from .verbatim import read_verbatim

NUMPY = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
NULLABLE = ["boolean", "Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64", "Float32", "Float64"]
TEXTS = ["object", "str", "string"]
TIMES = [f"{kind}64[{unit}]" for kind in ("datetime", "timedelta") for unit in ("s", "ms", "us", "ns")]
TYPES = dict(enumerate([*NUMPY, "float16", "float32", "float64"])) | {32 + i: kind for i, kind in enumerate(NULLABLE)}
TYPES |= {64 + i: kind for i, kind in enumerate([*TEXTS, "category", *TIMES])}
TARGETS = ["lossless", "relative_rmse", "max_error", "n_nonzero_coefs"]
NAMES = ["range", "object", "str", "string", "int64", "int32", "int16", "int8", "uint64", "uint32", "uint16", "uint8"]
LABELS = {1: "range", 2: "integer", 3: "float", 4: "text", 5: "datetime", 6: "timedelta"}
LABEL_TYPES = {
    "range": ["int64"],
    "integer": ["int64", "int32", "int16", "int8", "uint64", "uint32", "uint16", "uint8"],
    "float": ["float64", "float32"],
    "text": ["object", "str", "string"],
    "datetime": ["s", "ms", "us", "ns"],
    "timedelta": ["s", "ms", "us", "ns"],
}


class Bytes:
    """Reads one thing after another; `notes` gets the place, the bytes and the meaning of each that is given one."""

    def __init__(self, data, start=0, notes=None):
        self.data, self.at, self.start, self.notes = data, 0, start, notes

    @property
    def left(self):
        return len(self.data) - self.at

    def _noted(self, what, read, *args):
        since = self.at
        value = read(*args)
        if self.notes is not None and what and self.at > since:
            self.notes.append((self.start + since, self.data[since : self.at], what.format(value)))
        return value

    def _take(self, n):
        assert 0 <= n <= self.left, "cut"
        self.at += n
        return self.data[self.at - n : self.at]

    def _byte(self):
        return self._take(1)[0]

    def _varint(self):
        number, shift = 0, 0
        while True:
            byte = self._byte()
            number |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return number

    def _signed(self):
        number = self._varint()
        return -(number + 1) // 2 if number % 2 else number // 2

    def _scaled(self):
        number = self._signed()
        return number * 10 ** self._byte()

    def _decimal(self):
        digits = self._varint()
        return float(f"{digits}e{self._signed()}")

    def _text(self):
        return self._take(self._varint()).decode("utf-8", "surrogatepass")

    def _label(self):
        return [lambda: None, self._text, self._signed][self._byte()]()

    def take(self, n, what=""):
        return self._noted(what, self._take, n)

    def rest(self, what=""):
        return self.take(self.left, what)

    def byte(self, what=""):
        return self._noted(what, self._byte)

    def varint(self, what=""):
        return self._noted(what, self._varint)

    def signed(self, what=""):
        return self._noted(what, self._signed)

    def scaled(self, what=""):
        return self._noted(what, self._scaled)

    def decimal(self, what=""):
        return self._noted(what, self._decimal)

    def text(self, what=""):
        return self._noted(what, self._text)

    def label(self, what=""):
        return self._noted(what, self._label)

    def part(self, n):
        """So many bytes, to be read on their own."""
        return Bytes(self._take(n), self.start + self.at - n, self.notes)

    def section(self, what):
        return self.part(self.varint(f"{what}: {{}} bytes"))

    def packed(self):
        """What is left, unpacked. Places within a deflated stream mean nothing, so that is noted as a whole."""
        if self.byte("deflated" if self.data[self.at] else "as it is, not deflated"):
            return Bytes(zlib.decompress(self.rest("raw deflate stream"), -15))
        return self.part(self.left)


@dataclass
class Header:
    version: int
    is_frame: bool
    target: tuple
    chunk_rows: int
    types: list
    type_if_empty: str
    shared: bytes
    n_bytes: int
    crc: int
    names: list | None = None
    names_type: str = ""
    names_name: object = None
    labels: str = "none"
    labels_type: str = ""
    labels_name: object = None
    start: int = 0
    step: int = 1
    zone: str = ""
    frequency: str = ""
    attrs: dict = field(default_factory=dict)
    zones: dict = field(default_factory=dict)  # of columns of time stamps, by place
    categories: dict = field(default_factory=dict)  # labels, and whether their order means something, by place


@dataclass
class Chunk:
    first_row: int
    is_plain: bool
    labels: list
    payload: bytes
    offset: int
    n_bytes: int
    has_tabled_labels: bool
    texts: list

    @property
    def n_rows(self):
        return len(self.labels)


@dataclass
class Member:
    header: Header
    chunks: list


def members(data, notes=None):
    """All members of a file, every checksum and every index checked."""
    source, found, since_index, row, before = Bytes(data, 0, notes), [], [], 0, 0
    while source.left:
        start = source.at
        kind = source.take(4 if data[start] == 0x89 else 2, _meaning(data[start : start + 2]))
        body = source.part(source.varint("length of the body"))
        if kind == b"\x89HRP":
            before += row
            crc = zlib.crc32(data[start : source.at])
            assert source.take(4, "CRC-32 of the header") == crc.to_bytes(4, "little")
            found.append(Member(read_header(body, source.at - start, crc), []))
            _check_joins(found[0].header, found[-1].header)
            since_index, row, n_header = [], 0, source.at - start
            continue
        header = found[-1].header
        if kind == b"\xc5\x9e":
            chunk = read_chunk(body, header, _counted_before(found[0].header, header, before), start)
            _check_sum(source, data, start, header)
            chunk.n_bytes = source.at - start
            assert chunk.first_row == row
            row += chunk.n_rows
            found[-1].chunks.append(chunk)
            since_index.append(chunk)
        else:
            flags = kind[1] - 0xD8
            assert 0 <= flags <= 7
            assert int.from_bytes(source.take(4, "length of the index so far"), "little") == source.at - 4 - start
            _check_sum(source, data, start, header)
            check_index(body, flags, header, since_index, n_header, row)
            since_index, n_header = [], 0
    assert not since_index, "not finished"
    return found


def _meaning(start):
    if start[0] == 0x89:
        return "a header"
    return "a chunk" if start[1] == 0x9E else f"an index, flags {start[1] - 0xD8}"


def _check_sum(source, data, start, header):
    crc = zlib.crc32(data[start : source.at], header.crc)
    assert source.take(4, "CRC-32, gone on with from that of the header") == crc.to_bytes(4, "little")


def _check_joins(first, other):
    assert (first.is_frame, first.types, first.names) == (other.is_frame, other.types, other.names)
    assert (first.labels_type, first.zone) == (other.labels_type, other.zone)
    assert (first.zones, first.categories) == (other.zones, other.categories)
    assert first.labels == other.labels or {first.labels, other.labels} == {"range", "integer"}


def _counted_before(first, header, n_before):
    counted = all((one.labels, one.start, one.step) == ("range", 0, 1) for one in (first, header))
    return n_before if not header.is_frame or counted else 0


def read_header(body, n_bytes, crc):
    version = body.byte("version {}")
    assert version == 1
    meanings = ["an array", "a DataFrame", "", "a DataFrame with texts"]
    flags = body.byte(f"flags: {meanings[body.data[body.at]]}")
    assert flags in (0, 1, 3)
    target = body.section("target")
    chunk_rows, n = body.varint("at most {} rows in a chunk"), body.varint("{} columns")
    types = []
    while len(types) < max(n, 1):
        code = body.byte(f"type {TYPES[body.data[body.at] & 127]}")
        count = max(n, 1) - len(types) if code & 128 else body.varint("of {} columns")
        types += [TYPES[code & 127]] * count
    assert bool(flags & 2) == any(kind in TEXTS for kind in types)
    header = Header(version, bool(flags), read_target(target, n), chunk_rows, types[:n], types[0], b"", n_bytes, crc)
    if flags:
        read_description(body.section("description").packed(), header, n)
    header.shared = body.section("shared").rest("what the chunks share")
    while body.left:
        assert body.byte() >= 128
        body.take(body.varint())
    return header


def read_target(source, n):
    """Kind, and an amount for each column."""
    if not source.left:
        return "lossless", [0.0] * n
    code = source.byte(f"kind of target: {TARGETS[source.data[0] & 3]}")
    kind, amounts = TARGETS[code & 3], []
    source = Bytes(zlib.decompress(source.rest("raw deflate stream"), -15)) if code & 4 else source
    while source.left:
        amount = source.varint("{}") if kind == "n_nonzero_coefs" else source.decimal("{}")
        amounts += [amount] * (source.varint("of {} columns") if source.left else n - len(amounts))
    assert len(amounts) == n
    return kind, amounts


def read_description(source, header, n):
    header.names_type = NAMES[source.byte(f"names are of type {NAMES[source.data[source.at]]}")]
    header.names_name = source.label("name of the index of columns: {}")
    if header.names_type == "range":
        start, step = source.signed("names from {}"), source.signed("step {}")
        header.names = [start + i * step for i in range(n)]
    else:
        header.names = []
        while len(header.names) < n:
            header.names += read_group(source)
        assert len(header.names) == n
    read_label_kind(source, header)
    header.attrs = json.loads(source.text("attrs: {}") or "{}")
    for place, kind in enumerate(header.types):
        if kind == "category":
            like = Header(1, True, (), 0, [], "", b"", 0, 0)
            read_label_kind(source, like)
            number = source.varint("categories, coded: {}")
            data = source.section("categories")
            if data.left:
                labels, _ = read_labels(data, like, number >> 1)
            else:
                labels = [_wrapped(like.start + i * like.step) for i in range(number >> 1)]
            header.categories[place] = (like.labels, like.labels_type, labels, bool(number & 1))
        elif kind.startswith("datetime"):
            header.zones[place] = source.text("time zone of a column {!r}")
    assert not source.left


def read_label_kind(source, header):
    code = source.byte(f"labels: {LABELS[source.data[source.at] & 7]}")
    header.labels = LABELS[code & 7]
    header.labels_type = LABEL_TYPES[header.labels][code >> 3 & 7]
    header.labels_name = source.label("name of the index: {}")
    if header.labels not in ("float", "text"):
        header.start, header.step = source.scaled("start {}"), source.scaled("step {}")
    header.zone = source.text("time zone {}") if code & 64 else ""
    header.frequency = source.text("frequency {}") if code & 128 else ""


def read_group(source):
    kind = source.byte("a group of names, kind {}")
    if kind == 8:
        lengths = [source.varint("length of a name: {}") for _ in range(source.varint("{} names"))]
        return [source.take(length, "a name").decode("utf-8", "surrogatepass") for length in lengths]
    before = "" if kind & 1 else source.text("text before {!r}")
    after, digits = (source.text("text after {!r}"), source.byte("digits {}")) if kind & 3 == 2 else ("", 0)
    count = source.varint("{} names")
    if not kind & 2:
        return [before] * count
    numbers = [source.scaled("first number {}")]
    step = source.signed("step {}") if kind & 4 else None
    while len(numbers) < count:
        numbers.append(numbers[-1] + (source.signed("step {}") if step is None else step))
    return numbers if kind & 1 else [f"{before}{str(number).zfill(digits)}{after}" for number in numbers]


def read_chunk(body, header, counted_before, offset):
    first_row, rows = body.varint("first row {}"), body.varint(f"{body.data[body.at] >> 1} rows, coded")
    n_rows, is_plain = divmod(rows, 2)
    assert 1 <= n_rows <= header.chunk_rows
    data = body.section("labels") if header.is_frame else Bytes(b"")
    places = range(counted_before + first_row, counted_before + first_row + n_rows)
    is_tabled = False
    if data.left:
        labels, is_tabled = read_labels(data, header, n_rows)
    else:
        labels = [_wrapped(header.start + i * header.step) for i in places]
    texts = []
    if any(kind in TEXTS for kind in header.types):
        source = body.section("texts").packed()
        for kind in header.types:
            count = source.varint("{} texts of a column") if kind in TEXTS else 0
            lengths = [source.varint("length of a text {}") for _ in range(count)]
            texts.append([source.take(n, "a text").decode("utf-8", "surrogatepass") for n in lengths])
        assert not source.left
    return Chunk(first_row, bool(is_plain), labels, body.rest("payload"), offset, 0, is_tabled, texts)


def _wrapped(number):
    """As 64 bits with a sign."""
    return (number + 2**63) % 2**64 - 2**63


def read_labels(data, header, n_rows):
    """Labels of a chunk; and whether the coder of tables has them."""
    if header.labels == "float":
        kind = words.coded_type(header.labels_type)
        (bits,), _ = read_verbatim(words.Bytes(data.rest("verbatim")), n_rows, [kind])
        return [kind.value_of(number) for number in bits], False
    if header.labels == "text":
        source = data.packed()
        lengths = [source.varint("length of a label {}") for _ in range(n_rows)]
        return [source.take(length, "a label").decode("utf-8", "surrogatepass") for length in lengths], False
    labels, step = [data.signed("first label {}")], 0
    is_tabled = data.data[data.at] == 2
    if is_tabled:
        data.byte("differences of labels by the coder of tables")
        (steps,), _ = read_table(data.rest("coded differences"), n_rows - 1, [words.Type("i", 8)])
    else:
        source, steps = data.packed(), []
        for _ in range(n_rows - 1):
            step = _wrapped(step + source.signed("change of the step between labels {}"))
            steps.append(step)
        assert not source.left
    for step in steps:
        labels.append(_wrapped(labels[-1] + step))
    return labels, is_tabled


def check_index(body, flags, header, chunks, n_header, row):
    assert body.varint("bytes of the header before the chunks: {}") == n_header
    if n_header == 0:
        first_row = body.varint("first row {}")
        assert first_row == (chunks[0].first_row if chunks else row)
    assert body.varint("{} chunks") == len(chunks)
    for chunk in chunks:
        assert body.varint("size of a chunk {}") == chunk.n_bytes
    for chunk in chunks if flags & 4 else chunks[-1:]:
        assert body.varint("rows {}") == chunk.n_rows
    if not flags & 4:
        assert all(chunk.n_rows == header.chunk_rows for chunk in chunks[:-1])
    if flags & 1:
        last = 0
        for label in [label for chunk in chunks for label in (chunk.labels[0], chunk.labels[-1])]:
            if header.labels == "float":
                assert struct.unpack("<d", body.take(8, "a label"))[0] == label or label != label
            elif header.labels == "text":
                assert body.text("the label {}") == label
            else:
                last += body.signed("to the next label {}")
                assert last == label
    assert not body.left
    labels = [label for chunk in chunks for label in chunk.labels]
    if header.labels_type == "uint64":
        labels = [label % 2**64 for label in labels]
    is_in_order = all(a <= b for a, b in itertools.pairwise(labels))
    if header.labels not in ("none", "text", "float"):
        is_in_order = is_in_order and -(2**63) not in labels  # a time that is missing
    if not (header.labels == "float" and any(label != label for label in labels)):
        assert bool(flags & 2) == is_in_order


def annotated(data):
    """The file as lines: place, bytes, meaning."""
    notes = []
    members(data, notes)
    lines, at = [], 0
    for start, part, what in sorted(notes, key=lambda note: note[0]):
        assert start == at, "a byte without a meaning"
        at += len(part)
        for i in range(0, len(part), 8):
            lines.append(f"{start + i:4d}  {part[i : i + 8].hex(' '):23}  {what if i == 0 else ''}".rstrip())
    assert at == len(data)
    return "\n".join(lines)
