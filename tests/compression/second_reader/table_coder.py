"""The coder of tables: predictions, contexts, and the mixing of what they say."""

from .regression import Regression
from .words import T, clip

STRETCH, SQUASH, LOGISTIC, RATE = T["STRETCH"], T["SQUASH"], T["LOGISTIC"], T["RATE"]
PREDICTED, LAST, DRIFTING, CONSTANT = range(4)
LIMIT = 2**34
N_BUCKETS = 72


def _buckets():
    first, size = [1, 2, 3, 4, 5, 7], [1, 1, 1, 1, 2, 2]
    for octave in range(33):
        width = 4 << octave
        first += [2 * width + 1, 3 * width + 1]
        size += [width, width]
    return first, size


FIRST, SIZE = _buckets()
END = [first + size for first, size in zip(FIRST, SIZE, strict=True)]


def hashed(a, b):
    x = (a % 2**31) * 0x2545F491 + (b % 2**31) * 0x5851F42D
    x = (x ^ (x >> 29)) % 2**31 * 0x1B873593
    return (x ^ (x >> 31)) % 2**31


def size_class(m):
    length = (m >> 3).bit_length()
    return length if length < 2 else min(2 * length + ((m >> (length + 1)) & 1) - 2, 47)


def level_class(level):
    size = abs(level)
    size = size if size <= 4 else 5 if size < 8 else 6 if size < 16 else 7
    return size if level >= 0 else 8 + size


def interval_class(n_rows, per_octave):
    bits = per_octave // 2
    more = n_rows.bit_length() - bits
    if more <= 0:
        return n_rows
    return per_octave * more + (n_rows >> (more - 1)) % per_octave


def run_class(run):
    run, found = min(run, 255), 0
    while run > 0:
        run, found = (run * 5) >> 3, found + 1
    return found


def below(x, sharpness):
    return LOGISTIC[clip((clip(x, -(2**33), 2**33) * sharpness) >> 24, -4095, 4095) + 4096]


