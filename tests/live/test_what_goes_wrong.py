"""What operators, sensors, brokers and disks do wrong: a clear line each, and nothing wrong is shown."""

import asyncio
import json
import logging
import re
import shutil
import subprocess
import time

import aiomqtt
import numpy as np
import pytest

from hrpursuit.compression import decompress
from hrpursuit.live import LiveEncoder
from hrpursuit.live import role as role_module
from hrpursuit.live.controller import Controller, ControllerSettings
from hrpursuit.live.figures import Happenings
from hrpursuit.live.gateway import Gateway, GatewaySettings
from hrpursuit.live.mqtt import Connection, default_name
from hrpursuit.live.page import History
from hrpursuit.live.slots import SECOND

NOWHERE = Connection("127.0.0.1", 1)


def said(role):
    return [one.text for one in role.happenings.last]


def test_topics_and_messages_that_do_not_come_are_told_once(mosquitto, network, within, monkeypatch, caplog):
    monkeypatch.setattr(role_module, "QUIET", 0.1)

    async def scenario():
        async with network(mosquitto(), lossless=True) as net:
            await within(lambda: any("no reading on plant/+/pm25 for" in line for line in said(net.gateway)), "a line")
            await within(lambda: any("no message on hrp/plant for" in line for line in said(net.controller)), "a line")
            await net.send(a=1)  # nothing is lost
            await within(lambda: net.values("a") == [1], "the reading")
            await net.stop()

    with caplog.at_level(logging.WARNING, "hrpursuit.live"):
        asyncio.run(scenario())
    assert sum("no reading on" in record.getMessage() for record in caplog.records) == 1


