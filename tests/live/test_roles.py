"""Gateway and controller over mosquitto: what sensors send is rebuilt within its bound, whatever happens in between."""

import asyncio
import logging
import re
import shutil
import subprocess
import time
from itertools import groupby

import numpy as np
import pytest

from hrpursuit.compression import decompress
from hrpursuit.live.controller import Controller, ControllerSettings
from hrpursuit.live.gateway import Gateway, GatewaySettings
from hrpursuit.live.mqtt import Connection, Refused
from hrpursuit.live.slots import SECOND, Clock

pytest.importorskip("aiomqtt", reason='needs aiomqtt: pip install ".[live]"')


@pytest.mark.parametrize("version", ["3.1.1", "5"])
@pytest.mark.parametrize("key", [None, b"sixteen bytes ..."])
def test_from_sensors_to_rebuilt_values(mosquitto, network, within, version, key):
    async def scenario():
        async with network(mosquitto(), max_error=0.5, version=version, key=key) as net:
            for k in range(6):
                n = len(net.values("b"))
                await net.send(a=20.0 + k, b=100 * k)
                await within(lambda: len(net.values("b")) > n, "the next slot")  # noqa: B023
            await within(lambda: len(net.rebuilt) >= len(net.values("a")) + len(net.values("b")), "rebuilt values")
            await net.stop()
            return net

    net = asyncio.run(scenario())
    net.check(0.5)
    assert {round(value, -2) for value in net.values("b")} == {0, 100, 200, 300, 400, 500}
    topics = {topic for topic, _ in net.rebuilt}
    assert topics == {"rebuilt/a", "rebuilt/b"}
    assert sorted(float(value) for topic, value in net.rebuilt if topic == "rebuilt/b") == sorted(net.values("b"))
    assert net.controller.decoder.counts["lost"] == 0
    figures = net.controller.figures
    assert figures.get("slots_total") == net.gateway.figures.get("slots_total") == len(net.slots) == len(net.true)
    assert figures.get("bytes_total") == net.gateway.figures.get("bytes_total") > 0


def test_a_new_sensor_and_a_vanished_one_start_a_keyframe(mosquitto, network, within):
    async def scenario():
        async with network(mosquitto(), lossless=True, forget_after=4) as net:
            await net.send(a=1)
            await within(lambda: net.values("a"), "a")
            await net.send(a=2, b=3)
            await within(lambda: net.values("b"), "b")

            async def go_on():
                while True:
                    await net.send(a=2)
                    await asyncio.sleep(0.02)

            sending = asyncio.create_task(go_on())
            await within(lambda: net.slots[-1].columns == ("a",), "b to vanish")
            sending.cancel()
            await net.stop()
            return net

    net = asyncio.run(scenario())
    net.check(0)
    assert net.controller.decoder.counts["keyframes"] == 3
    assert [columns for columns, _ in groupby(slot.columns for slot in net.slots)] == [("a",), ("a", "b"), ("a",)]
    said = [one.text for one in net.gateway.happenings.last]
    for words in (
        "sensor b is new: a keyframe follows",
        "sensor b is silent",
        "sensor b is left out after --forget-after slots of silence",
    ):
        assert any(words in line for line in said)


def test_payloads_that_are_no_numbers_are_gaps_and_logged_once(mosquitto, network, within, caplog):
    async def scenario():
        async with network(mosquitto(), lossless=True) as net:
            await net.send(a=5, b=7)
            await within(lambda: net.values("b"), "the first slot")
            for _ in range(10):
                await net.send(a="broken")
            await net.send(b=8)
            await within(lambda: 8 in net.values("b"), "b")
            await net.stop()
            return net

    with caplog.at_level(logging.WARNING, "hrpursuit.live"):
        net = asyncio.run(scenario())
    net.check(0)
    assert net.values("a") == [5]
    assert net.gateway.figures.get("readings_bad_total") == 10
    assert sum("is no number" in record.getMessage() for record in caplog.records) == 1


