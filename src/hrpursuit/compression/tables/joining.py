"""Tables of decoded columns."""

from typing import Any

import numpy as np

from hrpursuit.compression.errors import damage
from hrpursuit.compression.tables.columns import Schema
from hrpursuit.compression.tables.dtypes import TEXT
from hrpursuit.compression.tables.labels import Labels


def built(schema: Schema, columns: list[np.ndarray], labels: Labels, n_rows: int) -> Any:
    """A table of columns and labels."""
    with damage("the table"):  # labels may be times that pandas does not know
        return schema.build(columns, labels, n_rows)


def joined(schema: Schema, blocks: list[list[np.ndarray]], labels: list[Labels], n_rows: int) -> Any:
    """A table of the columns and labels of several chunks."""
    if not blocks:
        types = [
            object if kind in TEXT else dtype for kind, dtype in zip(schema.kinds, schema.coded_types, strict=True)
        ]
        none = [np.empty(0, dtype) for dtype in types]
        return built(schema, none, schema.labels.decode(b"", 0, 0), 0)
    columns = [np.concatenate(parts) if len(parts) > 1 else parts[0] for parts in zip(*blocks, strict=True)]
    if isinstance(labels[0], list):
        return built(schema, columns, [label for part in labels for label in part], n_rows)
    return built(schema, columns, np.concatenate(labels), n_rows)