def test_a_slot_rate_that_cannot_be_kept_is_told_with_figures(mosquitto, network, within, monkeypatch):
    encode = LiveEncoder.encode

    def slowly(self, row, time_of_slot):
        time.sleep(0.03)
        return encode(self, row, time_of_slot)

    monkeypatch.setattr(LiveEncoder, "encode", slowly)

    async def scenario():
        async with network(mosquitto(), lossless=True, slot=SECOND // 500) as net:
            await net.send(a=1)
            await within(lambda: any("the slot rate cannot be kept" in line for line in said(net.gateway)), "a line")
            line = next(line for line in said(net.gateway) if "cannot be kept" in line)
            assert "slots of 0.002 s wait. It takes 3" in line
            assert "give a longer --slot" in line
            await within(lambda: net.slots, "a slot")
            return net

    asyncio.run(scenario()).check(0)


def test_two_gateways_on_one_topic(mosquitto, network, within):
    """The newer stream is rebuilt; messages of the other one are refused, and that is said."""

    async def scenario():
        async with network(mosquitto(), lossless=True) as net:
            await net.send(a=1)
            await within(lambda: net.values("a"), "the first gateway")
            settings = GatewaySettings(("other/+",), "hrp/plant", {"lossless": True}, slot=SECOND // 20, name="second")
            second, rows = Gateway(settings, net.connection), {}
            second.shown = lambda row: rows.__setitem__(row.time, row)
            await net.start(second)
            await within(lambda: second.is_connected, "the second gateway")
            await net.sensors.publish("other/b", b"7", qos=1)
            await within(lambda: net.values("b") == [7], "the second stream")
            words = "is of another stream"  # not a count: late messages are refused, too
            await within(lambda: any(words in line for line in said(net.controller)), "a word on the first stream")
            n = len(net.slots)
            net.gateway.encoder.request_keyframe()  # the first gateway is not believed again
            await within(lambda: net.controller.decoder.counts["old"] > 0, "its keyframe")
            await within(lambda: len(net.slots) > n + 2, "slots after that")
            streams = {slot.columns for slot in net.slots[n:]}
            assert streams == {("b",)}
            for slot in net.slots:
                true = (rows if slot.columns == ("b",) else net.true)[slot.time]
                np.testing.assert_array_equal(slot.values, true.values)

    asyncio.run(scenario())


def test_two_roles_of_one_name_at_a_broker(mosquitto, network, within):
    """The broker ends the connection of the other one each time; waits grow, and the log says what may be wrong."""

    async def scenario():
        async with network(mosquitto(), lossless=True) as net:
            await net.start(Gateway(net.gateway.settings, net.connection))
            words = "another client calls itself 'hrpursuit-gateway-hrp-plant' too, give one of them another --name"
            await within(lambda: any(words in line for line in said(net.gateway)), "a line")
            waits = [
                float(re.search(r"in ([\d.]+) s at most", line)[1]) for line in said(net.gateway) if "lost" in line
            ]
            assert waits[-1] > waits[0]

    asyncio.run(scenario())


def test_retained_readings_are_left_out_unless_they_have_a_time(mosquitto, network, within):
    async def scenario():
        broker = mosquitto()
        async with aiomqtt.Client("127.0.0.1", broker.port) as client:
            await client.publish("plant/old/pm25", b"99", qos=1, retain=True)
        async with network(broker, lossless=True) as net:
            await within(lambda: net.gateway.figures.get("readings_retained_total"), "the retained reading")
            await net.send(new=1)
            await within(lambda: net.values("new"), "a new reading")
            await net.stop()
            return net

    net = asyncio.run(scenario())
    assert net.values("old") == []
    assert {slot.columns for slot in net.slots} == {("new",)}
    assert any("has retained on plant/old/pm25 is left out" in line for line in said(net.gateway))


NAMES = ["Halle 3", "söder/två", "温度", "a=b,c", "[x]*", "{sensor}", "$SYS", ".", "", "a" * 300]


def test_strange_names_of_sensors_come_through(mosquitto, network, within, tmp_path):
    async def scenario():
        archive = tmp_path / "readings.hrp"
        gateway = GatewaySettings(("plant/#",), "hrp/plant", {"lossless": True}, slot=SECOND // 20, archive=archive)
        async with network(mosquitto(), lossless=True) as net:
            await net.cancel()
            roles = Gateway(gateway, net.connection), Controller(ControllerSettings("hrp/plant", "rebuilt/{sensor}"),
                                                                 net.connection)  # fmt: skip
            roles[1].shown = lambda slot, n_bytes: net.slots.append(slot)
            await net.start(*roles)
            await within(lambda: all(one.is_connected for one in roles), "both")
            for k, name in enumerate(NAMES):
                await net.sensors.publish(f"plant/{name}", str(k), qos=1)
            await within(lambda: len({topic for topic, _ in net.rebuilt}) == len(NAMES), "all of them")
            assert {(topic.removeprefix("rebuilt/"), float(value)) for topic, value in net.rebuilt} == {
                (name, float(k)) for k, name in enumerate(NAMES)
            }
            net._stops[-2].set()
            await within(net._tasks[-2].done, "the stop")

    asyncio.run(scenario())
    names = set()
    for path in tmp_path.glob("readings*.hrp"):
        names |= set(decompress(path.read_bytes()).columns)
    assert names == set(NAMES)


def test_payloads_of_all_kinds(mosquitto, network, within):
    """Infinities, words and what Python alone takes for a number are gaps; huge numbers are kept within the bound."""
    good = {"zero": "0", "huge": "1e300", "least": "5e-324", "minus": "-0.0", "spaces": " 7\n"}
    bad = {"inf": "inf", "more": "1e999", "word": "on", "python": "1_000", "list": "[1]", "truth": "true"}

    async def scenario():
        async with network(mosquitto(), max_error=0.5) as net:
            await net.send(first=1.0)
            await within(lambda: net.values("first"), "a slot")
            await net.send(**bad, **good, none="", nan="NaN")
            await within(lambda: all(net.values(name) for name in good), "the good ones")
            await net.stop()
            return net

    net = asyncio.run(scenario())
    net.check(0.5)
    for name, text in good.items():
        assert abs(net.values(name)[0] - float(text)) <= 0.5
    assert not any(net.values(name) for name in [*bad, "none", "nan"])
    assert net.gateway.figures.get("readings_bad_total") == len(bad)


def test_infinities_in_a_stream_are_shown_as_gaps(within):
    """A gateway sends none, but an encoder may."""
    controller = Controller(ControllerSettings("hrp/plant", "rebuilt/{sensor}", as_json=True), NOWHERE)
    history = History("title", controller.figures, [controller.happenings], controller.clock)
    controller.shown = history.add
    encoder = LiveEncoder(["a", "b"], lossless=True)

    async def scenario():
        for second, row in enumerate([[1.0, np.inf], [-np.inf, 2.0]]):
            controller._handle("hrp/plant", encoder.encode(row, second * SECOND), False)

    asyncio.run(scenario())
    assert json.loads(json.dumps(history.snapshot(), allow_nan=False))["slots"][1]["v"] == [None, 2.0]
    assert [
        (one.topic, json.loads(one.payload)["value"]) for one in controller._waiting if b"value" in one.payload
    ] == [
        ("rebuilt/a", 1.0),
        ("rebuilt/b", 2.0),
    ]


def test_values_are_not_published_among_the_messages():
    controller = Controller(ControllerSettings("hrp/plant", "hrp/{sensor}"), NOWHERE)
    encoder = LiveEncoder(["plant", "plant/keyframe", "x+y", "good"], lossless=True)

    async def scenario():
        controller._handle("hrp/plant", encoder.encode([1.0, 2.0, 3.0, 4.0], 0), False)

    asyncio.run(scenario())
    assert [one.topic for one in controller._waiting] == ["hrp/good"]
    assert sum("cannot be part of a topic" in line for line in said(controller)) == 1


def test_a_controller_says_what_it_rebuilds(caplog):
    controller = Controller(ControllerSettings("hrp/plant"), NOWHERE)
    encoder = LiveEncoder(["a", "b"], lossless=True, keyframe_every=2)

    async def scenario():
        for number in range(6):
            controller._handle("hrp/plant", encoder.encode([1.0, 2.0], number * SECOND), False)
        encoder.change_columns(["a"])
        controller._handle("hrp/plant", encoder.encode([1.0], 6 * SECOND), False)

    asyncio.run(scenario())
    assert said(controller) == ["rebuilds the readings of sensors a, b", "rebuilds the readings of sensor a"]


def test_sensors_that_come_and_go_do_not_flood_the_log(monkeypatch):
    gateway = Gateway(GatewaySettings(("plant/+",), "hrp/plant", {"lossless": True}), NOWHERE)
    monkeypatch.setattr("hrpursuit.live.figures.time.monotonic", lambda: 1000.0)
    for _ in range(500):
        gateway._slots.changes[:] = [("silent", "a"), ("back", "b")]
        gateway._take([])
        gateway._requested()
    assert len(said(gateway)) == 40


def test_json_without_a_field_is_told_what_is_missing():
    gateway = Gateway(GatewaySettings(("plant/+",), "hrp/plant", {"lossless": True}), NOWHERE)

    async def scenario():
        gateway._handle("plant/a", b' {"value": 3}', False)

    asyncio.run(scenario())
    assert said(gateway) == [
        "a payload on plant/a is no number, and counts as a gap: b' {\"value\": 3}'; for JSON, give --field"
    ]


def test_names_at_the_broker_are_of_the_topic():
    assert default_name("gateway", "hrp/plant") == "hrpursuit-gateway-hrp-plant"
    assert default_name("gateway", "hrp/plänt 2/") == "hrpursuit-gateway-hrp-pl-nt-2"
    assert len(default_name("gateway", "x" * 1000)) == 128


def test_one_line_per_happening_whatever_sensors_are_called(caplog):
    with caplog.at_level(logging.INFO, "hrpursuit.live"):
        Happenings("gateway").say("sensor a\nERROR forged\r\u2028line is new")
    assert [record.getMessage() for record in caplog.records] == ["gateway: sensor a�ERROR forged��line is new"]


def test_a_journal_of_sparse_codes_has_the_dictionary(tmp_path):
    """Keyframes that only name it could not be decoded after a kill."""
    path = tmp_path / "journal"
    rng = np.random.default_rng(3)
    encoder = LiveEncoder(list("abc"), n_nonzero_coefs=1, keyframe_every=20)
    controller = Controller(ControllerSettings("hrp/plant", journal=path), NOWHERE)

    def message(number):
        return encoder.encode(np.round(50 * rng.random(3)), number * SECOND)

    async def send():
        for number in range(150):
            controller._handle("hrp/plant", message(number), False)

    asyncio.run(send())
    controller._close()
    assert encoder.components is not None
    again = Controller(ControllerSettings("hrp/plant", journal=path), NOWHERE)
    again._close()
    assert len(list(again._journal.read())) < 30  # it starts anew with each keyframe
    coming = message(150)
    assert [slot.values.tolist() for slot in again.decoder.decode(coming)] == [
        slot.values.tolist() for slot in controller.decoder.decode(coming)
    ]


def test_a_receiver_without_the_dictionary_says_so_and_asks_for_it():
    rng = np.random.default_rng(3)
    encoder = LiveEncoder(list("abc"), n_nonzero_coefs=1, keyframe_every=20)
    messages = [encoder.encode(np.round(50 * rng.random(3)), number * SECOND) for number in range(150)]
    late = Controller(ControllerSettings("hrp/plant"), NOWHERE)

    async def send():
        for one in messages[-25:]:
            late._handle("hrp/plant", one, False)
            late._next_request = -1e9  # as if the wait were over
        assert any(
            "asks for a keyframe with the dictionary: the keyframe names the dictionary" in line for line in said(late)
        )
        assert late.figures.get("slots_total") == 0
        encoder.request_keyframe()
        late._handle("hrp/plant", encoder.encode([1.0, 2.0, 3.0], 150 * SECOND), False)

    asyncio.run(send())
    assert late.figures.get("slots_total") == 5
    assert late.decoder.counts["dictionary"] >= 1


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"topics": ("#",)}, "would read its own messages"),
        ({"topics": ("hrp/+",)}, "would read its own messages"),
        ({"topics": ("$share/group/plant/+",)}, "gives each subscriber a part of the readings"),
        ({"slot": 0}, "a slot must last 1ms or longer"),
        ({"slot": 999}, "a slot must last 1ms or longer"),
    ],
)
def test_settings_that_cannot_work(settings, words):
    with pytest.raises(ValueError, match=words):
        GatewaySettings(**{"topics": ("plant/+",), "to": "hrp/plant", "target": {"lossless": True}, **settings})


