"""Chances of bits that are learned, and the mixing of contexts and experts: for gaps and for networks."""

from .words import T, clip


def scale(m):
    return T["SCALE"][clip(m, 0, 8191)]


class Model:
    def __init__(self, bits, weights, limit, *, n_experts=0, rate=25, n_bins=20, n_places=0):
        self.bits, self.limit, self.rate, self.n_bins, self.n_experts = bits, limit, rate, n_bins, n_experts
        self.weights = [[*weights, 0] for _ in range(n_bins)]
        self.own = [[[0] * (len(weights) + 1) for _ in range(n_bins)] for _ in range(n_places)]
        self.place = None
        self.inputs = [0] * len(weights) + [77]
        self.slots, self.experts, self.bins, self.first = [], [], {}, lambda slot, place: (32768, 0)

    def bin(self, slot, place):
        return self.bins.setdefault((slot, place), list(self.first(slot, place)))

    def mixed(self, place):
        found = [self.bin(slot, place) for slot in self.slots]
        for c, (chance, _) in enumerate(found):
            self.inputs[self.n_experts + c] = T["STRETCH"][chance >> 4]
        parts = [self.weights[place]] + ([] if self.place is None else [self.own[self.place][place]])
        weights = [sum(part) for part in zip(*parts, strict=True)]
        total = sum(a * b for a, b in zip(self.inputs, weights, strict=True))
        p = T["SQUASH"][clip(total >> 16, -2047, 2047) + 2048]
        b = self.bits.bit(p)
        error = (65536 * b - p) * self.rate
        for i, x in enumerate(self.inputs):
            for part in parts:
                part[i] += (x * error + 2**19) >> 20
        for one in found:
            one[0] += ((65535 * b - one[0]) * T["RATE"][one[1]]) >> 16
            one[1] = min(one[1] + 1, self.limit)
        return b

    def ask(self, what, m=0, negative=0):
        for e, (c, w) in enumerate(self.experts):

            def F(u, w=w):
                return T["LOGISTIC"][clip((u * w) >> 24, -4095, 4095) + 4096]

            if what == "zero":
                q = (F(128 - c) - F(-128 - c)) >> 12
            elif what == "sign":
                g = F(-128 - c) + 64
                q = g * 4096 // (g + 2**24 - F(128 - c) + 64)
            else:
                c = -c if negative else c
                here = F(128 - 256 * m + c)
                q = (here - F(-128 - 256 * m + c) + 16) * 4096 // (here + 32)
            self.inputs[e] = T["STRETCH"][clip(q, 0, 4095)]

    def number(self, learned=True):
        self.ask("zero")
        if self.mixed(0):
            return 0
        if learned:
            self.ask("sign")
        negative = self.mixed(1) if learned else self.bits.bit(32768)
        for m in range(1, 40):
            self.ask("m", m, negative)
            if self.mixed(min(1 + m, 19)):
                return -m if negative else m
        size = 39 + self.bits.gamma()
        return -size if negative else size


def guess(by_scale, by_two):
    """First slots of each kind, with counts."""

    def first(slot, place):
        for start, count in by_scale:
            if start <= slot < start + 40:
                return T["FIRST_GUESS"][20 * (slot - start) + place], count
        for start, count in by_two:
            s, other = divmod(slot - start, 64)
            if 0 <= s < 40 and other < 40:
                return (T["FIRST_GUESS"][20 * s + place] + T["FIRST_GUESS"][20 * other + place]) >> 1, count
        return 32768, 0

    return first
