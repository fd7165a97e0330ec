"""Payloads of sensors, and their names."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hrpursuit.live.readings import BadReading, SensorNames, read_payload


@pytest.mark.parametrize(
    ("payload", "value"), [(b"12", 12.0), (b" -3.5e2\n", -350.0), (b"0", 0.0), ("1".encode("utf-8-sig")[3:], 1.0)]
)
def test_numbers(payload, value):
    assert read_payload(payload) == (value, None)


@pytest.mark.parametrize("payload", [b"", b"null", b"nan", b"NaN"])
def test_payloads_that_are_gaps(payload):
    assert math.isnan(read_payload(payload)[0])


@pytest.mark.parametrize(
    "payload", [b"error", b"inf", b"1e999", b"\xff\xfe", b"1,5", b"12 13", b"{", b"1" * 70_000, b"1_000"]
)
def test_payloads_that_are_no_numbers(payload):
    with pytest.raises(BadReading):
        read_payload(payload)


def test_json():
    payload = b'{"data": {"pm25": 12.5, "text": "3", "flag": true}, "ts": 1700000000.5, "big": 1e999}'
    assert read_payload(payload, "data.pm25", "ts") == (12.5, 1_700_000_000_500_000_000)
    assert read_payload(payload, "data.text") == (3.0, None)
    for field in ("data", "data.flag", "nothing", "data.pm25.more", "big"):
        with pytest.raises(BadReading):
            read_payload(payload, field)
    with pytest.raises(BadReading, match="without the field 'when'"):
        read_payload(payload, "data.pm25", "when")


@pytest.mark.parametrize(
    "moment",
    [
        "1700000000",
        "1700000000000",
        "1700000000000000",
        "1700000000000000000",
        '"2023-11-14T22:13:20"',
        '"2023-11-14T23:13:20+01:00"',
    ],
)
def test_times_in_seconds_milliseconds_nanoseconds_and_as_text(moment):
    assert read_payload(f'{{"v": 1, "t": {moment}}}'.encode(), "v", "t") == (1.0, 1_700_000_000_000_000_000)


@pytest.mark.parametrize("moment", ['"soon"', "-5", "null", "1e300", "[]", "true"])
def test_times_that_are_none(moment):
    with pytest.raises(BadReading):
        read_payload(f'{{"v": 1, "t": {moment}}}'.encode(), "v", "t")


@given(st.binary(max_size=60), st.sampled_from([None, "v", "v.w"]), st.sampled_from([None, "t"]))
def test_any_bytes_are_a_number_or_a_bad_reading(payload, field, time_field):
    try:
        value, moment = read_payload(payload, field, time_field)
    except BadReading:
        return
    assert not math.isinf(value)
    assert moment is None or moment > 0


@pytest.mark.parametrize(
    ("filters", "topic", "name"),
    [
        (["plant/+/pm25"], "plant/s01/pm25", "s01"),
        (["plant/+/pm25"], "plant/s01/temperature", None),
        (["plant/+/pm25"], "plant/a/b/pm25", None),
        (["+/+/pm25"], "hall/3/pm25", "hall/3"),
        (["plant/#"], "plant/hall/3", "hall/3"),
        (["plant/#"], "plant", "plant"),
        (["plant/one"], "plant/one", "plant/one"),
        (["plant/+/pm25", "plant/+/no2"], "plant/s01/no2", "plant/s01/no2"),
    ],
)
def test_names_are_what_stands_for_the_wildcards(filters, topic, name):
    assert SensorNames(filters)(topic) == name
