"""Chances of bits, learned while coding: every context keeps its own, and a mixer weighs their log odds.

An integer is coded as bits: is it zero, its sign, then for each magnitude from one on whether it ends there.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from hrpursuit.compression.kernels.bits import EVEN, code_bit, code_number
from hrpursuit.compression.kernels.compiled import as_table, compiled, inlined, integers
from hrpursuit.compression.kernels.constants import (
    FIRST_GUESS,
    LOGISTIC,
    N_BINS,
    N_SCALES,
    RATE,
    SCALE,
    SQUASH,
    STRETCH,
)

ZERO, SIGN = 0, 1  # bins of the first two bits; those of magnitudes follow
N_UNARY = 40  # magnitudes from here on are coded as plain numbers
BIAS = 77  # the last input of a mixer, in 1/256
MIXER_RATE = 25
#: Bits that a chance in 1/4096 costs; the encoder alone weighs with it.
COST = -np.log2((np.arange(4096) + 0.5) / 4096)


class Model(NamedTuple):
    """What is learned of one kind of integer."""

    chances: Any  # by slot and bin: of a one in 1/65536, times 256, plus the bits seen, at most `limit`
    slots: Any  # the slot that each context is in now
    weights: Any  # of the mixer in 1/65536, by bin and input: experts, contexts, bias
    own: Any  # what is added to them, by place, bin and input; there may be no places
    place: Any  # the place that an integer is at
    inputs: Any  # log odds in 1/256
    experts: Any  # centre of each expert's distribution in 1/256 of a step, and 2^32 over its width in these
    limit: int
    rate: int


def new_model(n_slots: int, weights: list[int], n_experts: int, limit: int, rate: int = MIXER_RATE,
              n_bins: int = N_BINS, n_places: int = 0) -> Model:  # fmt: skip
    """A model that has seen nothing; `weights` are those of the experts and of the contexts, to start from. With places
    the mixer has weights of each place beside the common ones, and uses the sums.
    """
    table = integers((n_bins, len(weights) + 1))
    for i, weight in enumerate(weights):
        table[:, i] = table[:, i] + weight
    inputs = integers(len(weights) + 1)
    inputs[-1] = inputs[-1] + BIAS
    return Model(
        chances=as_table(np.full((n_slots, n_bins), EVEN << 8), "i4"),
        slots=integers(len(weights) - n_experts),
        weights=table,
        own=integers((n_places, n_bins, len(weights) + 1)),
        place=integers(1),
        inputs=inputs,
        experts=integers((n_experts, 2)),
        limit=limit,
        rate=rate,
    )


def guess_by_scale(model: Model, first: int, count: int) -> None:
    """The slots from `first` on are classes of magnitude: start each from the geometric guess for its class."""
    model.chances[first : first + N_SCALES] = (FIRST_GUESS << 8) + count


def guess_by_two_scales(model: Model, first: int, count: int) -> None:
    """The slots from `first` on are pairs of classes, 64 to the first of a pair: start from the mean of the guesses."""
    for s in range(N_SCALES):
        start = first + 64 * s
        model.chances[start : start + N_SCALES] = (((FIRST_GUESS[s] + FIRST_GUESS) >> 1) << 8) + count


@inlined
def scale_of(magnitude):
    """Class of a magnitude in 1/256."""
    return SCALE[min(max(magnitude, 0), 8191)]


@inlined
def chance_of_one(model, position):
    """Of the bit in this bin; leaves the inputs for `learn`."""
    n_experts, n_contexts = len(model.experts), len(model.slots)
    total = 0
    for c in range(n_contexts):
        model.inputs[n_experts + c] = STRETCH[model.chances[model.slots[c], position] >> 12]
    for i in range(n_experts + n_contexts + 1):
        total += model.inputs[i] * model.weights[position, i]
    if len(model.own) > 0:
        for i in range(n_experts + n_contexts + 1):
            total += model.inputs[i] * model.own[model.place[0], position, i]
    return SQUASH[min(max(total >> 16, -2047), 2047) + 2048]


@inlined
def learn(model, position, mixed, bit):
    error = ((bit << 16) - mixed) * model.rate
    for i in range(len(model.inputs)):
        change = (model.inputs[i] * error + (1 << 19)) >> 20
        model.weights[position, i] += change
        if len(model.own) > 0:
            model.own[model.place[0], position, i] += change
    for c in range(len(model.slots)):
        slot = model.slots[c]
        old = model.chances[slot, position]
        chance, count = old >> 8, old & 255
        chance += (((bit << 16) - bit - chance) * RATE[count]) >> 16
        model.chances[slot, position] = (chance << 8) + min(count + 1, model.limit)


@inlined
def code_mixed_bit(coder, buffer, decoding, bit, model, position):
    chance = chance_of_one(model, position)
    bit = code_bit(coder, buffer, decoding, chance, bit)
    learn(model, position, chance, bit)
    return bit


@inlined
def _below(x, centre, per_width):
    """Share of an expert's distribution below x, in 1/2^24."""
    z = ((x - centre) * per_width) >> 24
    return LOGISTIC[min(max(z, -4095), 4095) + 4096]


