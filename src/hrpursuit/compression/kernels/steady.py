"""Numbers within a bound that change as seldom as they may: the cheapest path through all that are allowed."""

from hrpursuit.compression.kernels.compiled import compiled


@compiled
def cheapest_path(least, most, costs, totals, before, out):
    """For each row a number from `least` to `most`, so that the sum of the costs of all changes is the smallest. Only
    an encoder does this.

    Parameters
    ----------
    least, most : arrays of shape (n_rows,)
    costs : array of odd length
        Of changes, that of none in the middle; larger changes cost as much as the last ones.
    totals : array of shape (2, n_states)
        Room, for as many numbers as a row has at most.
    before : array of shape (n_rows, n_states)
        Room.
    out : array of shape (n_rows,)
        Set.
    """
    n_rows, middle = len(least), len(costs) // 2
    for s in range(most[0] - least[0] + 1):
        totals[0, s] = 0
    now = 0
    for t in range(1, n_rows):
        n_states, n_earlier = most[t] - least[t] + 1, most[t - 1] - least[t - 1] + 1
        for s in range(n_states):
            best, place = 1 << 60, 0
            for r in range(n_earlier):
                change = least[t] + s - least[t - 1] - r
                cost = totals[now, r] + costs[middle + min(max(change, -middle), middle)]
                if cost < best:
                    best, place = cost, r
            totals[1 - now, s] = best
            before[t, s] = place
        now = 1 - now
    best = 0
    for s in range(1, most[n_rows - 1] - least[n_rows - 1] + 1):
        if totals[now, s] < totals[now, best]:
            best = s
    for t in range(n_rows - 1, -1, -1):
        out[t] = least[t] + best
        if t > 0:
            best = before[t, best]
