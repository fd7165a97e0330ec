"""Everything on one machine, with nothing to install: broker, plant, gateway, controller and the page."""

import asyncio
import random
from collections.abc import Callable
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from typing import Any

from hrpursuit.live.broker import EmbeddedBroker
from hrpursuit.live.controller import Controller, ControllerSettings
from hrpursuit.live.gateway import Gateway, GatewaySettings
from hrpursuit.live.mqtt import Connection
from hrpursuit.live.page import History, Server
from hrpursuit.live.plant import HOUR, START, Plant
from hrpursuit.live.processes import keep_modules_from_the_collector, run_until_stopped
from hrpursuit.live.slots import SECOND, Clock

_PAGE = ("127.0.0.1", 8080)
_WAIT = 0.5  # real seconds that a slot waits for readings that the embedded broker has not handed on yet
_MOST_LATE, _FEW = 0.05, 1000  # share of readings that are late, of this many or more, before the demo says so
_SOURCE, _REBUILT = "hrp/plant", "rebuilt/{sensor}"


class LossyController(Controller):
    """A controller that some messages do not reach.

    Parameters
    ----------
    lose : float
        Share of them.
    seed : int
        Of the choice.
    **more
        As for Controller.
    """

    def __init__(self, *arguments: Any, lose: float, seed: int, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self._lose, self._random = lose, random.Random(seed)

    def _handle(self, topic: str, payload: bytes, is_retained: bool) -> None:
        if self._random.random() >= self._lose:
            super()._handle(topic, payload, is_retained)


def run_demo(
    target: dict[str, Any],
    *,
    speed: float,
    n_sensors: int,
    lose: float,
    seed: int,
    seconds: float | None,
    place: tuple[str, int] | None,
    token: str | None,
    say: Callable[[str], None] = lambda line: print(line, flush=True),
) -> None:
    """Until SIGTERM, Ctrl-C, or `seconds` are over."""

    async def role(stop: asyncio.Event) -> None:
        async with AsyncExitStack() as stack:
            broker = await stack.enter_async_context(EmbeddedBroker())
            connection = Connection("127.0.0.1", broker.port, first_wait=0.1)
            clock = Clock(speed=speed, start=START)
            gateway, controller, history = _roles(target, connection, clock, lose, seed)
            figures = [gateway.figures, controller.figures]
            server = await _served(stack, place, lambda where: Server(where, figures, history, token))
            say(
                f"page: {server.address}   broker: mqtt://{connection}   {n_sensors} sensors, {speed:g} times real "
                "time   Ctrl-C stops"
            )
            if seconds is not None:
                asyncio.get_running_loop().call_later(seconds, stop.set)
            plant = Plant(connection, clock, n_sensors=n_sensors, seed=seed)
            keep_modules_from_the_collector()
            await _together(stop, gateway, controller, plant.run(), _print_figures(history, gateway, say))

    run_until_stopped(role, is_sparse="n_nonzero_coefs" in target)


def _roles(
    target: dict[str, Any], connection: Connection, clock: Clock, lose: float, seed: int
) -> tuple[Gateway, Controller, History]:
    settings = GatewaySettings(
        ("plant/+/pm25",),
        _SOURCE,
        slot=HOUR,
        wait=int(_WAIT * clock.speed * SECOND),
        target=target,
        field="value",
        time_field="time",
        qos=0,
        name="hrpursuit-demo-gateway",
    )
    gateway = Gateway(settings, connection, clock=clock)
    controller = LossyController(
        ControllerSettings(_SOURCE, _REBUILT, qos=0, name="hrpursuit-demo-controller"),
        connection,
        clock=clock,
        lose=lose,
        seed=seed,
    )
    history = History(
        "Simulated city, PM2.5 in µg/m³",
        controller.figures,
        [gateway.happenings, controller.happenings],
        clock,
        bound=lambda: controller.decoder.max_error,
        components=lambda: controller.decoder.components,
    )
    gateway.shown, controller.shown = history.add_true, history.add
    return gateway, controller, history


async def _served(
    stack: AsyncExitStack, place: tuple[str, int] | None, make: Callable[[tuple[str, int]], Server]
) -> Server:
    """The page where it was asked for; else on its usual port, or on a free one if that is in use."""
    if place is not None:
        return await stack.enter_async_context(make(place))
    try:
        return await stack.enter_async_context(make(_PAGE))
    except OSError:
        return await stack.enter_async_context(make((_PAGE[0], 0)))


async def _together(stop: asyncio.Event, gateway: Gateway, controller: Controller, *others: Any) -> None:
    """Until one of them ends; gateway first, so that its last message is rebuilt."""
    gateway_stop, controller_stop = asyncio.Event(), asyncio.Event()
    roles = [asyncio.create_task(gateway.run(gateway_stop)), asyncio.create_task(controller.run(controller_stop))]
    tasks = [*roles, *(asyncio.create_task(one) for one in others)]
    stopping = asyncio.create_task(stop.wait())
    try:
        done, _ = await asyncio.wait([*tasks, stopping], return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
        for task in tasks[len(roles) :]:
            task.cancel()
        gateway_stop.set()
        await roles[0]
        controller_stop.set()
        await roles[1]
    finally:
        for task in (*tasks, stopping):
            task.cancel()
        await asyncio.gather(*tasks, stopping, return_exceptions=True)


async def _print_figures(history: History, gateway: Gateway, say: Callable[[str], None]) -> None:
    has_warned = False
    while True:
        await asyncio.sleep(1.0)
        figures = history.summary()
        n_late = gateway.figures.get("readings_late_total")
        if figures["slots"]:
            say(figures_line(figures, n_late))
        if not has_warned and n_late > _MOST_LATE * max(gateway.figures.get("readings_total"), _FEW):
            has_warned = True
            say("readings come after their slot, and are gaps: this machine is too busy; give a lower --speed")


def figures_line(figures: dict[str, Any], n_late: float) -> str:
    """Figures of a History in one line."""
    moment = datetime.fromtimestamp(figures["time"] / 1000, UTC)
    delay = "" if figures["delay"] is None else f", delay {figures['delay']:.2f} s"
    delay += f", {n_late:.0f} readings late" if n_late else ""
    return (
        f"{moment:%Y-%m-%d %H:%M}  {figures['slots']:.0f} slots of {figures['sensors']} sensors, "
        f"{figures['bytes_per_slot']:.1f} bytes per slot (JSON {figures['json_per_slot']:.0f}, "
        f"float32 {figures['float32_per_slot']:.0f}), {figures['bytes']:.0f} bytes in all, "
        f"{figures['keyframes']:.0f} keyframes, {figures['lost']:.0f} lost{delay}"
    )