@pytest.mark.long
def test_processes_with_a_toml_file_and_secrets_from_the_environment(mosquitto, role, eventually, tmp_path):
    """Wrong credentials: a line and exit code 1. SIGTERM: the open slot is sent, archives are closed, exit code 0."""
    if shutil.which("mosquitto_passwd") is None:
        pytest.skip("needs mosquitto_passwd: apt-get install mosquitto")
    passwords, sent, rebuilt = (tmp_path / name for name in ("passwords", "sent.hrp", "rebuilt.hrp"))
    subprocess.run(["mosquitto_passwd", "-b", "-c", passwords, "me", "right"], check=True)
    broker = mosquitto("allow_anonymous false", f"password_file {passwords}")
    config = tmp_path / "gateway.toml"
    config.write_text(
        f'broker = "{broker.url}"\ntopics = "plant/+"\nto = "hrp/plant"\nslot = "1h"\nmax-error = 1\n'
        f'archive = "{sent}"\nmqtt = "5"\n'
    )
    environment = {"HRPURSUIT_MQTT_USERNAME": "me", "HRPURSUIT_MQTT_PASSWORD": "right"}
    wrong = role("gateway", "--config", config, **{**environment, "HRPURSUIT_MQTT_PASSWORD": "not this one"})
    code, text = wrong.end()
    assert code == 1
    assert "refuses user 'me'" in text
    assert "not this one" not in text
    assert "Traceback" not in text
    gateway = role("gateway", "--config", config, **environment)
    controller = role("controller", "--broker", broker.url, "--from", "hrp/plant", "--archive", rebuilt, **environment)
    for one in (gateway, controller):
        one.wait_for("connected to")
    asyncio.run(publish(broker.port, "plant/hall", b"21.4"))
    gateway.wait_for("sensor hall is new")
    code, text = gateway.stop()
    assert code == 0, text
    assert "stopped: 1 slots in" in text
    eventually(lambda: (tmp_path / "rebuilt.hrp.journal").stat().st_size > 40, "the last slot")
    code, text = controller.stop()
    assert code == 0, text
    assert "stopped: 1 slots rebuilt" in text
    for path in (sent, rebuilt):
        assert abs(decompress(path.read_bytes())["hall"].item() - 21.4) <= 1


async def publish(port, topic, payload):
    async with aiomqtt.Client("127.0.0.1", port, username="me", password="right") as client:
        await client.publish(topic, payload, qos=1)
