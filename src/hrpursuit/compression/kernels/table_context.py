"""What the coder of tables asks for each bit of a value: predictions of it, and contexts that it comes in."""

from hrpursuit.compression.kernels.compiled import compiled, inlined
from hrpursuit.compression.kernels.regression import N_SUMS, WEIGHT_BITS
from hrpursuit.compression.kernels.table_features import filtered
from hrpursuit.compression.kernels.table_state import N_CONTEXTS, N_SIMPLE

_AWAY = 1 << 27  # a prediction from the last value, in 1/256, for the centre
_LEAST_WIDTH = 8  # of an expert's distribution, in 1/256
_WORD = (1 << 31) - 1
_N_FAR = 3  # contexts where levels are large, in haste: column, activity, and the place of the prediction


@inlined
def _hash(a, b):
    """Of two numbers of any sign, to 31 bits."""
    x = (a & _WORD) * 0x2545F491 + (b & _WORD) * 0x5851F42D
    x = (x ^ (x >> 29)) & _WORD
    x = x * 0x1B873593
    return (x ^ (x >> 31)) & _WORD


@inlined
def _size_class(magnitude):
    """Class of a magnitude in 1/256, two per octave, from 0 to 47; the first two octaves are one."""
    length, rest = 0, magnitude >> 3
    while rest > 0:
        rest >>= 1
        length += 1
    if length < 2:
        return length
    return min(2 * length + ((magnitude >> (length + 1)) & 1) - 2, 47)


@inlined
def _level_class(level):
    """Sign and magnitude of a level in four bits."""
    size = abs(level)
    if size > 4:
        size = 5 if size < 8 else (6 if size < 16 else 7)
    return size if level >= 0 else 8 + size


@compiled
def set_predictions(predictions, features, weights, filters, errors, k, simple, n_own):
    """Distances of the predictions from the last value, and of their mean, by the inverse fourth power of errors.
    `simple` is the drift, the last change, the distance of the mean from the last value in 1/256, and the scale.
    """
    drift, change, mean, scale = simple
    predictions[0] = 0
    predictions[1] = drift
    predictions[2] = change << 8
    n_long = 1 if filters.weights.shape[1] else 0
    n = len(predictions)
    for m in range(n - N_SIMPLE - n_long):
        total = 0
        for j in range(n_own if m < N_SUMS else len(features)):
            total += weights[k, m, j] * features[j]
        total = min(max(total >> WEIGHT_BITS, -(1 << 26)), 1 << 26)
        predictions[N_SIMPLE + m] = (total * scale) >> 8
    if n_long:
        predictions[n - 1] = ((filtered(filters, k) * scale) >> 8) + mean
    least = 1 << 60
    for e in range(n):
        least = min(least, errors[k, e, 0] * 179 + errors[k, e, 1] * 77)
    least = (least >> 8) + 1
    weight, total = 0, 0
    for e in range(n):
        ratio = (least << 8) // (((errors[k, e, 0] * 179 + errors[k, e, 1] * 77) >> 8) + 1)
        ratio *= ratio
        ratio *= ratio
        weight += ratio
        total += ratio * min(max(predictions[e], -_AWAY), _AWAY)
    return total // weight, least


@inlined
def set_lines(state, t, k, season, n_changed, n_seen, activity, run_class, part, least, expected):
    """Where contexts keep their chances for the value at hand; in haste only the first few where levels are large."""
    n_lines = state.chances.shape[1]
    own, last = k + 1, state.levels[k, 0]
    row = activity // max(n_seen, 1)
    lines = state.lines
    lines[0, 0] = _hash(own, expected)
    lines[1, 0] = _hash(9000 + _size_class(row), _size_class(state.sizes[k]) + 64 * expected)
    lines[2, 0] = _hash(_hash(own, 13000 + part), _size_class(least >> 4) + 64 * expected)
    n_asked = len(lines)
    if expected > 0 and n_asked < N_CONTEXTS:
        n_asked = _N_FAR
    else:
        levels = _level_class(state.levels[k, 1]) * 16 + _level_class(state.levels[k, 2])
        recent = _hash(state.changes[k, 1], _hash(state.changes[k, 2], run_class))
        own += expected << 20
        lines[3, 0] = _hash(_hash(own, 12000 + _level_class(last)), levels)
        lines[4, 0] = _hash(_hash(own, 4000), state.values[k])
        lines[5, 0] = _hash(_hash(_hash(own, 11000), state.changes[k, 0]), recent)
        if n_asked == N_CONTEXTS:
            left = state.here[k - 1] if k > 0 else 0
            left2 = state.here[k - 2] if k > 1 else 0
            phase = t % season if season > 0 else 0
            unchanged = n_seen if n_changed == 0 else 0
            lines[6, 0] = _hash(_hash(own, 7000 + _level_class(left)), _level_class(left2) * 16 + min(abs(last), 3))
            lines[7, 0] = _hash(_hash(own, 8000 + min(n_changed, 3)), unchanged * 4 + min(state.runs[k], 3))
            lines[8, 0] = _hash(_hash(own, 10000 + phase), min(abs(last), 2))
    for c in range(n_asked):
        lines[c, 1] = lines[c, 0] & (n_lines - 1)
    return n_asked


@inlined
def set_experts(state, k, away, middle):
    """Centres of the experts from the centre of the value, and 2^32 over their widths."""
    experts, errors = state.experts, state.errors
    n_predictions, n_widths = len(state.predictions), state.tails.shape[1]
    for e in range(len(experts)):
        asked, distance = e, 0
        if n_widths == 2:
            distance = state.predictions[e]
        elif e == 0:
            asked, distance = n_predictions, middle
        elif e == 2:
            asked = n_predictions - 1
            distance = state.predictions[asked]
        else:
            asked = 0
        experts[e, 0] = away + distance
        for z in range(n_widths):
            width = errors[k, asked, z]
            if n_widths == 1:
                width = (width + errors[k, asked, 1]) >> 1
            experts[e, 1 + z] = (1 << 32) // max((width * 141) >> 12, _LEAST_WIDTH)
