"""A simulated network of air-quality sensors in a city."""

from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy.signal import lfilter
from sklearn.utils import check_random_state

from hrpursuit.rows.optional import needed
from hrpursuit.validation import Interval, validate_params

CITY = 14.0  # kilometres across
#: Everything but events, gains and noise adds up in the square root of the concentration, where the readings of a city
#: are close to Gaussian. These are standard deviations and amplitudes there.
MEAN = 4.5
DAILY, DAILY_CHANGE = 0.95, 0.3
WEEKLY = 0.12
ANNUAL = 0.5
WEATHER, WEATHER_HOURS = 1.35, 40.0
MIXING, MIXING_HOURS = 0.32, 3.0
FRONT, HOURS_BETWEEN_FRONTS, FRONT_SPEED = 0.9, 110.0, 25.0
#: Fields over the city: standard deviation, range in kilometres, memory in hours.
FIELDS = ((0.06, 5.0, 8.0), (0.16, 1.0, 0.7))
UNREST, OWN_UNREST = 0.4, 0.3  # of the logarithm of their strength, from hour to hour: of the city, of a place
SURROUNDINGS = 0.17  # what the place of a sensor changes in its daily cycle
#: Events have sources that stay where they are, so the same sensors see them again and again.
N_SOURCES = 30
EVENT_HEIGHT, EVENT_WIDTH, EVENT_HOURS, PLUME_LENGTH = 7.5, 0.6, 0.9, 1.5  # µg/m³, km, hours, widths
GAIN, OFFSET = 0.085, 0.6


def _smooth_noise(rng: np.random.RandomState, n_hours: int, n_series: int, memory: float) -> np.ndarray:
    """Gaussian series of unit variance that forget within `memory` hours. Two poles, not one: a reading is the mean of
    an hour, so a change goes on into the next.
    """
    slow, fast = np.exp(-1 / memory), np.exp(-1 / min(1.0, memory / 3))
    warm_up = int(8 * memory) + 1
    noise = rng.standard_normal((warm_up + n_hours, n_series))
    series = lfilter([1.0], np.convolve([1, -slow], [1, -fast]), noise, axis=0)[warm_up:]
    variance = (1 + slow * fast) / ((1 - slow * fast) * (1 - slow**2) * (1 - fast**2))
    return series / np.sqrt(variance)