def test_json_with_times_late_readings_and_those_far_ahead(mosquitto, network, within):
    async def scenario():
        more = {"field": "v", "time_field": "t", "slot": SECOND // 5, "wait": 2 * SECOND}
        async with network(mosquitto(), lossless=True, **more) as net:
            now = net.gateway.clock.now()
            for value, moment in [(1, now), (2, now - 3600 * SECOND), (3, now + 3600 * SECOND)]:
                await net.send(a=f'{{"v": {value}, "t": {moment}}}')
            await within(lambda: net.values("a"), "a slot")
            await net.stop()
            return net

    net = asyncio.run(scenario())
    assert net.values("a") == [1]
    assert net.gateway.figures.get("readings_late_total") == 1
    [late] = [one.text for one in net.gateway.happenings.last if "after its slot was sent" in one.text]
    assert re.search(r"plant/a/pm25 came 359\d\.\d\d s after .* --wait, or check the clock of the sensor", late)
    assert net.gateway.figures.get("readings_bad_total") == 1


def test_bounds_by_sensor_and_several_slots_in_a_message(mosquitto, network, within):
    async def scenario():
        bounds = {"a": 0.01, "*": 2.0, "later": 1.0}
        async with network(mosquitto(), max_error=bounds, slots_per_message=3) as net:
            for k in range(4):
                n = len(net.values("a"))
                await net.send(a=1.2345 + k, b=50.3 + k)
                await within(lambda: len(net.values("a")) > n, "the next message")  # noqa: B023
            await net.send(later=3.3, a=9.0)
            await within(lambda: "later" in net.slots[-1].columns, "the third sensor")
            await net.stop()
            return net

    net = asyncio.run(scenario())
    net.check(2)
    assert {slot.time for slot in net.slots} == set(net.true)  # those of a message that was not full too
    for slot in net.slots:
        for sensor, bound in [("a", 0.01), ("b", 2.0), ("later", 1.0)]:
            if sensor in slot.columns:
                place = slot.columns.index(sensor)
                assert not abs(slot.values[place] - net.true[slot.time].values[place]) > bound * 1.000001


def test_with_a_key_other_messages_are_refused_and_counted(mosquitto, network, within):
    async def scenario():
        async with network(mosquitto(), lossless=True, key=b"k" * 16) as net:
            await net.send(a=1)
            await within(lambda: net.slots, "a slot")
            for payload in (b"forged", b"", bytes(30), b"\x89HR\x01\x00" + bytes(40), b"\x89HR\x63" + bytes(40)):
                await net.sensors.publish("hrp/plant", payload, qos=1)
            n = len(net.slots)
            await net.send(a=2)
            await within(lambda: len(net.slots) > n and 2 in net.values("a"), "the next slot")
            await net.stop()
            return net

    net = asyncio.run(scenario())
    net.check(0)
    assert net.controller.figures.get("messages_refused_total") == 5
    assert any("is refused (version)" in one.text for one in net.controller.happenings.last)


def test_a_controller_that_joins_late_asks_for_a_keyframe(mosquitto, network, within):
    async def scenario():
        async with network(mosquitto(), lossless=True, keyframe_every=100_000) as net:
            await net.send(a=1)
            await within(lambda: len(net.slots) > 5, "some slots")
            late, slots = Controller(ControllerSettings("hrp/plant", name="late"), net.connection), []
            late.shown = lambda slot, n_bytes: slots.append(slot)
            await net.start(late)
            await within(lambda: len(slots) > 5, "slots at the second controller")
            await net.stop()
            return net

    net = asyncio.run(scenario())
    assert net.gateway.figures.get("keyframe_requests_total") >= 1
    assert net.gateway.figures.get("keyframes_total") >= 2


def test_the_broker_goes_away_and_comes_back(mosquitto, network, within):
    """Slots wait up to a bound; the oldest are dropped and counted; nothing that is shown is wrong."""

    async def scenario():
        broker = mosquitto()
        async with network(broker, lossless=True, most_waiting=5, controller={"to": None}) as net:
            await net.send(a=1)
            await within(lambda: net.slots, "a slot")
            broker.kill()
            await within(lambda: net.gateway.figures.get("slots_dropped_total") >= 3, "slots to be dropped")
            n = len(net.slots)
            broker.start()
            await within(lambda: len(net.slots) > n + 8, "slots after the break")
            await net.stop()
            return net

    net = asyncio.run(scenario())
    times = {row.time for row in net.true.values()}
    assert {slot.time for slot in net.slots} <= times
    assert len(net.slots) + net.gateway.figures.get("slots_dropped_total") >= len(net.true) - 5
    assert net.gateway.figures.get("connections_total") == 2
    said = [one.text for one in net.gateway.happenings.last]
    assert any("is lost" in line and "trying again" in line for line in said)
    assert any("the oldest are dropped" in line for line in said)


@pytest.mark.parametrize("jump", [3600, -3600])
def test_a_clock_that_jumps(mosquitto, network, within, jump):
    offset = [0]
    clock = Clock(system=lambda: time.time_ns() + offset[0])

    async def scenario():
        async with network(mosquitto(), lossless=True, clock=clock) as net:
            await net.send(a=1)
            await within(lambda: net.slots, "a slot")
            before = net.slots[-1].time
            offset[0] = jump * SECOND
            await within(lambda: net.gateway.figures.get("clock_jumps_total"), "the jump to be noticed")
            n = len(net.slots)
            await net.send(a=2)
            await within(lambda: len(net.slots) > n and 2 in net.values("a"), "slots after the jump")
            await net.stop()
            return net, before

    net, before = asyncio.run(scenario())
    net.check(0)
    moved = [slot for slot in net.slots if np.sign(jump) * (slot.time - before) > 3000 * SECOND]
    assert moved
    assert moved[-1] is net.slots[-1]
    assert len(net.slots) < 1000  # the hour in between is not filled with gaps


def test_at_a_stop_the_last_slot_is_sent_and_the_archives_are_closed(mosquitto, network, within, tmp_path):
    sent, rebuilt = tmp_path / "sent.hrp", tmp_path / "rebuilt.hrp"

    async def scenario():
        more = {"slot": 3600 * SECOND, "archive": sent, "controller": {"archive": rebuilt}, "key": b"k" * 20}
        async with network(mosquitto(), lossless=True, **more) as net:
            await net.send(a=1, b=2)
            await within(lambda: net.gateway.figures.get("readings_total") == 2, "the readings")
            assert not net.true  # the slot is open for an hour
            await net.stop()
            return net

    net = asyncio.run(scenario())
    net.check(0)
    assert len(net.slots) == 1
    for path in (sent, rebuilt):
        table = decompress(path.read_bytes())
        assert table.to_dict("list") == {"a": [1.0], "b": [2.0]}
        assert table.index[0].value == net.slots[0].time


def test_wrong_credentials_are_a_clear_error(mosquitto):
    broker = mosquitto("allow_anonymous false")
    settings = GatewaySettings(("plant/+",), "hrp/plant", {"lossless": True})
    for version in ("3.1.1", "5"):
        connection = Connection("127.0.0.1", broker.port, username="me", password="wrong", version=version)

        async def scenario():
            await Gateway(settings, connection).run(asyncio.Event())  # noqa: B023

        with pytest.raises(Refused, match=r"refuses user 'me': .*HRPURSUIT_MQTT_PASSWORD"):
            asyncio.run(asyncio.wait_for(scenario(), 20))


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # paho leaves a refused socket open
def test_tls_and_a_password(mosquitto, within, tmp_path):
    if shutil.which("openssl") is None or shutil.which("mosquitto_passwd") is None:
        pytest.skip("needs openssl and mosquitto_passwd: apt-get install openssl mosquitto")
    certificate, key, passwords = (tmp_path / name for name in ("broker.pem", "broker.key", "passwords"))
    subject = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "2"]
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", *subject, "-keyout", key, "-out", certificate]
    subprocess.run(made, check=True, capture_output=True)
    subprocess.run(["mosquitto_passwd", "-b", "-c", passwords, "me", "right"], check=True)
    lines = [f"certfile {certificate}", f"keyfile {key}", "allow_anonymous false", f"password_file {passwords}"]
    broker = mosquitto(*lines)
    settings = GatewaySettings(("plant/+",), "hrp/plant", {"lossless": True})

    async def scenario(**more):
        connection = Connection("127.0.0.1", broker.port, tls=True, username="me", password="right", **more)
        gateway, stop = Gateway(settings, connection), asyncio.Event()
        running = asyncio.create_task(gateway.run(stop))
        await within(lambda: gateway.happenings.last, "a connection, or why there is none")
        stop.set()
        await running
        return gateway.happenings.last[0].text

    assert asyncio.run(scenario(ca_file=certificate)).startswith("connected to 127.0.0.1")
    assert "certificate verify failed" in asyncio.run(scenario())
