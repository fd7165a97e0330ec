"""The quick coder of whole numbers: differences to the last value, to a line or to a constant."""

from .table_coder import CONSTANT, DRIFTING, FIRST, LIMIT, N_BUCKETS, SIZE
from .words import clip


def read_quick(bits, seen, columns):
    chances, X = {}, []
    mean, before = [64] * len(columns), [64] * len(columns)

    def learned(own, place):
        chance = chances.get((*own, place), 32768)
        b = bits.bit(clip(chance, 64, 65472))
        chances[(*own, place)] = chance + ((65536 * b - chance) >> 5)
        return b

    for t, row in enumerate(seen):
        X.append([])
        for k, (_, centre, constant, *_) in enumerate(columns):
            last = X[t - 1][k] if t else 0
            if not row[k]:
                X[t].append(last)
                continue
            start = constant if centre == CONSTANT else last
            if centre == DRIFTING and t > 1:
                start = clip(2 * last - X[t - 2][k], -LIMIT, LIMIT)
            own, magnitude, negative = (min(k, 63), min(mean[k].bit_length(), 23)), 0, 0
            if not learned(own, 1 if before[k] == 0 else 0):
                negative = bits.bit(32768)
                for bucket in range(N_BUCKETS):
                    if learned(own, 3 + bucket):
                        break
                magnitude = FIRST[bucket] + bits.plain(SIZE[bucket].bit_length() - 1)
            mean[k] += (16 * min(magnitude, 2**30) - mean[k]) >> 3
            before[k] = magnitude
            X[t].append(clip(start - magnitude if negative else start + magnitude, -LIMIT, LIMIT))
    return X
