"""What is inside a file, and which part takes how many bytes."""

from dataclasses import dataclass
from typing import Any

from hrpursuit.compression.errors import DamagedFile, damage
from hrpursuit.compression.files.container import VERSION
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
        Version of the format.
    n_rows, n_columns : int
        Shape of the table.
    target : Target
        What the file was asked to keep.
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
        Rows of every chunk but the last.
    damage : list of str
        What is damaged.
    """

    version: int
    n_rows: int
    n_columns: int
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
        if decoder.n_rows is None or decoder.n_bytes is None:
            raise ValueError("to describe a file it has to be able to seek; read the pipe first, and give its bytes.")
        return _described(decoder, decoder.n_bytes)


def _described(decoder: Decoder, n_bytes: int) -> Description:
    header = decoder._header
    parts = {
        "header": header.n_bytes - 4 - header.n_description - len(header.shared),
        "names and index": header.n_description,
        "dictionary": len(header.shared),
        "checksums and index": 4,
    }
    chunks = []
    for chunk, frame in zip(decoder.chunks, decoder._frames(), strict=True):
        mode, inside = "empty", dict[str, int]()
        if frame.payload and decoder._coder is not None:
            with damage(f"the payload of chunk {chunk.number}"):
                mode, inside = decoder._coder.parts(frame.payload, frame.n_rows)
        if sum(inside.values()) != len(frame.payload):
            raise DamagedFile(f"the parts of chunk {chunk.number} are longer or shorter than the chunk")
        for name, size in {**inside, "names and index": len(frame.labels)}.items():
            parts[name] = parts.get(name, 0) + size
        parts["checksums and index"] += frame.n_bytes - len(frame.payload) - len(frame.labels)
        chunks.append(ChunkDescription(chunk.n_rows, chunk.n_bytes, mode, chunk.first, chunk.last))
    rest = n_bytes - sum(parts.values())
    parts["damaged" if decoder.damage else "checksums and index"] = (
        rest if decoder.damage else parts["checksums and index"] + rest
    )
    schema = header.schema
    types = {kind: schema.kinds.count(kind) for kind in dict.fromkeys(schema.kinds)}
    return Description(
        VERSION,
        sum(chunk.n_rows for chunk in chunks),
        decoder.n_columns,
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
