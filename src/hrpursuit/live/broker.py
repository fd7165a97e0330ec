"""A broker inside the process, for the demonstration: MQTT 3.1.1 on the loopback address, nothing to install."""

import asyncio
import logging
from contextlib import suppress
from typing import Any

from hrpursuit.rows.optional import needed

_PLUGINS = {"amqtt.plugins.authentication.AnonymousAuthPlugin": {"allow_anonymous": True}}


class EmbeddedBroker:
    """The broker of the package amqtt, as an asynchronous context manager.

    Parameters
    ----------
    port : int, default=0
        0: any free port.

    Attributes
    ----------
    port : int
        Where it listens, on 127.0.0.1, once it is entered.
    """

    def __init__(self, port: int = 0) -> None:
        self.port = port
        self._broker: Any = None

    async def __aenter__(self) -> "EmbeddedBroker":
        module = needed("amqtt.broker", "Embedded brokers", "live")
        for name in ("amqtt", "transitions"):
            logging.getLogger(name).setLevel(logging.CRITICAL)  # a client that goes away is an error to them
        if self.port == 0:
            self.port = await _free_port()
        listener = {"type": "tcp", "bind": f"127.0.0.1:{self.port}"}
        self._broker = module.Broker({"listeners": {"default": listener}, "plugins": _PLUGINS})
        try:
            await self._broker.start()
        except Exception as error:
            raise OSError(f"the broker cannot listen on port {self.port} of 127.0.0.1: {error}.") from error
        return self

    async def __aexit__(self, *exception: object) -> None:
        with suppress(Exception):  # clients that are gone already
            await asyncio.wait_for(self._broker.shutdown(), 5)


async def _free_port() -> int:
    server = await asyncio.start_server(lambda reader, writer: None, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    server.close()
    await server.wait_closed()
    return port
