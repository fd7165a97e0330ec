"""A channel that loses, doubles and reorders messages, and a receiver that compares what is shown with the truth."""

import numpy as np

from hrpursuit.live import Gap, LiveDecoder, LiveEncoder


def disturbed(messages, rng, lost=0.01, doubled=0.01, reordered=0.01):
    """Messages as they come at the other end: each may be lost, come twice, or after up to five that follow it."""
    at = []
    for place, message in enumerate(messages):
        kind = rng.random()
        if kind < lost:
            continue
        late = rng.integers(1, 6) + 0.5 if lost <= kind < lost + reordered else 0.0
        at.append((place + late, message))
        if lost + reordered <= kind < lost + reordered + doubled:
            at.append((place + rng.integers(0, 6) + 0.25, message))
    return [message for _, message in sorted(at, key=lambda pair: pair[0])]


def random_table(rng, n_slots, n_columns):
    """Readings of some kind with gaps, their bounds (0: lossless), and times that sometimes jump."""
    walk = rng.normal(0, 1, (n_slots, n_columns)).cumsum(axis=0) + rng.normal(0, 2, (n_slots, 1)).cumsum(axis=0)
    kind = rng.integers(4)
    if kind == 0:
        table, bounds = np.round(walk * 3), np.full(n_columns, float(rng.choice([0.0, 1.0, 2.0])))
    elif kind == 1:
        table, bounds = np.round(walk, 2) + 1000.0, rng.choice([0.0, 0.02, 0.5], n_columns)
    elif kind == 2:
        table, bounds = walk * 10.0 ** rng.integers(-6, 7), np.full(n_columns, 10.0 ** rng.integers(-3, 3))
    else:
        table, bounds = np.round(np.exp(np.clip(walk / 8, -3, 6)), 1), rng.choice([0.1, 1.0], n_columns)
    table[rng.random(table.shape) < 0.02] = np.nan
    for _ in range(n_slots // 100):
        start, column = rng.integers(n_slots), rng.integers(n_columns)
        table[start : start + rng.integers(1, 50), column] = np.nan
    times = np.arange(n_slots, dtype=np.int64) * 10**9
    if rng.random() < 0.5:
        times[n_slots // 2 :] -= 12345
    return table, bounds, times


def allowed(table, bounds):
    """Largest errors: the bound and the binary rounding of decimals."""
    with np.errstate(invalid="ignore"):
        return bounds * (1 + 1e-9) + np.minimum(1e-3 * bounds, 4 * np.spacing(np.abs(table)))


def run(seed, n_slots, keyframe_every=100):
    """Send a random table through the channel.

    Returns
    -------
    n_shown, n_wrong, n_late, counts : int, int, int, dict
        Slots that were shown; values among them that are wrong; slots that were not shown although every message from
        some keyframe on up to theirs came in order; what the decoder counted.
    """
    rng = np.random.default_rng(seed)
    n_columns = int(rng.integers(1, 12))
    table, bounds, times = random_table(rng, n_slots, n_columns)
    names = [f"s{i}" for i in range(n_columns)]
    settings = {"max_error": bounds.tolist()} if bounds.any() else {"lossless": True}
    per_message = int(rng.choice([1, 1, 3]))
    encoder = LiveEncoder(names, **settings, keyframe_every=keyframe_every, slots_per_message=per_message)
    messages, keyframes, first_slot = [], set(), []
    for row, time in zip(table, times.tolist(), strict=True):
        before, slots = encoder.n_keyframes, encoder.n_slots
        message = encoder.encode(row, time)
        if message is not None:
            if encoder.n_keyframes > before:
                keyframes.add(message)
            messages.append(message)
            first_slot.append((slots, encoder.n_slots))
    received = disturbed(messages, rng)
    decoder, shown, n_wrong = LiveDecoder(), set(), 0
    most = allowed(table, bounds)
    for message in received:
        found = decoder.decode(message)
        if isinstance(found, Gap):
            continue
        for slot in found:
            n_wrong += slot.sequence in shown
            shown.add(slot.sequence)
            truth = table[slot.sequence]
            gap = np.isnan(truth)
            right = np.where(gap, np.isnan(slot.values), (np.abs(slot.values - truth) <= most[slot.sequence]))
            n_wrong += int(np.count_nonzero(~right)) + (slot.time != times[slot.sequence])
    n_late, in_order, position = 0, False, {message: place for place, message in enumerate(messages)}
    last = -1
    for message in received:  # what a receiver without any memory of disorder would have shown
        place = position[message]
        in_order = (in_order and place == last + 1) or (message in keyframes and place > last)
        last = max(last, place)
        if in_order:
            n_late += sum(slot not in shown for slot in range(*first_slot[place]))
    return len(shown), n_wrong, n_late, decoder.counts
