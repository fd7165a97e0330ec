"""A connection to a broker that is kept up: it reconnects with growing waits, and resends what was not acknowledged."""

import asyncio
import logging
import os
import random
import re
import ssl
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from urllib.parse import unquote, urlsplit

from hrpursuit.live.figures import Figures, Happenings
from hrpursuit.rows.optional import needed

_WINDOW = 20  # messages that are under way at a time; the default of paho
_KEPT_FOR = 7 * 24 * 3600  # seconds that a broker of MQTT 5 keeps messages for a role that is away
_SHORT, _MOST_SHORT = 10.0, 3  # seconds of a connection that did not last, and how many of them are told
_LONGEST_NAME = 128  # characters; some brokers allow no more
_REFUSED = ("not authorized", "not authorised", "bad user name or password", "banned", "identifier")


@dataclass(frozen=True)
class Connection:
    """Where the broker is, and how to speak with it.

    Attributes
    ----------
    host, port, tls
        Of `mqtt://host:1883` or `mqtts://host:8883`.
    username, password : str or None
        None: the broker asks for none.
    version : {"3.1.1", "5"}
        Of MQTT.
    ca_file, cert_file, cert_key_file : Path or None
        Certificates for TLS; without `ca_file` those of the system count.
    first_wait, longest_wait : float
        Seconds before the connection is tried again; doubled each time.
    """

    host: str
    port: int
    tls: bool = False
    username: str | None = None
    password: str | None = None
    version: Literal["3.1.1", "5"] = "3.1.1"
    ca_file: Path | None = None
    cert_file: Path | None = None
    cert_key_file: Path | None = None
    first_wait: float = 1.0
    longest_wait: float = 60.0

    def __post_init__(self) -> None:
        given = {"--ca-file": self.ca_file, "--cert-file": self.cert_file, "--cert-key-file": self.cert_key_file}
        names = [name for name, path in given.items() if path is not None]
        if names and not self.tls:
            raise ValueError(f"{names[0]} is for TLS: give the broker as mqtts://{self.host}:8883.")
        if self.cert_key_file is not None and self.cert_file is None:
            raise ValueError("--cert-key-file needs --cert-file, the certificate that the key is of.")

    @classmethod
    def of(cls, url: str, **more: Any) -> "Connection":
        """Read mqtt://user@host:1883; the password comes from the environment, as others see command lines."""
        parts = urlsplit(url)
        try:
            port = parts.port
        except ValueError as error:
            raise ValueError(f"{url!r} has no valid port: {error}.") from error
        if parts.scheme not in ("mqtt", "mqtts") or not parts.hostname or parts.path.strip("/"):
            raise ValueError(f"expected a broker as mqtt://host:1883 or mqtts://host:8883; got {url!r}.")
        if parts.password:
            raise ValueError("a password in the address is visible to others; set HRPURSUIT_MQTT_PASSWORD instead.")
        tls = parts.scheme == "mqtts"
        username = unquote(parts.username) if parts.username else os.environ.get("HRPURSUIT_MQTT_USERNAME")
        password = os.environ.get("HRPURSUIT_MQTT_PASSWORD")
        if password is not None and username is None:
            raise ValueError("HRPURSUIT_MQTT_PASSWORD is set, but no user: give mqtt://user@host:1883.")
        return cls(parts.hostname, port or (8883 if tls else 1883), tls, username, password, **more)

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


class Refused(OSError):
    """The broker does not want this user."""


@dataclass(frozen=True)
class Outgoing:
    """A message to publish."""

    topic: str
    payload: bytes
    qos: int


def check_topic(topic: str, *, wildcards: bool) -> str:
    """A topic to publish to, or a filter to subscribe to; raises ValueError otherwise."""
    levels = topic.split("/")
    wrong = not topic or "\0" in topic or len(topic.encode("utf-8", "surrogatepass")) > 65535
    if wildcards:
        wrong |= any("+" in one and one != "+" for one in levels) or "#" in "".join(levels[:-1])
        wrong |= "#" in levels[-1] and levels[-1] != "#"
    else:
        wrong |= "+" in topic or "#" in topic
    if wrong:
        kind = "a topic filter such as 'plant/+/pm25'" if wildcards else "a topic without + and #"
        raise ValueError(f"expected {kind}; got {topic!r}.")
    return topic


