"""hrpursuit live: send readings from sensors through a gateway to a remote controller, over an MQTT broker."""

import csv
import io
import logging
import os
import re
import sys
import time
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from hrpursuit.cli.options import BOUNDS
from hrpursuit.live.mqtt import Connection
from hrpursuit.live.slots import SECOND

_UNITS = {"ns": 1, "us": 1000, "ms": SECOND // 1000, "s": SECOND, "min": 60 * SECOND, "h": 3600 * SECOND}
_FEWEST_KEY_BYTES = 16
_MOST_SPARSE = 256  # sensors that a gateway takes with --n-nonzero


class Duration(click.ParamType):
    """A length of time as 500ms, 1s or 5min, in nanoseconds."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        found = re.fullmatch(r"\s*(\d+(?:\.\d*)?)\s*([a-z]+)\s*", str(value))
        if found is None or found[2] not in _UNITS:
            self.fail(f"{value!r} is no length of time; write it as 500ms, 1s, 5min or 1h.", param, ctx)
        return round(float(found[1]) * _UNITS[found[2]])


class BrokerAddress(click.ParamType):
    """mqtt://user@host:1883 or mqtts://host:8883."""

    name = "address"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        try:
            Connection.of(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)
        return str(value)


class Place(click.ParamType):
    """A port on this machine, or an address and a port."""

    name = "place"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, int]:
        from hrpursuit.live.page import read_place  # noqa: PLC0415 - only here

        try:
            return read_place(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)


def _read_config(context: click.Context, option: click.Parameter, path: Path | None) -> None:
    """Values of a TOML file are defaults for the options; what is given on the command line counts."""
    if path is None:
        return
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise click.UsageError(f"{path} is no TOML: {error}") from error
    known = {
        name.lstrip("-").replace("-", "_"): one.name
        for one in context.command.params
        for name in one.opts
        if isinstance(one, click.Option) and name.startswith("--") and one is not option
    }
    wrong = [name for name in values if name.replace("-", "_") not in known]
    if wrong:
        raise click.UsageError(f"{path}: {wrong[0]!r} is no option; there are {', '.join(sorted(known))}.")
    values = {name: _as_on_the_command_line(value) for name, value in values.items()}
    several = {one.name for one in context.command.params if isinstance(one, click.Option) and one.multiple}
    named = {known[name.replace("-", "_")]: value for name, value in values.items()}
    context.default_map = {  # click would take a text for a list of its characters
        name: [value] if name in several and not isinstance(value, list) else value for name, value in named.items()
    }


def _as_on_the_command_line(value: Any) -> Any:
    """A table of TOML, as of bounds by sensor, as the text that an option takes."""
    if not isinstance(value, dict):
        return value
    out = io.StringIO()
    csv.writer(out, lineterminator="").writerow(f"{name}={amount}" for name, amount in value.items())
    return out.getvalue()


def _shared(command: Callable[..., Any]) -> Callable[..., Any]:
    file = click.Path(exists=True, dir_okay=False, path_type=Path)
    for option in (
        click.option("--config", type=file, is_eager=True, expose_value=False, callback=_read_config,
                     help="TOML file with these options, such as max-error = 1. The command line has precedence."),
        click.option("--name", help="Identity at the broker, different for each client; by default made from the role "
                     "and the topic of the messages."),
        click.option("--qos", type=click.IntRange(0, 2), default=1, show_default=True,
                     help="MQTT quality of service; with 1 or 2 the broker keeps messages while a controller is away."),
        click.option("--key-file", type=file, help="File with a key that gateway and controller share: messages carry "
                     "a tag made with it, and those without the right tag are refused."),
        click.option("--cert-key-file", type=file, help="Private key of the client certificate."),
        click.option("--cert-file", type=file, help="Client certificate for TLS."),
        click.option("--ca-file", type=file, help="Certificates that sign that of the broker; those of the system "
                     "by default."),
        click.option("--mqtt", "version", type=click.Choice(["3.1.1", "5"]), default="3.1.1", show_default=True,
                     help="Version of MQTT."),
        click.option("--broker", type=BrokerAddress(), required=True, metavar="URL",
                     help="mqtt://user@host:1883 or mqtts://host:8883; the password is in HRPURSUIT_MQTT_PASSWORD."),
    ):  # fmt: skip
        command = option(command)
    return command


