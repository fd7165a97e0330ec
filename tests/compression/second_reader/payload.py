"""Whole files: the columns of all chunks."""

from typing import NamedTuple

from .apart import Apart
from .container import TEXTS, members
from .network import read_group
from .sparse import read_basis
from .table_part import read_table
from .verbatim import read_verbatim
from .words import Bytes, coded_type


class File(NamedTuple):
    """Columns as bytes; labels of rows; and what the chunks are made of."""

    columns: list
    labels: list
    met: set
    texts: dict  # by place of a column of texts or categories; None where one is missing


def read_file(data):
    columns, labels, met, texts = None, [], set(), {}
    for member in members(data):
        types = [coded_type(name) for name in member.header.types]
        columns = [[] for _ in types] if columns is None else columns
        groups = _groups(Bytes(member.header.shared or b"\x01\x00"), len(types))
        for chunk in member.chunks:
            source = Bytes(chunk.payload)
            if chunk.is_plain:
                (decoded, _), modes = read_verbatim(source, chunk.n_rows, types), {"plain"}
            else:
                decoded, modes = read_payload(source, chunk.n_rows, types, groups) if types else ([], set())
            met |= modes | ({"labels by the coder of tables"} if chunk.has_tabled_labels else set())
            labels += chunk.labels
            for place, (column, more) in enumerate(zip(columns, decoded, strict=True)):
                column += more
                if place in member.header.categories:
                    listed = member.header.categories[place][2]
                elif member.header.types[place] in TEXTS:
                    listed = chunk.texts[place]
                else:
                    continue
                texts.setdefault(place, []).extend(listed[number - 1] if number else None for number in more)
    packed = [b"".join(bits.to_bytes(t.size, "little") for bits in c) for t, c in zip(types, columns, strict=True)]
    return File(packed, labels, met, texts)


def _groups(source, n):
    """Columns of each group, and its basis."""
    n_groups, number = source.varint(), [0] * n
    if n_groups > 1:
        inner = Bytes(source.take(source.varint())).packed()
        number = [inner.varint() for _ in range(n)]
    groups = [[j for j in range(n) if number[j] == i] for i in range(n_groups)]
    return [(group, read_basis(source, len(group))) for group in groups]


def read_payload(source, n_rows, types, groups):
    n, flags, met = len(types), source.byte(), set()
    nothing = [0] * n
    empty = source.flags(n) if flags & 1 else nothing
    verbatim = source.flags(n) if flags & 2 else nothing
    columns = [[type_.nan if type_.is_float else 0] * n_rows for type_ in types]

    def put(places, decoded):
        for place, column in zip(places, decoded, strict=True):
            columns[place] = column

    if flags & 2:
        places = [j for j in range(n) if verbatim[j]]
        decoded, found = read_verbatim(Bytes(source.take(source.varint())), n_rows, [types[j] for j in places])
        put(places, decoded)
        met |= {"verbatim", *found}
    tabled, length = nothing, None
    if flags & 8:
        is_all = source.byte()
        tabled = [1 - (e | v) for e, v in zip(empty, verbatim, strict=True)] if is_all else source.flags(n)
        length = None if is_all else source.varint()
    apart = Apart(source if flags & 4 else Bytes(b"\x00"), types)
    met |= {("apart from groups", name) for name in apart.met}
    if flags & 8:
        those = [j for j in range(n) if tabled[j]]
        part = source.rest() if length is None else source.take(length)
        decoded, found = read_table(part, n_rows, [types[j] for j in those])
        put(those, decoded)
        met |= {"table", *found}
    coded = [not (empty[j] or verbatim[j] or tabled[j]) for j in range(n)]
    left = [(group, basis) for group, basis in groups if any(coded[j] for j in group)]
    for i, (group, basis) in enumerate(left):
        part = source.rest() if i == len(left) - 1 else source.take(source.varint())
        those = [j for j in group if coded[j]] if basis[0] == "adaptive" else group
        decoded, mode = read_group(part, n_rows, [types[j] for j in those], basis, apart.of_columns(those))
        met.add(("samples", "transform", "correction", "sparse codes")[mode])
        kept = [(j, column) for j, column in zip(those, decoded, strict=True) if coded[j]]
        put([j for j, _ in kept], [column for _, column in kept])
    source.end()
    return columns, met
