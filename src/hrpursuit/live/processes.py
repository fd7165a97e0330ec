"""Gateway and controller as processes: until a signal asks them to stop."""

import asyncio
import gc
import signal
from collections.abc import Coroutine
from contextlib import AsyncExitStack, suppress
from typing import Any

import numpy as np

from hrpursuit.compression import compress
from hrpursuit.live.controller import Controller, ControllerSettings
from hrpursuit.live.decoder import LiveDecoder
from hrpursuit.live.encoder import LiveEncoder
from hrpursuit.live.gateway import Gateway, GatewaySettings
from hrpursuit.live.mqtt import Connection
from hrpursuit.live.page import History, Server

Place = tuple[str, int]
_FEW_SLOTS, _FEW_SENSORS = 20, 3  # that call all kernels of samples
#: That call all kernels of sparse codes and of learning, among them those for gaps and for data that is not exactly
#: sparse. With three sensors, two kernels of the fit were compiled when a gateway had been running for ten minutes.
_MANY_SLOTS, _MANY_SENSORS = 240, 16


def run_gateway(settings: GatewaySettings, connection: Connection, metrics: Place | None, token: str | None) -> None:
    """Until SIGTERM or Ctrl-C."""

    async def role(stop: asyncio.Event) -> None:
        gateway = Gateway(settings, connection)
        async with AsyncExitStack() as stack:
            if metrics is not None:
                server = await stack.enter_async_context(Server(metrics, [gateway.figures], token=token))
                gateway.happenings.say(f"metrics at {server.address}metrics")
            keep_modules_from_the_collector()
            await gateway.run(stop)

    sparse = "n_nonzero_coefs" in settings.target
    run_until_stopped(role, has_archive=settings.archive is not None, is_sparse=sparse)


def run_controller(settings: ControllerSettings, connection: Connection, page: Place | None, token: str | None) -> None:
    """Until SIGTERM or Ctrl-C."""

    async def role(stop: asyncio.Event) -> None:
        controller, history = controller_with_history(settings, connection)
        async with AsyncExitStack() as stack:
            if page is not None:
                server = await stack.enter_async_context(Server(page, [controller.figures], history, token))
                controller.happenings.say(f"page at {server.address}")
            keep_modules_from_the_collector()
            await controller.run(stop)

    run_until_stopped(role, has_archive=settings.archive is not None)


def controller_with_history(settings: ControllerSettings, connection: Connection) -> tuple[Controller, History]:
    """A controller, and what its page shows."""
    controller = Controller(settings, connection)
    history = History(
        settings.source,
        controller.figures,
        [controller.happenings],
        controller.clock,
        bound=lambda: controller.decoder.max_error,
        components=lambda: controller.decoder.components,
    )
    controller.shown = history.add
    return controller, history


def run_until_stopped(role: Any, *, has_archive: bool = False, is_sparse: bool = False) -> None:
    """Run `role(stop)` and set the event `stop` on SIGTERM, SIGINT or SIGHUP."""
    compile_codec(has_archive=has_archive, is_sparse=is_sparse)
    asyncio.run(_with_signals(role))


async def _with_signals(role: Any) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for name in ("SIGTERM", "SIGINT", "SIGHUP"):
        with suppress(NotImplementedError, AttributeError, RuntimeError):  # Windows; not the main thread
            loop.add_signal_handler(getattr(signal, name), stop.set)
    work: Coroutine[Any, Any, None] = role(stop)
    await work


def keep_modules_from_the_collector() -> None:
    """Leave all that is there out of later garbage collections: each full one took 127 ms of the processor for the
    objects of numba, aiomqtt and aiohttp, in which a role is deaf.
    """
    gc.collect()
    gc.freeze()


def compile_codec(*, has_archive: bool = False, is_sparse: bool = False) -> None:
    """Encode and decode something small: the first call compiles for seconds, in which a role would be deaf.

    Parameters
    ----------
    has_archive : bool, default=False
        Whether files will be written too.
    is_sparse : bool, default=False
        Whether dictionaries will be learned too.
    """
    if has_archive:
        compress(np.arange(64.0).reshape(16, 4), lossless=True)
    rng, decoder = np.random.default_rng(0), LiveDecoder()
    table = rng.integers(0, 50, (_FEW_SLOTS, _FEW_SENSORS))
    _send(LiveEncoder(map(str, range(_FEW_SENSORS)), max_error=1.0), decoder, table)
    if is_sparse:
        table = rng.laplace(size=(_MANY_SLOTS, 2)) @ rng.standard_normal((2, _MANY_SENSORS))
        table += rng.standard_normal(table.shape)
        table[rng.random(table.shape) < 0.02] = np.nan
        _send(LiveEncoder(map(str, range(_MANY_SENSORS)), n_nonzero_coefs=2), decoder, table)


def _send(encoder: LiveEncoder, decoder: LiveDecoder, table: np.ndarray) -> None:
    for number, row in enumerate(table):
        decoder.decode(encoder.encode(row, number) or b"")
