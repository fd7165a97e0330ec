"""What is inside a file, and which part takes how many bytes."""

from dataclasses import dataclass
from typing import Any

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
        Version of the format; that of the first of concatenated files.
    n_rows, n_columns : int
        Shape of the table.
    columns : list of str or int
        Names of the columns; numbers for an array.
    target : Target
        Target of the file; that of the first of concatenated files.
    n_bytes : int
        Size of the whole file.
    parts : dict of str to int
        Bytes by part; they add up to `n_bytes`.
    chunks : list of ChunkDescription
        The chunks, in order.
    types : dict of str to int
        Number of columns of each type.
    index : str
        Kind of labels of the rows; "none" for an array.
    attrs : dict
        `attrs` of the DataFrame.
    chunk_rows : int
        Maximum number of rows per chunk.
    damage : list of str
        What is damaged, in words.
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
        if decoder.n_bytes is None or decoder.n_rows is None:
            raise ValueError("to describe a file it has to be able to seek; read the pipe first, and give its bytes.")
        parts, chunks = decoder.parts_of_headers(), []
        for place, chunk in enumerate(decoder.chunks):
            mode, inside = decoder.parts_of_chunk(place)
            for name, size in inside.items():
                parts[name] = parts.get(name, 0) + size
            chunks.append(ChunkDescription(chunk.n_rows, chunk.n_bytes, mode, chunk.first, chunk.last))
        last = "damaged" if decoder.damage else "checksums and index"
        parts[last] = parts.get(last, 0) + decoder.n_bytes - sum(parts.values())
        return Description(
            decoder.version,
            decoder.n_rows,
            decoder.n_columns,
            list(range(decoder.n_columns)) if decoder.columns is None else decoder.columns,
            decoder.target,
            decoder.n_bytes,
            {name: size for name, size in parts.items() if size},
            chunks,
            {kind: decoder.types.count(kind) for kind in dict.fromkeys(decoder.types)},
            decoder.index,
            decoder.attrs,
            decoder.chunk_rows,
            list(decoder.damage),
        )