def _hours(start: np.datetime64, n_hours: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Time stamps, and as columns: the hour of the day, whether it is a weekend, the day of the year."""
    stamps = start.astype("datetime64[h]") + np.arange(n_hours)
    days = stamps.astype("datetime64[D]")
    hour = (stamps - days).astype(np.int64)
    weekend = (days.astype(np.int64) + 3) % 7 >= 5  # 1970-01-01 was a Thursday
    day_of_year = (days - days.astype("datetime64[Y]").astype("datetime64[D]")).astype(np.int64)
    return stamps, hour[:, None], weekend[:, None], day_of_year[:, None]


def _add_fronts(root: np.ndarray, places: np.ndarray, rng: np.random.RandomState) -> None:
    """Clean air that crosses the city within the hour: a fall over an hour or two, a recovery over a day or two."""
    n_hours, before = len(root), 200
    n = rng.poisson((n_hours + before) / HOURS_BETWEEN_FRONTS)
    arrivals, angles = rng.uniform(-before, n_hours, n), rng.uniform(0, 2 * np.pi, n)
    depths, ramps, recoveries = FRONT * rng.gamma(4, 0.25, n), rng.uniform(0.5, 1.2, n), rng.uniform(12, 48, n)
    for arrival, angle, depth, ramp, recovery in zip(arrivals, angles, depths, ramps, recoveries, strict=True):
        delay = (places - CITY / 2) @ [np.cos(angle), np.sin(angle)] / FRONT_SPEED
        first, last = max(0, int(arrival) - 8), min(n_hours, int(arrival + 5 * recovery) + 2)
        if first < last:
            since = np.arange(first, last)[:, None] - arrival - delay
            fall = 1 / (1 + np.exp(-np.clip(since / ramp, -30, 30)))
            root[first:last] -= depth * fall * np.exp(-np.maximum(since, 0) / recovery)


def _add_events(level: np.ndarray, places: np.ndarray, rate: float, rng: np.random.RandomState) -> None:
    """Plumes that rise and fade within a few hours, each longer in the direction of its source's usual wind."""
    n_hours = len(level)
    sources, angles = rng.uniform(0, CITY, (N_SOURCES, 2)), rng.uniform(0, 2 * np.pi, N_SOURCES)
    widths = EVENT_WIDTH * (0.5 + rng.exponential(1.0, N_SOURCES))
    along = np.column_stack([np.cos(angles), np.sin(angles)])[:, None]
    away = places - sources[:, None]
    downwind, across = (away * along).sum(axis=2), (away * along[..., ::-1] * [1, -1]).sum(axis=2)
    reach = np.exp(-((downwind / PLUME_LENGTH) ** 2 + across**2) / (2 * widths[:, None] ** 2))

    before = 24
    n = rng.poisson(rate * (n_hours + before))
    starts, source = rng.uniform(-before, n_hours, n), rng.randint(0, N_SOURCES, n)
    heights, lives = EVENT_HEIGHT * rng.exponential(1.0, n) ** 1.2, EVENT_HOURS * (0.5 + rng.exponential(1.0, n))
    strength = np.zeros(n_hours * N_SOURCES)
    for hour in range(1, before + 1):  # since the start; all events at once
        when = np.floor(starts).astype(np.int64) + hour
        age = (when - starts) / lives
        now = (when >= 0) & (when < n_hours) & (age < 8)
        at = when[now] * N_SOURCES + source[now]
        strength += np.bincount(at, heights[now] * age[now] * np.exp(1 - age[now]), minlength=len(strength))
    level += strength.reshape(n_hours, N_SOURCES) @ reach


def _add_gaps(
    table: np.ndarray, silent: float, outages: float, network_outages: float, rng: np.random.RandomState
) -> None:
    """Most outages last an hour or two, a few of them weeks; some sensors have many, most have none."""
    n_hours, n_sensors = table.shape
    rates = np.asarray(outages / 1000 * rng.gamma(0.5, 2.0, n_sensors))
    for sensor, rate in enumerate(rates):
        n = rng.poisson(rate * n_hours)
        lengths = np.ceil(np.exp(np.minimum(0.5 + 2.3 * rng.standard_normal(n), 20))).astype(np.int64)
        for first, length in zip(rng.randint(0, n_hours, n), lengths, strict=True):
            table[first : first + length, sensor] = np.nan
    table[:, rng.permutation(n_sensors)[: round(silent * n_sensors)]] = np.nan
    n = rng.poisson(network_outages / 1000 * n_hours)
    for first, length in zip(rng.randint(0, n_hours, n), rng.geometric(1 / 3, n), strict=True):
        table[first : first + length] = np.nan


@validate_params(
    {
        "n_hours": [Interval(Integral, 1, None, closed="left")],
        "n_sensors": [Interval(Integral, 1, None, closed="left")],
        "noise": [Interval(Real, 0, None, closed="left")],
        "events": [Interval(Real, 0, None, closed="left")],
        "silent": [Interval(Real, 0, 1, closed="both")],
        "outages": [Interval(Real, 0, None, closed="left")],
        "network_outages": [Interval(Real, 0, None, closed="left")],
        "decimals": [Interval(Integral, 0, 12, closed="both"), None],
        "start": [str, np.datetime64],
        "as_frame": ["boolean"],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
)
def make_sensor_network(
    n_hours: int = 744,
    n_sensors: int = 56,
    *,
    noise: float = 0.5,
    events: float = 1.3,
    silent: float = 0.16,
    outages: float = 2.8,
    network_outages: float = 1.0,
    decimals: int | None = 0,
    start: str | np.datetime64 = "2024-10-01",
    as_frame: bool = False,
    random_state: int | np.random.RandomState | None = None,
) -> Any:
    """Simulate the hourly readings of a network of particulate sensors in a city, gaps and all.

    The concentration at random places of a city of 14 kilometres is made of daily, weekly and annual cycles, weather,
    fronts that cross the city, fields that are alike at neighbouring sensors, and the plumes of local events.
    Each sensor has a gain, an offset and noise, and hands over rounded numbers. The defaults are such that the
    statistics of a month are near those of PM2.5 readings in Krakow in October (µg/m³);
    `benchmarks/simulated_network.py` compares how methods rank here and there: codecs, PCA, DCT and HRP alike; K-SVD
    does worse here.

    Parameters
    ----------
    n_hours : int, default=744
        Rows of the table, one per hour.
    n_sensors : int, default=56
        Columns of the table.
    noise : float, default=0.5
        Typical standard deviation of the noise of a sensor, in the unit of the readings; half as much or twice as much
        for some.
    events : float, default=1.3
        Local events in the whole city per hour, as of fires and chimneys; they come from 30 sources.
    silent : float in [0, 1], default=0.16
        Share of the sensors that never report.
    outages : float, default=2.8
        Mean number of outages of one sensor per 1000 hours.
    network_outages : float, default=1.0
        Mean number of outages of the whole network per 1000 hours, three hours each on average.
    decimals : int or None, default=0
        Decimals that readings are rounded to; None does not round.
    start : str or numpy.datetime64, default="2024-10-01"
        Hour of the first row: cycles follow the calendar.
    as_frame : bool, default=False
        Whether to return a pandas DataFrame.
    random_state : int, RandomState instance or None, default=None

    Returns
    -------
    table : array of shape (n_hours, n_sensors), or DataFrame
        Readings, none of them negative; NaN is a gap. The DataFrame has an hourly DatetimeIndex and columns `s01`,
        `s02` and so on.

    Examples
    --------
    >>> from hrpursuit.datasets import make_sensor_network
    >>> import numpy as np
    >>> table = make_sensor_network(random_state=0)
    >>> table.shape, int(np.isnan(table).all(axis=0).sum())
    ((744, 56), 9)
    >>> make_sensor_network(3, 2, silent=0, start="2024-12-24", as_frame=True, random_state=0).index[-1]
    Timestamp('2024-12-24 02:00:00')
    """
    try:
        first_hour = np.datetime64(start)
    except ValueError as error:
        raise ValueError(f"start must be a date or time such as '2024-10-01'; got {start!r}.") from error
    pandas = needed("pandas", "data frames", "cli") if as_frame else None
    rng = check_random_state(random_state)
    stamps, hour, weekend, day = _hours(first_hour, n_hours)
    places = rng.uniform(0, CITY, (n_sensors, 2))
    daily = (np.cos(2 * np.pi * (hour - 21) / 24) + 0.45 * np.cos(4 * np.pi * (hour - 20) / 24)) / 1.1
    afternoon = np.cos(2 * np.pi * (hour - 15) / 24)

    city = MEAN + DAILY * (1 + DAILY_CHANGE * _smooth_noise(rng, n_hours, 1, 40.0)) * daily
    city += WEEKLY * np.where(weekend, -1.0, 0.4) + ANNUAL * np.cos(2 * np.pi * (day - 15) / 365.25)
    city += WEATHER * _smooth_noise(rng, n_hours, 1, WEATHER_HOURS)
    city += MIXING * _smooth_noise(rng, n_hours, 1, MIXING_HOURS)
    root = np.repeat(city, n_sensors, axis=1)
    _add_fronts(root, places, rng)

    distance = np.linalg.norm(places[:, None] - places[None], axis=2)
    unrest = np.exp(UNREST * (_smooth_noise(rng, n_hours, 1, 5.0) + daily / 2) - UNREST**2)
    exposure = np.exp(0.3 * rng.standard_normal(n_sensors))
    own_unrest = np.exp(OWN_UNREST * _smooth_noise(rng, n_hours, n_sensors, 6.0) - OWN_UNREST**2)
    for size, reach, memory in FIELDS:
        spread = np.linalg.cholesky(np.exp(-distance / reach) + 1e-9 * np.eye(n_sensors))
        root += size * exposure * unrest * own_unrest * (_smooth_noise(rng, n_hours, n_sensors, memory) @ spread.T)
    root += SURROUNDINGS * (daily * rng.standard_normal(n_sensors) + afternoon * rng.standard_normal(n_sensors))

    level = np.maximum(root, 0) ** 2
    _add_events(level, places, events, rng)
    table = np.exp(GAIN * rng.standard_normal(n_sensors)) * level + OFFSET * rng.standard_normal(n_sensors)
    table += noise * np.exp(0.3 * rng.standard_normal(n_sensors)) * rng.standard_normal(table.shape)
    table = np.maximum(table, 0)
    if decimals is not None:
        table = np.round(table, decimals)
    _add_gaps(table, silent, outages, network_outages, rng)
    if pandas is None:
        return table
    digits = max(2, len(str(n_sensors)))
    names = [f"s{sensor:0{digits}d}" for sensor in range(1, n_sensors + 1)]
    index = pandas.DatetimeIndex(stamps.astype("datetime64[ns]"), freq="h")
    return pandas.DataFrame(table, index=index, columns=names)
