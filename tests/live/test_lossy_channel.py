"""A proxy between gateway and controller that drops, doubles and reorders messages: gaps, and never a wrong value."""

import asyncio
import random

import aiomqtt
import numpy as np
import pytest


async def proxy(port, n_dropped, share=0.08, seed=3):
    """Hands messages on from hrp/plant to hrp/remote, requests back, and some not, twice, or after the next one."""
    chance = random.Random(seed)
    held = []
    async with aiomqtt.Client("127.0.0.1", port, timeout=30) as client:
        for topic in ("hrp/plant", "hrp/remote/keyframe"):
            await client.subscribe(topic, qos=1)
        async for message in client.messages:
            if str(message.topic) == "hrp/remote/keyframe":
                await client.publish("hrp/plant/keyframe", b"")
                continue
            draw = chance.random() / share
            payloads = [message.payload]
            if draw < 1:
                n_dropped.append(1)
                payloads = []
            elif draw < 2:
                payloads *= 2
            elif draw < 3:
                held.append(message.payload)
                continue
            payloads, held = payloads + held, []
            for payload in payloads:
                await client.publish("hrp/remote", payload, qos=1)


@pytest.mark.long
def test_no_wrong_value_through_a_lossy_channel(mosquitto, network, within):
    rng = np.random.default_rng(8)
    sensors = [f"s{k}" for k in range(6)]

    async def scenario():
        broker = mosquitto()
        n_dropped = []
        async with network(broker, max_error=0.5, slot=20_000_000, source="hrp/remote", keyframe_every=20) as net:
            between = asyncio.create_task(proxy(broker.port, n_dropped))
            level = 50 + 10 * rng.standard_normal(len(sensors))

            async def send():
                nonlocal level
                while True:
                    level = level + rng.standard_normal(len(sensors))
                    await net.send(
                        **{name: value for name, value in zip(sensors, level, strict=True) if rng.random() < 0.9}
                    )

            sending = asyncio.create_task(send())
            counts = net.controller.decoder.counts
            await within(
                lambda: (
                    counts["lost"] >= 5 and counts["duplicate"] >= 3 and len(net.slots) > 100 and len(n_dropped) > 5
                ),
                "losses, doubles and slots",
            )
            n = len(net.slots)
            await within(lambda: len(net.slots) > n + 20, "slots after all that")
            for task in (sending, between):
                task.cancel()
            return net

    net = asyncio.run(scenario())
    net.check(0.5)
    times = [slot.time for slot in net.slots]
    assert times == sorted(set(times))
    assert any("lost" in one.text for one in net.controller.happenings.last)
    assert net.controller.figures.get("messages_lost_total") == net.controller.decoder.counts["lost"]
