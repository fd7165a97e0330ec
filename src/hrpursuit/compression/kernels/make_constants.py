"""Computes the tables that the decoder needs and writes them to constants.bin: python -m
hrpursuit.compression.kernels.make_constants. Decimal arithmetic with 50 digits, so that every machine finds the same;
the file is part of the format, and a test compares it with what is computed here.
"""

from decimal import ROUND_FLOOR, Decimal, getcontext
from functools import lru_cache
from pathlib import Path

import numpy as np

from hrpursuit.compression.kernels.constants import FILE, N_BINS, N_SCALES, SHAPES

HALF = Decimal("0.5")


def rounded(x: Decimal) -> int:
    return int((x + HALF).to_integral_value(ROUND_FLOOR))


def clipped(x: int, low: int, high: int) -> int:
    return min(max(x, low), high)


@lru_cache
def pi() -> Decimal:
    """Machin: 16 atan(1/5) - 4 atan(1/239)."""
    return 16 * _atan(Decimal(1) / 5) - 4 * _atan(Decimal(1) / 239)


def _atan(x: Decimal) -> Decimal:
    """For |x| <= 1; the argument is halved twice first, the series then runs to 60 digits."""
    for _ in range(2):
        x = x / (1 + (1 + x * x).sqrt())
    total, power, n = Decimal(0), x, 1
    while abs(power) > Decimal("1e-60"):
        total += power / n
        power, n = -power * x * x, n + 2
    return 4 * total


def cos(x: Decimal) -> Decimal:
    total, term, n = Decimal(0), Decimal(1), 0
    while abs(term) > Decimal("1e-60"):
        total += term
        n += 2
        term = -term * x * x / (n * (n - 1))
    return total


def squash() -> list[int]:
    """Chance of a one in 1/65536 from log odds in 1/256."""
    return [clipped(rounded(65536 / (1 + (-Decimal(x) / 256).exp())), 16, 65520) for x in range(-2048, 2048)]


def stretch() -> list[int]:
    """Log odds in 1/256 from a chance in 1/4096."""
    chances = [(Decimal(p) + HALF) / 4096 for p in range(4096)]
    return [clipped(rounded(256 * (p / (1 - p)).ln()), -2047, 2047) for p in chances]


def rate() -> list[int]:
    """Share of a new bit in a chance that has seen n of them."""
    return [int(65536 / (n + Decimal("1.6"))) for n in range(256)]


def logistic() -> list[int]:
    """Logistic distribution function in 1/2^24 of an argument in 1/256."""
    return [rounded(2**24 / (1 + (-Decimal(x) / 256).exp())) for x in range(-4096, 4096)]


def _threshold(i: int) -> int:
    return 3 * 135**i // 100**i


def scale() -> list[int]:
    """Class of a mean magnitude in 1/256: each class is 1.35 times as wide as the one before."""
    limits = [_threshold(i) for i in range(N_SCALES - 1)]
    return [sum(limit <= m for limit in limits) for m in range(8192)]


def first_guess() -> list[int]:
    """Chances of the bins of a magnitude in each class, before anything is learned: two-sided geometric."""
    table = []
    for s in range(N_SCALES):
        mean = 3 * (Decimal("1.35") ** (Decimal(s) - HALF)) / 256
        ratio = ((1 + mean * mean).sqrt() - 1) / mean
        bins = [65536 * (1 - ratio) / (1 + ratio), Decimal(32768), *[65536 * (1 - ratio)] * (N_BINS - 2)]
        table += [clipped(int(p), 400, 65136) for p in bins]
    return table


def cosines() -> list[int]:
    """Orthonormal cosine transform of eight values, in 1/4096; one frequency a row."""
    table = []
    for f in range(8):
        norm = (Decimal(1 if f == 0 else 2) / 8).sqrt()
        table += [rounded(4096 * norm * cos(pi() * (2 * t + 1) * f / 16)) for t in range(8)]
    return table


def turns() -> list[int]:
    """Cosine and sine, in 1/2^24, of the Jacobi rotation: of atan(r)/2 for r = i/1024, then of pi/4 - atan(r)/2."""
    table = []
    for part in (Decimal(0), pi() / 4):
        for i in range(1025):
            angle = abs(part - _atan(Decimal(i) / 1024) / 2)
            table += [rounded(2**24 * cos(angle)), rounded(2**24 * cos(pi() / 2 - angle))]
    return table


def make() -> bytes:
    """The bytes of the file."""
    getcontext().prec = 50
    tables = [squash(), stretch(), rate(), logistic(), scale(), first_guess(), cosines(), turns()]
    for (name, shape), table in zip(SHAPES.items(), tables, strict=True):
        if len(table) != np.prod(shape):
            raise AssertionError(f"{name} has {len(table)} entries; {shape} wanted.")
    return b"".join(np.array(table, dtype="<i4").tobytes() for table in tables)


if __name__ == "__main__":
    Path(FILE).write_bytes(make())