def _target_options(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in (
        click.option("--n-nonzero", type=click.IntRange(1), help="T0, the number of codes per slot, in a dictionary "
                     "that is learned from the readings. Errors have no bound."),
        click.option("--lossless", is_flag=True, help="Rebuild every reading bit for bit."),
        click.option("--max-error", type=BOUNDS, metavar="BOUND",
                     help="Bound on the error of every reading, such as 1; or by sensor, s01=0.1,*=1."),
    ):  # fmt: skip
        command = option(command)
    return command


def _target(
    max_error: Any, lossless: bool, n_nonzero: int | None, default: dict[str, Any] | None = None
) -> dict[str, Any]:
    given = {"max_error": max_error, "lossless": lossless or None, "n_nonzero_coefs": n_nonzero}
    given = {name: value for name, value in given.items() if value is not None}
    if len(given) > 1 or (not given and default is None):
        raise click.UsageError("give exactly one of --max-error, --lossless and --n-nonzero.")
    return given or default or {}


def _read_key(path: Path | None) -> bytes | None:
    if path is None:
        return None
    key = path.read_bytes().strip()
    if len(key) < _FEWEST_KEY_BYTES:
        raise ValueError(f"the key in {path} has {len(key)} bytes; {_FEWEST_KEY_BYTES} or more are needed, as of "
                         "`openssl rand -hex 32`.")  # fmt: skip
    return key


def _log_to_stderr(level: int = logging.INFO) -> None:
    """One line per happening, with its time in UTC."""
    handler = logging.StreamHandler(sys.stderr)
    formatter = logging.Formatter("%(asctime)sZ %(levelname)s %(message)s", "%Y-%m-%dT%H:%M:%S")
    formatter.converter = time.gmtime
    handler.setFormatter(formatter)
    logger = logging.getLogger("hrpursuit.live")
    logger.handlers[:] = [handler]
    logger.setLevel(level)
    logger.propagate = False


def _token() -> str | None:
    return os.environ.get("HRPURSUIT_PAGE_TOKEN") or None


@click.group()
def live() -> None:
    """Send sensor readings live: one message of a few bytes per time slot, with a bound on the error of every reading.

    A gateway collects readings from an MQTT broker and sends them; a controller rebuilds them and shows a page. `demo`
    runs both with simulated sensors. All run until SIGTERM or Ctrl-C.
    """


@live.command()
@_target_options
@click.option(
    "--topics",
    required=True,
    multiple=True,
    metavar="FILTER",
    help="Topic filter of readings, such as plant/+/pm25. May be repeated.",
)
@click.option("--to", required=True, metavar="TOPIC", help="Topic to publish the messages to.")
@click.option("--slot", type=Duration(), default="1s", show_default=True, help="Length of a time slot.")
@click.option(
    "--wait",
    type=Duration(),
    default="0s",
    show_default=True,
    help="Time after the end of a slot in which late readings still count.",
)
@click.option(
    "--field", metavar="NAME", help="Field of JSON payloads that has the reading, such as value or data.pm25."
)
@click.option("--time-field", metavar="NAME", help="Field of JSON payloads that has the time of the reading.")
@click.option("--keyframe-every", type=click.IntRange(1), default=250, show_default=True, metavar="SLOTS",
              help="Slots from one keyframe (a message that can be decoded alone) to the next, at most.")  # fmt: skip
@click.option(
    "--slots-per-message",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="Slots per message: more take fewer bytes per slot, but messages come later.",
)
@click.option("--forget-after", type=click.IntRange(2), default=600, show_default=True, metavar="SLOTS",
              help="Leave out a sensor after this number of slots without a reading.")  # fmt: skip
@click.option("--buffer", type=click.IntRange(1), default=3600, show_default=True, metavar="SLOTS",
              help="Number of slots to keep while the broker cannot be reached; older ones are dropped.")  # fmt: skip
@click.option(
    "--archive",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the slots that were sent to this .hrp file.",
)
@click.option(
    "--metrics", type=Place(), metavar="PORT", help="Serve metrics for Prometheus at http://127.0.0.1:PORT/metrics."
)
@_shared
def gateway(**given: Any) -> None:
    """Collect readings from sensors, and publish one message per time slot (the paper's data centre)."""
    from hrpursuit.live.gateway import GatewaySettings  # noqa: PLC0415 - takes a second
    from hrpursuit.live.processes import run_gateway  # noqa: PLC0415

    _log_to_stderr()
    settings = GatewaySettings(
        topics=tuple(given["topics"]),
        to=given["to"],
        slot=given["slot"],
        wait=given["wait"],
        target=_target(given["max_error"], given["lossless"], given["n_nonzero"]),
        field=given["field"],
        time_field=given["time_field"],
        qos=given["qos"],
        keyframe_every=given["keyframe_every"],
        slots_per_message=given["slots_per_message"],
        key=_read_key(given["key_file"]),
        archive=given["archive"],
        most_waiting=given["buffer"],
        forget_after=given["forget_after"],
        **_named(given["name"]),
    )
    run_gateway(settings, _of(given), given["metrics"], _token())


@live.command()
@click.option("--from", "source", required=True, metavar="TOPIC", help="Topic of the gateway's messages.")
@click.option("--to", metavar="TOPIC", help="Topic to publish rebuilt values to, such as rebuilt/{sensor}.")
@click.option("--json", "as_json", is_flag=True, help='Publish {"value": …, "time": …} instead of the number alone.')
@click.option(
    "--archive",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the slots that were rebuilt to this .hrp file.",
)
@click.option("--journal", type=click.Path(dir_okay=False, path_type=Path),
              help="Write the messages since the last keyframe to this file, so that a controller that was killed can "
                   "continue; by default a file beside the --archive.")  # fmt: skip
@click.option("--page", type=Place(), metavar="PORT",
              help="Serve the page and /metrics: 8080 for this machine only; 0.0.0.0:8080 for other machines too, "
                   "whose users need the token in HRPURSUIT_PAGE_TOKEN.")  # fmt: skip
@_shared
def controller(**given: Any) -> None:
    """Rebuild readings from the messages of a gateway, publish and archive them, and serve the page."""
    from hrpursuit.live.controller import ControllerSettings  # noqa: PLC0415 - takes a second
    from hrpursuit.live.processes import run_controller  # noqa: PLC0415

    _log_to_stderr()
    archive, journal = given["archive"], given["journal"]
    settings = ControllerSettings(
        source=given["source"],
        to=given["to"],
        as_json=given["as_json"],
        qos=given["qos"],
        key=_read_key(given["key_file"]),
        archive=archive,
        journal=journal or (archive and archive.with_name(f"{archive.name}.journal")),
        **_named(given["name"]),
    )
    run_controller(settings, _of(given), given["page"], _token())


@live.command()
@_target_options
@click.option("--speed", type=click.FloatRange(1), default=3600.0, show_default=True,
              help="Simulated seconds per second; the sensors report once per simulated hour.")  # fmt: skip
@click.option(
    "--sensors", type=click.IntRange(1, 1000), default=56, show_default=True, help="Number of simulated sensors."
)
@click.option(
    "--lose",
    type=click.FloatRange(0, 0.5),
    default=0.0,
    help="Share of messages that are lost on the way, such as 0.01.",
)
@click.option("--seed", type=click.IntRange(0, 2**31), default=0, show_default=True, help="Seed of the simulation.")
@click.option("--seconds", type=click.FloatRange(0, min_open=True), help="Stop after this number of seconds.")
@click.option(
    "--page", type=Place(), metavar="PORT", help="Port of the page; by default 8080, or a free one if that is in use."
)
def demo(**given: Any) -> None:
    """Run everything on this machine with simulated sensors, and show the page.

    No broker has to be installed or configured: it is part of the process.
    """
    from hrpursuit.live.demo import run_demo  # noqa: PLC0415 - takes a second

    _log_to_stderr(logging.ERROR)
    target = _target(given["max_error"], given["lossless"], given["n_nonzero"], {"max_error": 1.0})
    if given["n_nonzero"] is not None and given["sensors"] > _MOST_SPARSE:
        raise click.UsageError(f"--n-nonzero is for up to {_MOST_SPARSE} sensors; got --sensors {given['sensors']}.")
    run_demo(
        target,
        speed=given["speed"],
        n_sensors=given["sensors"],
        lose=given["lose"],
        seed=given["seed"],
        seconds=given["seconds"],
        place=given["page"],
        token=_token(),
    )


def _named(name: str | None) -> dict[str, Any]:
    return {} if name is None else {"name": name}


def _of(given: dict[str, Any]) -> Connection:
    names = ("version", "ca_file", "cert_file", "cert_key_file")
    return Connection.of(given["broker"], **{name: given[name] for name in names})