def log_odds(part, whole):
    return STRETCH[clip(4096 * part // whole, 0, 4095)]


def inside(experts, level):
    """What experts say of this level."""
    found = [below(256 * level - c + 128, w) - below(256 * level - c - 128, w) for c, w in experts]
    return [STRETCH[clip(x >> 12, 0, 4095)] for x in found]


class Search:
    """A magnitude that is narrowed down: at least `low`, and below `high` once that is known."""

    def __init__(self, experts, negative, low):
        self.experts = [(-c if negative else c, w) for c, w in experts]
        self.negative, self.low, self.high = negative, low, None
        self.from_low, self.from_high = self._beyond(low), [0] * len(experts)

    def end(self, high):
        self.high, self.from_high = high, self._beyond(high)

    def _beyond(self, magnitude):
        return [below(128 + c - 256 * magnitude, w) for c, w in self.experts]

    def ask(self, split, for_upper):
        """What experts say of the part from `split` on, or of the part before it."""
        self.split, self.at_split = split, self._beyond(split)
        parts = zip(self.from_low, self.at_split, self.from_high, strict=True)
        return [log_odds((b - c if for_upper else a - b) + 4, a - c + 8) for a, b, c in parts]

    def tell(self, is_upper):
        if is_upper:
            self.low, self.from_low = self.split, self.at_split
        else:
            self.high, self.from_high = self.split, self.at_split


class Column:
    """What is remembered of one column."""

    def __init__(self, scale, n_predictions, n_features, n_own, n_taps, hasty):
        self.scale, self.repeats = scale, 0
        self.taps, self.past, self.filtered = [0] * n_taps, [0] * n_taps, 0
        self.slow, self.fast = [256 * scale] * (n_predictions + 1), [256 * scale] * (n_predictions + 1)
        self.regression = Regression(n_features, n_own, hasty)
        self.levels, self.changes, self.value, self.run, self.span = [0, 0, 0], [0, 0, 0], 0, 0, 0
        self.asked = {}  # by node
        self.size, self.mean, self.drift, self.count = 0, 0, 0, 0
        self.last_weights = [21845] * 3

    def scaled(self, change):
        """A change as a feature, in 1/4096 of the typical change."""
        length = self.scale.bit_length()
        return clip((change * (2 ** (length + 15) // self.scale)) >> (length - 1), -(2**23), 2**23)

    def filter(self):
        """What the long filter says of the next number, from the mean."""
        total = sum(w * x for w, x in zip(self.taps, self.past, strict=True)) >> 24
        self.filtered = clip(total, -(2**26), 2**26)
        return self.filtered

    def learn_filter(self, value):
        power = sum(x * x for x in self.past) + 2**20 * len(self.past)
        gain = clip(2**37 * clip(value - self.filtered, -(2**23), 2**23) // power, -(2**38), 2**38)
        moved = [w + ((gain * x) >> 20) for w, x in zip(self.taps, self.past, strict=True)]
        self.taps = [clip(w, -(2**27), 2**27) for w in moved]
        self.past = [value, *self.past[:-1]]


class TableCoder:
    """Reads numbers row by row, column by column."""

    def __init__(self, bits, seen, columns, *, order, season, n_neighbours, n_taps, hasty):
        """`columns` has scale, centre, constant, neighbours, ends of each, and whether levels come again."""
        self.bits, self.seen, self.order, self.season, self.hasty = bits, seen, order, season, hasty
        self.centres, self.constants, self.near = ([column[i] for column in columns] for i in (1, 2, 3))
        self.ends, self.recurs = ([column[i] for column in columns] for i in (4, 5))
        self.n_neighbours = n_neighbours
        n_own = 3 + order + (6 if season else 0)
        self.n_taps, self.n_predictions = n_taps, (7 if n_neighbours else 5) + (n_taps > 0)
        n_features = n_own + 2 * n_neighbours
        self.columns = [Column(column[0], self.n_predictions, n_features, n_own, n_taps, hasty) for column in columns]
        self.n_contexts, n_experts = (6, 3) if hasty else (9, 2 * self.n_predictions)
        self.first_weights = [65536 // n_experts] * n_experts + [2621] * (2 * self.n_contexts) + [0]
        self.n_lines = 1024
        while self.n_lines < 2**15 and 4 * self.n_lines < len(seen) * len(columns):
            self.n_lines *= 2
        self.weights, self.chances, self.refined = {}, {}, {}
        self.X = []

    def read(self):
        n = len(self.columns)
        for t, seen in enumerate(self.seen):
            self.X.append([0] * n)
            self.n_changed = self.n_seen = self.activity = 0
            for k in range(n):
                self.X[t][k] = self._value(t, k) if seen[k] else self._at(t - 1, k)
        return self.X

    def _at(self, t, k):
        return self.X[t][k] if t >= 0 else 0

    def _change(self, t, k):
        return self.X[t][k] - self.X[t - 1][k] if t > 0 else 0

    def _features(self, t, k, last):
        column, X = self.columns[k], self.X
        scaled = column.scaled
        changes = [self._change(t - 1 - j, k) for j in range(self.order + 1)]
        features = [4096, scaled(changes[0])]
        features += [scaled(changes[j] - changes[j + 1]) for j in range(self.order)]
        features.append(scaled((column.mean >> 12) - last) >> 2 if column.count else 0)
        if self.season:
            seasonal, s = [0] * 6, t - self.season
            if s > 0:
                seasonal[0], seasonal[1] = scaled(X[s][k] - last), scaled(self._change(s, k))
                seasonal[2] = scaled(self._change(s + 1, k)) if self.season > 1 else 0
                week, two = t - 7 * self.season, t - 2 * self.season
                if week > 0:
                    seasonal[3], seasonal[4] = scaled(X[week][k] - last), scaled(self._change(week, k))
                if two > 0:
                    seasonal[5] = scaled(self._change(two, k))
            features += seasonal
        changes, levels = [0] * self.n_neighbours, [0] * self.n_neighbours
        level = scaled(last - (column.mean >> 12))
        for j, (q, lag) in enumerate(self.near[k]):
            other, r = self.columns[q], t - lag
            if r > 0:
                changes[j] = other.scaled(self._change(r, q))
                levels[j] = (other.scaled(X[r][q] - (other.mean >> 12)) - level) >> 2
        return features + changes + levels

    def _predictions(self, t, k, last, features):
        """Distances from the last value in 1/256; of all of them their mean; and the least error."""
        column = self.columns[k]
        predictions = [0, column.drift >> 12, 256 * self._change(t - 1, k)]
        weights = column.regression.own + (column.regression.all if self.n_neighbours else [])
        for m, those in enumerate(weights):
            used = features[: column.regression.n_own] if m < 2 else features
            total = sum(w * f for w, f in zip(those, used, strict=False)) >> 24
            predictions.append((clip(total, -(2**26), 2**26) * column.scale) >> 8)
        if self.n_taps:
            predictions.append(((column.filter() * column.scale) >> 8) + (column.mean >> 4) - 256 * last)
        errors = [((179 * column.slow[e] + 77 * column.fast[e]) >> 8) + 1 for e in range(self.n_predictions)]
        least = min(errors)
        g = [(256 * least // error) ** 4 for error in errors]
        total = sum(a * clip(p, -(2**27), 2**27) for a, p in zip(g, predictions, strict=True))
        return predictions, total // sum(g), least

    def _centre(self, k, last, middle):
        predicted = last + ((middle + 128) >> 8)
        centres = {PREDICTED: predicted, LAST: last, DRIFTING: last + self.constants[k], CONSTANT: self.constants[k]}
        return clip(centres[self.centres[k]], *self.ends[k])

    def _experts(self, k, away, predictions, middle):
        """Centre and sharpness of each."""
        column = self.columns[k]
        if self.hasty:
            asked = [(self.n_predictions, middle), (0, 0), (self.n_predictions - 1, predictions[-1])]
            widths = [(d, (column.slow[e] + column.fast[e]) >> 1) for e, d in asked]
        else:
            widths = [(d, error[e]) for e, d in enumerate(predictions) for error in (column.slow, column.fast)]
        return [(away + d, 2**32 // max((141 * width) >> 12, 8)) for d, width in widths]

    def _expected(self, k):
        """The bucket in which magnitudes are expected to end; 0 where they are small."""
        column, kind = self.columns[k], self.centres[k]
        if kind == CONSTANT:
            mean = abs(column.value - self.constants[k])
        else:
            e = {PREDICTED: self.n_predictions, LAST: 0, DRIFTING: 1}[kind]
            mean = (3 * (179 * column.slow[e] + 77 * column.fast[e])) >> 22
        bucket = next((b for b in range(N_BUCKETS) if END[b] > mean), N_BUCKETS - 1)
        return bucket if bucket >= (4 if self.hasty else 7) else 0

    def _lines(self, t, k, part, least, run, expected):
        column, own = self.columns[k], k + 1
        last, last2, last3 = column.levels
        changes = column.changes
        activity = size_class(self.activity // max(self.n_seen, 1))
        lines = [
            hashed(own, expected),
            hashed(9000 + activity, size_class(column.size) + 64 * expected),
            hashed(hashed(own, 13000 + part), size_class(least >> 4) + 64 * expected),
        ]
        if self.hasty and expected:
            return lines
        own += expected * 2**20
        lines += [
            hashed(hashed(own, 12000 + level_class(last)), 16 * level_class(last2) + level_class(last3)),
            hashed(hashed(own, 4000), column.value),
            hashed(hashed(hashed(own, 11000), changes[0]), hashed(changes[1], hashed(changes[2], run))),
        ]
        if not self.hasty:
            left = self.columns[k - 1].levels[0] if k > 0 else 0
            left2 = self.columns[k - 2].levels[0] if k > 1 else 0
            unchanged = self.n_seen if self.n_changed == 0 else 0
            lines += [
                hashed(hashed(own, 7000 + level_class(left)), 16 * level_class(left2) + min(abs(last), 3)),
                hashed(hashed(own, 8000 + min(self.n_changed, 3)), 4 * unchanged + min(column.run, 3)),
                hashed(hashed(own, 10000 + t % self.season), min(abs(last), 2))
                if self.season
                else hashed(15000 + interval_class(column.run, 4), interval_class(column.span, 2)),
            ]
        return lines

    def _value(self, t, k):
        column, last = self.columns[k], self._at(t - 1, k)
        features = self._features(t, k, last)
        predictions, middle, least = self._predictions(t, k, last, features)
        centre = self._centre(k, last, middle)
        run, expected = run_class(column.run), self._expected(k)
        away = 256 * (last - centre)
        self.base = self._lines(t, k, clip((away + middle + 16) >> 5, -24, 24), least, run, expected)
        self._open(0)
        self.k = k
        self.state = 64 + min(expected, 31) if expected else 4 * run + min(abs(column.levels[0]), 3)
        experts = self._experts(k, away, predictions, middle)
        if expected:
            level = self._far_level(experts, expected, last - centre if column.repeats >= 256 else None)
        else:
            level = self._near_level(experts, run, centre, *self.ends[k])
        value = clip(centre + level, *self.ends[k])
        self._learn(t, column, features, [*predictions, middle], value, last, level)
        return value

    def _open(self, which):
        """Lines of the contexts: the first of each, or another."""
        self.line = [(base % self.n_lines) ^ (which % 16) for base in self.base]

    def _near_level(self, experts, run, centre, least, most):
        if self._mixed(0, 0, min(run, 12), inside(experts, 0)):
            return 0
        sides = [(below(-128 - c, w) + 16, below(-128 + c, w) + 16) for c, w in experts]
        if centre <= least or centre >= most:
            negative = centre > least
        else:
            negative = self._mixed(1, 1, 16 + min(run, 12), [log_odds(n, n + p) for n, p in sides])
        search = Search(experts, negative, 1)
        if most < LIMIT:
            search.end(max(centre - least if negative else most - centre, 1) + 1)
        for bucket in range(N_BUCKETS - 1):
            if search.high is not None and END[bucket] >= search.high:
                break
            place = 2 + bucket
            if place % 16 == 0:
                self._open(place >> 4)
            bit = self._mixed(3 + min(bucket, 19), place % 16, 32 + min(bucket, 15), search.ask(END[bucket], False))
            search.tell(not bit)
            if bit:
                break
        else:
            bucket, search.high = N_BUCKETS - 1, END[-1]
        return self._inside(search, bucket)

    def _far_level(self, experts, expected, spot):
        if spot is not None and self._mixed(0, 14, 31, inside(experts, spot)):
            return spot
        sides = [(below(-128 - c, w) + 16, below(128 + c, w) + 16) for c, w in experts]
        negative = self._mixed(2, 0, 29, [log_odds(n, n + p) for n, p in sides])
        search = Search(experts, negative, negative)
        is_before = self._mixed(23, 1, 30, search.ask(END[expected], False))
        search.tell(not is_before)
        if is_before:
            bucket = expected
            while bucket > 0:
                bucket -= 1
                steps = min(expected - bucket, 5) - 1
                bit = self._mixed(29 + steps, 7 + steps, 32 + min(bucket, 15), search.ask(END[bucket], True))
                search.tell(bit)
                if bit:
                    bucket += 1
                    break
        else:
            bucket = expected + 1
            while bucket < N_BUCKETS - 1:
                steps = min(bucket - expected, 5) - 1
                bit = self._mixed(24 + steps, 2 + steps, 32 + min(bucket, 15), search.ask(END[bucket], False))
                search.tell(not bit)
                if bit:
                    break
                bucket += 1
            else:
                search.high = END[-1]
        return self._inside(search, bucket)

    def _inside(self, search, bucket):
        first = search.low
        if search.high - search.low > 1:
            self._open(bucket + 1)
        for depth in range(36 if self.recurs[self.k] else 2):
            if search.high - search.low == 1:
                break
            upper = depth == 1 and search.low > first
            inputs = search.ask(search.low + ((search.high - search.low) >> 1), True)
            if depth > 1:
                self._open((search.low * 0x9E3779B1) >> 16)
            node = 34 + 4 * min(depth, 1) + min(bucket >> 2, 3)
            place = depth + upper if depth < 2 else min(depth + 1, 15)
            search.tell(self._mixed(node, place, 48 + min(bucket, 15), inputs))
        magnitude = search.low + self.bits.plain((search.high - search.low - 1).bit_length())
        return -magnitude if search.negative else magnitude

    def _mixed(self, node, place, kind, inputs):
        own = min(self.k, 63)
        found = [self.chances.setdefault((c, line, place), [32768, 0]) for c, line in enumerate(self.line)]
        inputs = list(inputs)
        for chance, count in found:
            odds = STRETCH[chance >> 4]
            inputs += [odds, (odds * (65536 * count // (count + 8))) >> 16]
        inputs += [0] * (2 * (self.n_contexts - len(found))) + [77]
        sets = [
            self.weights.setdefault((*which, node), list(self.first_weights))
            for which in (("shared",), ("own", own), ("state", self.state))
        ]
        sums = [sum((x * w) >> 6 for x, w in zip(inputs, those, strict=True)) for those in sets]
        mixed = [clip(total >> 10, -2047, 2047) for total in sums]
        last, asked = self.columns[self.k].last_weights, self.columns[self.k].asked
        rate = 98 + 41952 // (32 + asked.get(node, 0))
        asked[node] = asked.get(node, 0) + 1
        odds = clip(sum(w * m for w, m in zip(last, mixed, strict=True)) >> 16, -2047, 2047) + 2048
        p, at, share = SQUASH[odds], odds >> 7, odds & 127
        refined = self.refined.setdefault((own, kind), [SQUASH[min(128 * j, 4095)] for j in range(33)])
        by_bin = (refined[at] * (128 - share) + refined[at + 1] * share) >> 7
        b = self.bits.bit(clip((p + by_bin) >> 1, 16, 65520))
        nearest = at if share < 64 else at + 1
        refined[nearest] += ((65535 * b - refined[nearest]) * 1311) >> 16
        for i in range(3):
            last[i] += ((65536 * b - p) * 131 * mixed[i]) >> 24
            error = ((65536 * b - SQUASH[mixed[i] + 2048]) * rate) >> 8
            moved = [w + ((x * error + 2**15) >> 16) for w, x in zip(sets[i], inputs, strict=True)]
            sets[i][:] = [clip(w, 1 - 2**20, 2**20 - 1) for w in moved]
        for one in found:
            one[0] += ((65535 * b - one[0]) * RATE[one[1]]) >> 16
            one[1] = min(one[1] + 1, 250)
        return b

    def _learn(self, t, column, features, predictions, value, last, level):
        change = value - last
        for e, prediction in enumerate(predictions):
            error = min(16 * abs(256 * change - prediction) + 614, 2**42)
            column.slow[e] += ((error - column.slow[e]) * (65536 // min(column.count + 2, 50))) >> 16
            column.fast[e] += ((error - column.fast[e]) * 38) >> 8
        if t > 0:
            column.regression.observe(features, column.scaled(change))
        if self.n_taps:
            column.learn_filter(column.scaled(value - (column.mean >> 12)))
        column.count += 1
        column.mean += ((4096 * value - column.mean) * (65536 // min(column.count, 400))) >> 16
        if column.count > 1:
            near = clip(change, -(2**26), 2**26)
            column.drift += ((2**20 * near - column.drift) * (65536 // min(column.count, 3000))) >> 16
        column.levels, column.value = [level, *column.levels[:2]], value
        column.size = abs(256 * change - predictions[-1])
        if change:
            column.changes, column.run, column.span = [change, *column.changes[:2]], 0, column.run
            column.repeats -= column.repeats >> 6
        else:
            column.run += 1
            column.repeats += (65536 - column.repeats) >> 6
        self.activity += column.size + 26
        self.n_seen += 1
        self.n_changed += change != 0