@inlined
def ask_experts(model, position, sign, magnitude):
    """Their log odds of the bit: that the integer is zero, that it is negative, or that it ends at this magnitude."""
    for e in range(len(model.experts)):
        centre, per_width = model.experts[e, 0], model.experts[e, 1]
        if position == ZERO:
            chance = (_below(128, centre, per_width) - _below(-128, centre, per_width)) >> 12
        elif position == SIGN:
            negative = _below(-128, centre, per_width) + 64
            chance = (negative << 12) // (negative + (1 << 24) - _below(128, centre, per_width) + 64)
        else:
            if sign:
                centre = -centre
            here = _below(128 - magnitude * 256, -centre, per_width)
            beyond = _below(-128 - magnitude * 256, -centre, per_width)
            chance = ((here - beyond + 16) << 12) // (here + 32)
        model.inputs[e] = STRETCH[min(max(chance, 0), 4095)]


@compiled
def code_integer(coder, buffer, decoding, value, model, sign_is_learned):
    """Write the integer, or read one, and learn from it. Its magnitude is below 2^25."""
    sign, size = 1 if value < 0 else 0, abs(value)
    for step in range(N_UNARY + 1):
        if step == SIGN and not sign_is_learned:
            sign = code_bit(coder, buffer, decoding, EVEN, sign)
            continue
        position, magnitude = min(step, model.weights.shape[0] - 1), step - 1 if step > SIGN else 0
        ask_experts(model, position, sign, magnitude)
        bit = sign if step == SIGN else 1 if size == magnitude else 0
        bit = code_mixed_bit(coder, buffer, decoding, bit, model, position)
        if step == SIGN:
            sign = bit
        elif bit:
            return -magnitude if sign else magnitude
    size = N_UNARY - 1 + code_number(coder, buffer, decoding, size - N_UNARY + 1)
    return -size if sign else size


@compiled
def bits_needed(value, model, sign_is_learned):
    """What `code_integer` would write; the encoder alone asks."""
    sign, size, bits = 1 if value < 0 else 0, abs(value), 0.0
    for step in range(N_UNARY + 1):
        if step == SIGN and not sign_is_learned:
            bits += 1.0
            continue
        position, magnitude = min(step, model.weights.shape[0] - 1), step - 1 if step > SIGN else 0
        ask_experts(model, position, sign, magnitude)
        chance = chance_of_one(model, position) >> 4
        bit = sign if step == SIGN else 1 if size == magnitude else 0
        bits += COST[chance if bit else 4095 - chance]
        if bit and step != SIGN:
            return bits
    return bits + 2 * math.log2(size - N_UNARY + 1.0) + 1


@compiled
def cheapest_level(exact, model, price, n_tries, sign_is_learned):
    """Of the integer nearest to `exact` and the ones next to it towards zero, the one with the least squared error plus
    price times bits. The encoder alone asks.
    """
    nearest = int(np.floor(exact + 0.5))
    if nearest == 0 or price <= 0.0:
        return nearest
    towards = -1 if nearest > 0 else 1
    best, least = nearest, 1e300
    for i in range(min(n_tries, abs(nearest) + 1)):
        level = nearest + towards * i
        loss = (exact - level) * (exact - level) + price * bits_needed(level, model, sign_is_learned)
        if loss < least:
            best, least = level, loss
    return best