class Link:
    """One connection of a role, kept up until the task that runs it is cancelled.

    Parameters
    ----------
    connection : Connection
        Where to.
    subscriptions : dict of str to int
        Topic filters, and the QoS asked for.
    handle : callable
        Called with topic, payload, and whether the broker had retained it, of each message before it is acknowledged.
    next_message : callable
        Gives the next message to publish, or None; called again after `wake`.
    name : str
        Identity of the client. One that keeps its session must have the same each time.
    keep_session : bool
        Whether the broker keeps messages with QoS 1 and 2 for it while it is away.
    figures : Figures
    happenings : Happenings
    connected : callable
        Called when there is a new connection, before anything is published.
    """

    def __init__(
        self,
        connection: Connection,
        *,
        subscriptions: dict[str, int],
        handle: Callable[[str, bytes, bool], None],
        next_message: Callable[[], Outgoing | None],
        name: str,
        keep_session: bool,
        figures: Figures,
        happenings: Happenings,
        connected: Callable[[], None] = lambda: None,
    ) -> None:
        self._aiomqtt = needed("aiomqtt", "Live roles", "live")
        self._connection = connection
        self._subscriptions = subscriptions
        self._handle, self._next_message, self._on_connected = handle, next_message, connected
        self._name, self._keep_session = name, keep_session
        self._figures, self._happenings = figures, happenings
        self._unacknowledged: deque[Outgoing] = deque()
        self._wake = asyncio.Event()
        self._empty = asyncio.Event()
        self.is_connected = False
        self._was_connected = False
        self._n_short = 0  # connections in a row that were lost soon

    def wake(self) -> None:
        """There may be something to publish."""
        self._empty.clear()
        self._wake.set()

    async def emptied(self) -> None:
        """Wait until everything is published and acknowledged."""
        await self._empty.wait()

    async def run(self) -> None:
        """Connect, and connect again whenever it breaks. Raises Refused if the first attempt is refused for good."""
        wait = self._connection.first_wait
        while True:
            start = time.monotonic()
            try:
                async with self._client() as client:
                    await self._use(client)
            except self._aiomqtt.MqttError as error:
                if self.is_connected:
                    self._n_short = self._n_short + 1 if time.monotonic() - start < _SHORT else 0
                    wait = wait if self._n_short else self._connection.first_wait
                self._lost(error, wait)
            finally:
                self.is_connected = False
                self._figures.set("connected", 0)
            await asyncio.sleep(wait * random.uniform(0.75, 1.0))
            wait = min(2 * wait, self._connection.longest_wait)

    async def _use(self, client: Any) -> None:
        for topic, qos in self._subscriptions.items():
            codes = await client.subscribe(topic, qos)
            if any(int(getattr(code, "value", code)) >= 128 for code in codes):
                raise Refused(f"the broker at {self._connection} does not allow a subscription to {topic!r}.")
        self.is_connected = self._was_connected = True
        self._figures.set("connected", 1)
        self._figures.count("connections_total")
        self._happenings.say(f"connected to {self._connection} by MQTT {self._connection.version}")
        self._on_connected()
        tasks = [asyncio.create_task(self._send(client)), asyncio.create_task(self._listen(client))]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _listen(self, client: Any) -> None:
        async for _ in client.messages:  # they are handled when they come; this waits for the connection to end
            pass

    async def _send(self, client: Any) -> None:
        while True:
            self._wake.clear()
            while len(self._unacknowledged) < _WINDOW and (message := self._next_message()) is not None:
                self._unacknowledged.append(message)
            if not self._unacknowledged:
                self._empty.set()
                await self._wake.wait()
                continue
            batch = list(self._unacknowledged)
            published = [client.publish(one.topic, one.payload, one.qos) for one in batch]
            results = await asyncio.gather(*published, return_exceptions=True)
            failed = [one for one, result in zip(batch, results, strict=True) if result is not None]
            self._unacknowledged = deque(failed)
            for result in results:
                if isinstance(result, BaseException):
                    raise result

    def _lost(self, error: Exception, wait: float) -> None:
        reason = _reason(error)
        if not self._was_connected and any(word in reason.lower() for word in _REFUSED):
            who = f"user {self._connection.username!r}" if self._connection.username else "a client without a user"
            raise Refused(
                f"the broker at {self._connection} refuses {who}: {reason}. Check the user in --broker and "
                "HRPURSUIT_MQTT_PASSWORD."
            ) from error
        lost = "the connection to" if self.is_connected else "no connection to"
        end = "is lost" if self.is_connected else "yet"
        text = f"{lost} the broker at {self._connection} {end}: {reason}; trying again in {wait:.1f} s at most"
        if self._n_short >= _MOST_SHORT:
            text += (
                f". It never lasts: if another client calls itself {self._name!r} too, give one of them another --name"
            )
        self._happenings.say(text, level=logging.WARNING)

    def _client(self) -> Any:
        connection = self._connection
        return self._aiomqtt.Client(
            connection.host,
            connection.port,
            username=connection.username,
            password=connection.password,
            identifier=self._name,
            queue_type=_queue_that_calls(self._receive),
            tls_context=_tls(connection),
            timeout=10,
            keepalive=30,
            logger=_quiet_logger(),
            **self._session(),
        )

    def _session(self) -> dict[str, Any]:
        if self._connection.version == "3.1.1":
            return {"protocol": self._aiomqtt.ProtocolVersion.V311, "clean_session": not self._keep_session}
        properties = needed("paho.mqtt.properties", "Live roles", "live")
        packets = needed("paho.mqtt.packettypes", "Live roles", "live")
        asked = properties.Properties(packets.PacketTypes.CONNECT)
        asked.SessionExpiryInterval = _KEPT_FOR if self._keep_session else 0
        return {
            "protocol": self._aiomqtt.ProtocolVersion.V5,
            "clean_start": not self._keep_session,
            "properties": asked,
        }

    def _receive(self, message: Any) -> None:
        payload = message.payload if isinstance(message.payload, bytes) else str(message.payload or "").encode()
        try:
            self._handle(str(message.topic), payload, bool(message.retain))
        except Exception:  # one message must not end a role that runs for months
            logging.getLogger("hrpursuit.live").exception("a message on %s could not be handled", message.topic)


