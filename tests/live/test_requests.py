"""Requests for keyframes: a controller asks less and less often, and a gateway answers at most once a second."""

import asyncio

import numpy as np

from hrpursuit.live import LiveEncoder
from hrpursuit.live.controller import Controller, ControllerSettings
from hrpursuit.live.gateway import Gateway, GatewaySettings
from hrpursuit.live.mqtt import Connection
from hrpursuit.live.slots import SECOND, SlotRow

NOWHERE = Connection("127.0.0.1", 1)


def test_a_controller_with_the_wrong_key_asks_less_and_less(monkeypatch):
    now = [1000.0]
    monkeypatch.setattr("hrpursuit.live.controller.time.monotonic", lambda: now[0])
    controller = Controller(ControllerSettings("hrp/plant", key=b"not the key of the gateway"), NOWHERE)
    encoder = LiveEncoder(["a"], lossless=True, keyframe_every=10, key=b"the key of the gateway")

    async def scenario():
        for number in range(3600):
            controller._handle("hrp/plant", encoder.encode([float(number)], number * SECOND), False)
            now[0] += 1

    asyncio.run(scenario())
    assert controller.figures.get("keyframe_requests_total") < 70
    assert any("need the same --key-file" in one.text for one in controller.happenings.last)


def test_a_request_soon_after_another_one_is_answered_a_second_later(monkeypatch):
    now = [1000.0]
    monkeypatch.setattr("hrpursuit.live.gateway.time.monotonic", lambda: now[0])
    gateway = Gateway(GatewaySettings(("plant/+",), "hrp/plant", {"lossless": True}), NOWHERE)
    keyframes = []
    for number in range(40):
        gateway._take([SlotRow(number * SECOND, ("a",), np.array([1.0]), np.array([0]))])
        before = 0 if gateway.encoder is None else gateway.encoder.n_keyframes
        assert gateway._next_message() is not None
        keyframes += [number] * (gateway.encoder.n_keyframes > before)
        if number in (10, 11, 12, 20):
            gateway._requested()
        now[0] += 0.125
    assert keyframes == [0, 11, 18, 26]
    for number in range(40, 60):
        gateway._take([SlotRow(number * SECOND, ("a",), np.array([1.0]), np.array([0]))])
        gateway._requested()
        gateway._next_message()
        now[0] += 0.125
    assert gateway.encoder.n_keyframes <= 4 + 3
