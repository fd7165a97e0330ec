"""Readings to time slots: late and missing ones, new and vanished sensors, clocks that jump."""

import numpy as np
import pytest

from hrpursuit.live.slots import SECOND, Clock, SlotAssembler


def assembler(**more):
    return SlotAssembler(10, **more)


def rows(found):
    return [(row.time, row.columns, np.where(np.isnan(row.values), None, row.values).tolist()) for row in found]


class TestSlots:
    def test_readings_of_a_slot_are_one_row_and_the_last_of_a_sensor_counts(self):
        slots = assembler()
        for sensor, value, moment in [("a", 1.0, 100), ("b", 2.0, 103), ("a", 3.0, 109), ("a", 4.0, 110)]:
            assert slots.add(sensor, value, moment, moment) == "kept"
        assert slots.due() == 110
        assert rows(slots.close(109)) == []
        assert rows(slots.close(110)) == [(100, ("a", "b"), [3.0, 2.0])]
        assert rows(slots.close(125)) == [(110, ("a", "b"), [4.0, None])]

    def test_slots_without_a_reading_are_gaps(self):
        slots = assembler()
        slots.add("a", 1.0, 100, 100)
        assert rows(slots.close(130)) == [(100, ("a",), [1.0]), (110, ("a",), [None]), (120, ("a",), [None])]
        assert rows(slots.close(130)) == []

    def test_late_readings_are_told_and_left_out(self):
        slots = assembler(wait=4)
        slots.add("a", 1.0, 105, 105)
        assert slots.close(113) == []
        assert slots.add("b", 2.0, 108, 113) == "kept"
        assert rows(slots.close(114)) == [(100, ("a", "b"), [1.0, 2.0])]
        assert slots.add("b", 9.0, 109, 114) == "late"
        assert slots.add("b", 9.0, 500, 114) == "early"
        assert rows(slots.close(124)) == [(110, ("a", "b"), [None, None])]

    def test_the_first_reading_may_be_of_any_slot_that_still_waits(self):
        for moment, kept in [(105, "kept"), (95, "kept"), (79, "late")]:
            slots = assembler(wait=21)
            assert slots.add("a", 1.0, moment, 105) == kept
            assert slots.due() == max(moment // 10 + 1, 9) * 10 + 21

    def test_arrivals_are_kept_beside_values(self):
        slots = assembler()
        slots.add("a", 1.0, 100, 104)
        slots.add("b", 1.0, 101, 107)
        assert slots.close(110)[0].arrived.tolist() == [104, 107]
        assert slots.close(120)[0].arrived.tolist() == [0, 0]

    def test_new_silent_returning_and_vanished_sensors(self):
        slots = assembler(silent_after=2, forget_after=4)
        told, columns = [], []
        for number in range(12):
            moment = 1000 + 10 * number
            slots.add("a", number, moment, moment)
            if number in (1, 6):
                slots.add("b", number, moment, moment)
            columns += [row.columns for row in slots.close(moment + 10)]
            told += [(number, *change) for change in slots.changes]
            slots.changes.clear()
        assert told == [
            (0, "new", "a"), (1, "new", "b"), (3, "silent", "b"), (5, "vanished", "b"), (6, "returned", "b"),
            (8, "silent", "b"), (10, "vanished", "b"),
        ]  # fmt: skip
        assert columns == [("a",), *[("a", "b")] * 4, ("a",), *[("a", "b")] * 4, ("a",), ("a",)]

    def test_a_sensor_that_was_silent_for_a_while_is_back(self):
        slots = assembler(silent_after=2, forget_after=50)
        for moment in range(0, 100, 10):
            slots.add("a", 1.0, moment, moment)
            if not 20 <= moment < 60:
                slots.add("b", 1.0, moment, moment)
            slots.close(moment + 10)
        assert slots.changes == [("new", "a"), ("new", "b"), ("silent", "b"), ("back", "b")]

    def test_a_sensor_is_back_once_where_slots_wait_for_late_readings(self):
        """Its reading comes while slots before it are open, in which it is still silent."""
        slots = assembler(silent_after=2, forget_after=50, wait=50)
        for slot in range(40):
            for sensor in ("a", "b") if not 10 <= slot < 20 else ("a",):
                slots.add(sensor, 1.0, 10 * slot, 10 * slot + 1)
            slots.close(10 * slot + 5)
        assert slots.changes == [("new", "a"), ("new", "b"), ("silent", "b"), ("back", "b")]

    @pytest.mark.parametrize("every", [2, 5, 40, 300])
    def test_a_sensor_that_reports_seldom_is_silent_once_until_that_is_known(self, every):
        slots, told = assembler(), []
        for number in range(20 * every):
            moment = 10 * number
            slots.add("a", 1.0, moment, moment)
            if number % every == 0:
                slots.add("b", 1.0, moment, moment)
            slots.close(moment + 10)
            told += slots.changes
            slots.changes.clear()
        pauses = [("silent", "b"), ("back", "b")] if every > 3 else []
        assert told == [("new", "a"), ("new", "b"), *pauses]

    def test_a_sensor_that_was_quick_before_its_outage_is_silent_soon_after_it_is_back(self):
        slots, silent_at = assembler(forget_after=5000), []
        for number in range(2000):
            slots.add("a", 1.0, 10 * number, 10 * number)
            if number < 100 or 1000 <= number < 1100:
                slots.add("b", 1.0, 10 * number, 10 * number)
            slots.close(10 * number + 10)
            silent_at += [number for change in slots.changes if change == ("silent", "b")]
            slots.changes.clear()
        assert silent_at == [102, 1102]

    def test_names_of_vanished_sensors_do_not_pile_up(self):
        slots = assembler(silent_after=1, forget_after=2, most_sensors=5)
        for number in range(500):
            for sensor in ("a", f"s{number}"):
                slots.add(sensor, 1.0, 10 * number, 10 * number)
            slots.close(10 * number + 10)
        assert len(slots.columns) <= 5
        assert len(slots._vanished) == 5
        assert len(slots._usual) <= 5

    def test_an_outage_of_all_sensors_makes_none_of_them_vanish(self):
        slots = assembler(forget_after=5)
        slots.add("a", 1.0, 100, 100)
        assert {row.columns for row in slots.close(500)} == {("a",)}
        assert slots.changes == [("new", "a")]

    @pytest.mark.parametrize("pause", [700, 5000])
    def test_after_a_long_outage_sensors_may_come_back_one_after_the_other(self, pause):
        slots, columns = assembler(), []
        for number in [*range(5), *range(pause, pause + 20)]:
            for sensor, first in (("a", 0), ("b", 1), ("c", 2)):
                if number < 5 or number >= pause + first:
                    slots.add(sensor, 1.0, 10 * number, 10 * number)
            columns += [row.columns for row in slots.close(10 * number + 10)]
        assert set(columns) == {("a", "b", "c")}
        assert slots.changes == [("new", "a"), ("new", "b"), ("new", "c")]

    def test_a_sensor_with_a_reading_in_an_open_slot_is_not_left_out(self):
        slots, told = assembler(wait=30, silent_after=1, forget_after=2), []
        for number in range(60):
            slots.add("a", 1.0, 10 * number, 10 * number)
            if number % 3 == 0:
                slots.add("b", 1.0, 10 * number, 10 * number)
            slots.close(10 * number + 10)
            told += slots.changes
            slots.changes.clear()
        assert ("vanished", "b") not in told

    def test_readings_of_too_many_sensors_are_refused(self):
        slots = assembler(most_sensors=2)
        assert [slots.add(f"s{k}", 1.0, 100, 100) for k in range(4)] == ["kept", "kept", "full", "full"]

    def test_a_long_pause_is_not_filled_with_gaps(self):
        slots = assembler()
        slots.add("a", 1.0, 100, 100)
        found = slots.close(10**9)
        assert rows(found) == [(100, ("a",), [1.0])]
        assert slots.add("a", 2.0, 10**9, 10**9) == "kept"
        assert rows(slots.close(10**9 + 10)) == [(10**9, ("a",), [2.0])]

    @pytest.mark.parametrize("jump", [-5000, 5000])
    def test_after_finish_time_may_go_anywhere_and_nobody_was_silent(self, jump):
        slots = assembler(silent_after=2, forget_after=4)
        for moment in (10_000, 10_010):
            slots.add("a", 1.0, moment, moment)
            slots.add("b", 1.0, moment, moment)
            slots.close(moment + 1)
        slots.changes.clear()
        assert rows(slots.finish()) == [(10_010, ("a", "b"), [1.0, 1.0])]
        now = 10_020 + jump
        assert slots.add("a", 2.0, now, now) == "kept"
        assert rows(slots.close(now + 10)) == [(now, ("a", "b"), [2.0, None])]
        assert slots.changes == []


class Clocks:
    """A system clock that can be set, and a steady one."""

    def __init__(self):
        self.steady, self.offset = 0, 10**18

    def pass_time(self, nanoseconds):
        self.steady += nanoseconds

    def clock(self, **more):
        return Clock(system=lambda: self.steady + self.offset, steady=lambda: self.steady, **more)


class TestClock:
    def test_it_goes_on_steadily(self):
        clocks = Clocks()
        clock = clocks.clock()
        clocks.pass_time(5 * SECOND)
        assert clock.now() == 10**18 + 5 * SECOND
        assert clock.jump() == 0
        assert clock.seconds_until(10**18 + 7 * SECOND) == 2

    @pytest.mark.parametrize("jump", [3600 * SECOND, -3600 * SECOND])
    def test_a_jump_of_the_system_clock_is_told_once_and_followed(self, jump):
        clocks = Clocks()
        clock = clocks.clock()
        clocks.offset += jump
        assert clock.now() == 10**18
        assert clock.jump() == jump
        assert clock.now() == 10**18 + jump
        assert clock.jump() == 0

    @pytest.mark.parametrize("drift", [SECOND // 5, -SECOND // 5])
    def test_a_small_difference_is_made_up_for_without_a_jump(self, drift):
        clocks = Clocks()
        clock = clocks.clock()
        clocks.offset += drift
        for _ in range(200):
            assert clock.jump() == 0
        assert abs(clock.now() - 10**18 - drift) < abs(drift) / 100

    def test_a_simulated_clock_has_a_speed_and_no_jumps(self):
        clocks = Clocks()
        clock = clocks.clock(speed=3600, start=5)
        clocks.pass_time(SECOND)
        clocks.offset += 10**12
        assert clock.now() == 5 + 3600 * SECOND
        assert clock.jump() == 0
        assert clock.seconds_until(5 + 7200 * SECOND) == 1