def _reason(error: Exception) -> str:
    """What aiomqtt says in one line; of a connection that ends without an error it says only where it noticed."""
    said = " ".join(str(error).split()) or type(error).__name__
    return "the broker, or something on the way, has closed it" if said.startswith("Disconnected during") else said


def default_name(role: str, topic: str) -> str:
    """Identity at the broker of the role that sends to a topic, or reads it: the same at each start."""
    return f"hrpursuit-{role}-{re.sub(r'[^A-Za-z0-9]+', '-', topic).strip('-')}"[:_LONGEST_NAME]


def _queue_that_calls(receive: Callable[[Any], None]) -> type[asyncio.Queue[Any]]:
    """A queue that aiomqtt puts a message in before it is acknowledged, which is when it has to be handled: what was
    acknowledged and waits would be lost with the process.
    """

    class Queue(asyncio.Queue[Any]):
        def put_nowait(self, item: Any) -> None:
            receive(item)

    return Queue


def _tls(connection: Connection) -> ssl.SSLContext | None:
    if not connection.tls:
        return None
    path = connection.ca_file
    try:
        context = ssl.create_default_context(cafile=path)
        if connection.cert_file is not None:
            path = connection.cert_file
            context.load_cert_chain(path, connection.cert_key_file)
    except ssl.SSLError as error:
        raise ValueError(f"{path} has no certificate, or not that of the key: {error}.") from error
    return context


def _quiet_logger() -> logging.Logger:
    """What paho says of each packet is not for the log of a role."""
    logger = logging.getLogger("hrpursuit.live.mqtt")
    logger.setLevel(logging.ERROR)
    return logger
