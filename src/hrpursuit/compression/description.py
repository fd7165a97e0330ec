"""What is inside a file, and which part takes how many bytes."""

from dataclasses import dataclass
from typing import Any

from hrpursuit.compression.files.header import CHECKSUM
from hrpursuit.compression.files.listing import Listing
from hrpursuit.compression.reader import Decoder
from hrpursuit.compression.targets import Target


@dataclass(frozen=True)
class ChunkDescription:
    """One chunk of a file.

    Attributes
    ----------
    n_rows : int
        Number of rows.
    n_bytes : int
        Size in the file, checksum included.
    mode : str
        How its readings are coded.
    first, last : label
        Labels of its first and last row.
    """

    n_rows: int
    n_bytes: int
    mode: str
    first: Any
    last: Any


@dataclass(frozen=True)
class Description:
    """What `describe` found.

    Attributes
    ----------
    version : int
        Version of the format; of joined files that of the first.
    n_rows, n_columns : int
        Shape of the table.
    columns : list of str or int
        Names of the columns; numbers for an array.
    target : Target
        What the file was asked to keep; of joined files the first one.
    n_bytes : int
        Size of the whole file.
    parts : dict of str to int
        Bytes by part; they add up to `n_bytes`.
    chunks : list of ChunkDescription
        The chunks, in order.
    types : dict of str to int
        How many columns there are of each type.
    index : str
        Kind of labels of the rows; "none" for an array.
    attrs : dict
        `attrs` of the DataFrame.
    chunk_rows : int
        Most rows of a chunk.
    damage : list of str
        What is damaged.
    """

    version: int
    n_rows: int
    n_columns: int
    columns: list[str | int]
    target: Target
    n_bytes: int
    parts: dict[str, int]
    chunks: list[ChunkDescription]
    types: dict[str, int]
    index: str
    attrs: dict[str, Any]
    chunk_rows: int
    damage: list[str]


def describe(source: Any, *, damaged: str = "raise") -> Description:
    """Tell what is inside a file without decoding its readings.

    Parameters
    ----------
    source : path, bytes-like or binary file
        The file; it has to be able to seek.
    damaged : {"raise", "skip"}, default="raise"
        What to do with a file that is cut or changed: raise DamagedFile, or describe what is whole. The part
        "damaged" then has the bytes that are not.

    Returns
    -------
    description : Description
        Shape, target, bytes by part, and the chunks.
    """
    with Decoder(source, damaged=damaged) as decoder:
        if decoder._listing is None or decoder.n_bytes is None:
            raise ValueError("to describe a file it has to be able to seek; read the pipe first, and give its bytes.")
        return _described(decoder, decoder._listing, decoder.n_bytes)


def _described(decoder: Decoder, listing: Listing, n_bytes: int) -> Description:
    header = decoder._header
    parts = dict.fromkeys(["header", "names and index", "dictionary", "checksums and index"], 0)
    for member in listing.members:
        one = member.header
        n_sections = {
            "names and index": one.n_description,
            "dictionary": len(one.shared),
            "checksums and index": CHECKSUM,
        }
        for name, size in {**n_sections, "header": one.n_bytes - sum(n_sections.values())}.items():
            parts[name] += size
    chunks = []
    for chunk, (member, frame) in zip(decoder.chunks, decoder._frames(), strict=True):
        mode, inside = decoder._reader_of(member.header).parts(frame)
        for name, size in {**inside, "names and index": len(frame.labels), "texts": len(frame.texts)}.items():
            parts[name] = parts.get(name, 0) + size
        parts["checksums and index"] += frame.n_bytes - len(frame.payload) - len(frame.labels) - len(frame.texts)
        chunks.append(ChunkDescription(chunk.n_rows, chunk.n_bytes, mode, chunk.first, chunk.last))
    rest = n_bytes - sum(parts.values())
    parts["damaged" if decoder.damage else "checksums and index"] = (
        rest if decoder.damage else parts["checksums and index"] + rest
    )
    schema = header.schema
    types = {kind: schema.kinds.count(kind) for kind in dict.fromkeys(schema.kinds)}
    return Description(
        decoder.version,
        sum(chunk.n_rows for chunk in chunks),
        decoder.n_columns,
        list(schema.columns),
        decoder.target,
        n_bytes,
        {name: size for name, size in parts.items() if size},
        chunks,
        types,
        schema.labels.kind,
        decoder.attrs,
        header.chunk_rows,
        list(decoder.damage),
    )
