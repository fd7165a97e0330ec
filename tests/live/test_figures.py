"""Counters, delays and their text for Prometheus; what is logged, and how often."""

import logging
import math
import re

import pytest

from hrpursuit.live import figures as module
from hrpursuit.live.figures import Figures, Happenings, listed, prometheus


def test_text_for_prometheus():
    gateway, controller = Figures("gateway"), Figures("controller")
    gateway.count("readings_total", 3)
    gateway.count("slots_total")
    controller.count("slots_total", 2)
    controller.count("messages_refused_total", reason="key")
    controller.count("messages_refused_total", 2, reason="old")
    controller.set("connected", 1)
    for delay in range(1, 101):
        controller.observe("delay_seconds", delay / 100)
    text = prometheus([gateway, controller])
    assert text.endswith("\n")
    lines = text.splitlines()
    assert 'hrpursuit_live_slots_total{role="gateway"} 1' in lines
    assert 'hrpursuit_live_messages_refused_total{role="controller",reason="old"} 2' in lines
    assert 'hrpursuit_live_delay_seconds{role="controller",quantile="0.5"} 0.5' in lines
    assert 'hrpursuit_live_delay_seconds{role="controller",quantile="0.99"} 0.99' in lines
    assert 'hrpursuit_live_delay_seconds_count{role="controller"} 100' in lines
    assert sum(line.startswith("# TYPE hrpursuit_live_slots_total counter") for line in lines) == 1
    sample = r'[a-z_0-9]+\{role="[a-z]+"(,[a-z]+="[a-z0-9.]+")?\} [0-9.e+-]+'
    assert all(re.fullmatch(rf"# (HELP|TYPE) .+|{sample}", line) for line in lines)


def test_quantiles_are_of_the_last_thousand():
    figures = Figures("controller")
    assert math.isnan(figures.quantile("delay_seconds", 0.5))
    for delay in [100.0] * 500 + [1.0] * 1000:
        figures.observe("delay_seconds", delay)
    assert figures.quantile("delay_seconds", 0.99) == 1.0


def test_a_name_that_is_not_in_the_list_is_a_mistake():
    with pytest.raises(KeyError):
        Figures("gateway").count("reedings_total")
    with pytest.raises(ValueError, match="is a gauge, not a counter"):
        Figures("gateway").count("connected")


def test_what_happens_again_and_again_is_logged_once_a_minute(caplog, monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    happenings = Happenings("gateway")
    with caplog.at_level(logging.INFO, "hrpursuit.live"):
        for _ in range(50):
            happenings.repeat("bad", "a payload is no number")
            now[0] += 1
        happenings.repeat("late", "another thing")
        now[0] += 11
        happenings.repeat("bad", "a payload is no number")
    assert [record.getMessage() for record in caplog.records] == [
        "gateway: a payload is no number",
        "gateway: another thing",
        "gateway: a payload is no number (49 more since the last line)",
    ]


def test_a_kind_may_have_several_lines_a_minute(caplog, monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    happenings = Happenings("gateway")
    with caplog.at_level(logging.INFO, "hrpursuit.live"):
        for number in range(1, 200):
            happenings.repeat("silent", f"line {number}", most=3)
            now[0] += 1
    assert [record.getMessage().removeprefix("gateway: line ") for record in caplog.records] == [
        "1", "2", "3", "61 (57 more since the last line)", "62", "63",
        "121 (57 more since the last line)", "122", "123", "181 (57 more since the last line)", "182", "183",
    ]  # fmt: skip


def test_counters_are_there_before_they_rise():
    figures = Figures("gateway", ["readings_late_total"])
    assert 'hrpursuit_live_readings_late_total{role="gateway"} 0' in prometheus([figures])


@pytest.mark.parametrize(
    ("sensors", "text"),
    [
        ("a", "sensor a"),
        ("ab", "sensors a, b"),
        ("abcd", "sensors a, b, c, d"),
        ("abcdef", "sensors a, b, c, d and 2 more"),
    ],
)
def test_many_sensors_take_one_line(sensors, text):
    assert listed(tuple(sensors)) == text


def test_only_the_last_happenings_are_kept_for_the_page():
    happenings = Happenings("gateway")
    for number in range(1000):
        happenings.say(f"{number}", level=logging.DEBUG)
    assert [one.text for one in happenings.last] == [str(number) for number in range(800, 1000)]
