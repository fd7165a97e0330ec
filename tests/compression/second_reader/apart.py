"""Cells apart: gaps, exceptions and sentinels of the table part, or of the groups of a chunk."""

from .gaps import read_gaps


class Apart:
    """What is said of them before the coded bits; `read_places` reads the rest."""

    def __init__(self, source, types):
        self.n, self.flags = len(types), source.byte()
        assert self.flags < 16
        self.nans = {}
        if self.flags & 2:
            sizes = source.byte()
            self.nans = {size: source.number(size) for size in (2, 4, 8) if sizes & size}
        places = source.places() if self.flags & 4 else []
        self.cells = [(place // self.n, place % self.n, source.number(types[place % self.n].size)) for place in places]
        self.sentinels = []
        for _ in range(source.varint() if self.flags & 8 else 0):
            j = source.varint()
            self.sentinels.append((j, source.number(types[j].size)))

    def of_columns(self, columns):
        """Of a group with these columns."""
        new, part = {j: i for i, j in enumerate(columns)}, object.__new__(Apart)
        part.n, part.flags, part.nans = len(columns), 1, self.nans
        part.cells = [(t, new[j], bits) for t, j, bits in self.cells if j in new]
        part.sentinels = [(new[j], bits) for j, bits in self.sentinels if j in new]
        return part

    def read_places(self, bits, n_rows):
        """Which cells are coded."""
        n = self.n
        self.seen = read_gaps(bits, n_rows, n) if self.flags & 1 else [[1] * n for _ in range(n_rows)]
        self.masks = [[row[0] for row in read_gaps(bits, n_rows, 1)] for _ in self.sentinels]
        coded = [list(row) for row in self.seen]
        for t, j, _ in self.cells:
            coded[t][j] = 0
        for (j, _), mask in zip(self.sentinels, self.masks, strict=True):
            for t in range(n_rows):
                coded[t][j] &= 1 - mask[t]
        return coded

    def put(self, columns, types):
        """In their places, in columns of bits."""
        for j, (column, type_) in enumerate(zip(columns, types, strict=True)):
            for t, row in enumerate(self.seen):
                if type_.is_float and not row[j]:
                    column[t] = self.nans.get(type_.size, type_.nan)
        for t, j, bits in self.cells:
            columns[j][t] = bits
        for (j, bits), mask in zip(self.sentinels, self.masks, strict=True):
            for t, is_there in enumerate(mask):
                columns[j][t] = bits if is_there else columns[j][t]

    @property
    def met(self):
        names = {1: "gaps", 2: "NaN bits", 4: "exceptions", 8: "sentinels"}
        return {name for flag, name in names.items() if self.flags & flag}
