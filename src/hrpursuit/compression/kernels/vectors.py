"""Loops over rows of integers that are computed several numbers at a time. A compiler does that by itself only where it
sees that no row overlaps another, so that here its vectors are named. Rows are a multiple of a vector long.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from hrpursuit.compression.kernels.compiled import IS_PLAIN, inlined, narrow

LANES = 8  # numbers of 64 bits that are computed together
BLOCK = 16  # numbers of 32 bits
MOST_WEIGHT = (1 << 20) - 1  # of an input that is within 2^11, so that their product has 32 bits

Step = Callable[[Any, list[Any], list[Any]], dict[int, Any]]


class _Lanes:
    """Vectors of integers as LLVM has them."""

    def __init__(self, builder: Any, width: int, count: int) -> None:
        self.builder, self.width, self.count = builder, width, count
        self.type = ir.VectorType(ir.IntType(width), count)

    def all(self, number: Any) -> Any:
        """One number in all places."""
        one = self.builder.insert_element(ir.Constant(self.type, ir.Undefined), number, ir.Constant(ir.IntType(32), 0))
        places = ir.Constant(ir.VectorType(ir.IntType(32), self.count), [0] * self.count)
        return self.builder.shuffle_vector(one, ir.Constant(self.type, ir.Undefined), places)

    def constant(self, number: int) -> Any:
        return ir.Constant(self.type, [number] * self.count)

    def load(self, pointer: Any, width: int) -> Any:
        kind = ir.VectorType(ir.IntType(width), self.count)
        found = self.builder.load(self.builder.bitcast(pointer, kind.as_pointer()), align=width // 8)
        return found if width == self.width else self.builder.sext(found, self.type)

    def store(self, pointer: Any, value: Any) -> None:
        self.builder.store(value, self.builder.bitcast(pointer, self.type.as_pointer()), align=self.width // 8)

    def call(self, name: str, *values: Any, result: Any = None) -> Any:
        kind = ir.FunctionType(result or self.type, [value.type for value in values])
        function = cgutils.get_or_insert_function(self.builder.module, kind, f"llvm.{name}.v{self.count}i{self.width}")
        return self.builder.call(function, values)

    def clipped(self, value: Any, least: Any, most: Any) -> Any:
        return self.call("smin", self.call("smax", value, least), most)


def _loop(step: Any, width: int, count: int, n_arrays: int) -> Any:
    """Code that runs a step on all vectors of some rows from the place `start` on, which is the last argument; scalars
    stand behind the rows. What a step gives for 0, 1, ... is stored in that row, for None it is summed up and returned.
    """

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        lanes = _Lanes(builder, width, count)
        arrays = [context.make_array(kind)(context, builder, one)
                  for kind, one in zip(signature.args[:n_arrays], given, strict=False)]  # fmt: skip
        widths = [kind.dtype.bitwidth for kind in signature.args[:n_arrays]]
        number = ir.IntType(width)
        scalars = [lanes.all(one if one.type == number else builder.trunc(one, number)) for one in given[n_arrays:-1]]
        total = cgutils.alloca_once_value(builder, lanes.constant(0))
        (length,) = cgutils.unpack_tuple(builder, arrays[0].shape)
        start, stride = given[-1], ir.Constant(length.type, count)
        with cgutils.for_range_slice(builder, start, length, stride, inc=True) as (place, _):
            pointers = [builder.gep(array.data, [place]) for array in arrays]
            loaded = [lanes.load(pointer, width_) for pointer, width_ in zip(pointers, widths, strict=True)]
            for where, value in step(lanes, loaded, scalars).items():
                if where is None:
                    builder.store(builder.add(builder.load(total), value), total)
                else:
                    lanes.store(pointers[where], value)
        if signature.return_type == types.void:
            return context.get_dummy_value()
        found = lanes.call("vector.reduce.add", builder.load(total), result=number)
        return builder.sext(found, ir.IntType(64)) if width < 64 else found

    return generate


def _sum_step(lanes: Any, rows: Any, _: Any) -> dict[int | None, Any]:
    product = lanes.builder.mul(*rows)
    return {None: lanes.builder.ashr(product, lanes.constant(6))}


def _move_step(lanes: Any, rows: Any, scalars: Any) -> dict[int | None, Any]:
    build = lanes.builder
    move = build.add(build.mul(rows[1], scalars[0]), lanes.constant(1 << 15))
    moved = build.add(rows[0], build.ashr(move, lanes.constant(16)))
    return {0: lanes.clipped(moved, lanes.constant(-MOST_WEIGHT), lanes.constant(MOST_WEIGHT))}


def _weighted_step(lanes: Any, rows: Any, _: Any) -> dict[int | None, Any]:
    return {None: lanes.builder.mul(*rows)}


def _add_step(lanes: Any, rows: Any, scalars: Any) -> dict[int | None, Any]:
    return {0: lanes.builder.add(rows[0], lanes.builder.mul(rows[1], scalars[0]))}


def _fade_step(lanes: Any, rows: Any, scalars: Any) -> dict[int | None, Any]:
    return {0: lanes.builder.sub(rows[0], lanes.builder.ashr(rows[0], scalars[0]))}


def _tie_step(lanes: Any, rows: Any, scalars: Any) -> dict[int | None, Any]:
    build = lanes.builder
    _, _, products, told, shifts = rows
    shift, reach, inverse, pivot = scalars
    entry = build.sub(build.ashr(products, build.add(shift, shifts)), build.ashr(told, lanes.constant(16)))
    entry = lanes.clipped(entry, build.sub(lanes.constant(0), reach), reach)
    tie = build.ashr(build.mul(entry, inverse), lanes.constant(30))
    return {0: tie, 1: build.ashr(build.mul(tie, pivot), lanes.constant(16))}


_NUMBERS = types.int64
if IS_PLAIN:

    def mixed_sum(inputs: Any, weights: Any) -> Any:
        total = 0
        for x, weight in zip(inputs, weights, strict=True):
            total = narrow(total + (narrow(x * weight) >> 6))
        return total

    def move_weights(weights: Any, inputs: Any, error: Any) -> None:
        for i in range(len(weights)):
            moved = weights[i] + (narrow(inputs[i] * narrow(error) + (1 << 15)) >> 16)
            weights[i] = min(max(moved, -MOST_WEIGHT), MOST_WEIGHT)

    def weighted(weights: Any, numbers: Any) -> Any:
        total = 0
        for weight, number in zip(weights, numbers, strict=True):
            total += weight * number
        return total

    def add_times(row: Any, other: Any, factor: Any, start: Any) -> None:
        for i in range(start, len(row)):
            row[i] += other[i] * factor

    def fade(row: Any, memory: Any, start: Any) -> None:
        for i in range(start, len(row)):
            row[i] -= row[i] >> memory

    def set_ties(ties: Any, scaled: Any, products: Any, told: Any, shifts: Any, shift: Any, reach: Any, inverse: Any,
                 pivot: Any, start: Any) -> None:  # fmt: skip
        for i in range(start, len(ties)):
            entry = (products[i] >> (shift + shifts[i])) - (told[i] >> 16)
            ties[i] = (min(max(entry, -reach), reach) * inverse) >> 30
            scaled[i] = (ties[i] * pivot) >> 16

else:

    @intrinsic
    def _mixed_sum(typing: Any, inputs: Any, weights: Any, start: Any) -> Any:
        return _NUMBERS(inputs, weights, start), _loop(_sum_step, 32, BLOCK, 2)

    @inlined
    def mixed_sum(inputs, weights):
        """Sum of inputs times weights, of 32 bits, each product over 2^6."""
        return _mixed_sum(inputs, weights, 0)

    @intrinsic
    def _move_weights(typing: Any, weights: Any, inputs: Any, error: Any, start: Any) -> Any:
        return types.void(weights, inputs, _NUMBERS, start), _loop(_move_step, 32, BLOCK, 2)

    @inlined
    def move_weights(weights, inputs, error):
        """Weights after a bit, by an error that is within 2^19."""
        _move_weights(weights, inputs, np.int64(error), 0)

    @intrinsic
    def _weighted(typing: Any, weights: Any, numbers: Any, start: Any) -> Any:
        return _NUMBERS(weights, numbers, start), _loop(_weighted_step, 64, LANES, 2)

    @inlined
    def weighted(weights, numbers):
        """Sum of numbers times weights."""
        return _weighted(weights, numbers, 0)

    @intrinsic
    def add_times(typing: Any, row: Any, other: Any, factor: Any, start: Any) -> Any:
        """Add a row times a factor to another, from `start` on."""
        return types.void(row, other, _NUMBERS, _NUMBERS), _loop(_add_step, 64, LANES, 2)

    @intrinsic
    def fade(typing: Any, row: Any, memory: Any, start: Any) -> Any:
        """Take from a row what it forgets: its share of 2^-memory."""
        return types.void(row, _NUMBERS, _NUMBERS), _loop(_fade_step, 64, LANES, 1)

    @intrinsic
    def set_ties(typing: Any, ties: Any, scaled: Any, products: Any, told: Any, shifts: Any, shift: Any, reach: Any,
                 inverse: Any, pivot: Any, start: Any) -> Any:  # fmt: skip
        """Entries of L below a pivot, in 1/65536, and these times the pivot."""
        given = types.void(ties, scaled, products, told, shifts, *[_NUMBERS] * 5)
        return given, _loop(_tie_step, 64, LANES, 5)
