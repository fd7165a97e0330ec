"""hrpursuit live on the command line: options, TOML, and a clear line for everything that is wrong."""

import socket

import pytest

from hrpursuit.cli.main import run

GATEWAY = ["live", "gateway", "--broker", "mqtt://127.0.0.1:1", "--topics", "plant/+", "--to", "hrp/plant"]
TLS = "mqtts://127.0.0.1:1"
CONTROLLER = ["live", "controller", "--broker", "mqtt://127.0.0.1:1", "--from", "hrp/plant"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (GATEWAY, "give exactly one of --max-error, --lossless and --n-nonzero"),
        ([*GATEWAY, "--lossless", "--max-error", "1"], "give exactly one of"),
        ([*GATEWAY, "--max-error", "-1"], "expected a finite number above 0"),
        ([*GATEWAY, "--max-error", "s01=1"], "bounds by sensor need one for all others"),
        ([*GATEWAY, "--lossless", "--slot", "5 parsecs"], "is no length of time"),
        ([*GATEWAY, "--lossless", "--slot", "0s"], "a slot must last 1ms or longer"),
        ([*GATEWAY, "--lossless", "--topics", "#"], "would read its own messages"),
        ([*GATEWAY, "--lossless", "--topics", "a/#/b"], "expected a topic filter"),
        ([*GATEWAY, "--lossless", "--to", "hrp/+"], "expected a topic without + and #"),
        ([*GATEWAY, "--lossless", "--broker", "http://host"], "expected a broker as mqtt://host:1883"),
        ([*GATEWAY, "--lossless", "--broker", "mqtt://host:99999"], "has no valid port"),
        ([*GATEWAY, "--lossless", "--broker", "mqtt://me:secret@host"], "set HRPURSUIT_MQTT_PASSWORD instead"),
        ([*GATEWAY, "--lossless", "--archive", "nowhere/at/all.hrp"], "does not exist"),
        ([*CONTROLLER, "--to", "rebuilt"], "must contain {sensor}"),
        ([*CONTROLLER, "--ca-file", __file__], "give the broker as mqtts://127.0.0.1:8883"),
        ([*CONTROLLER, "--broker", TLS, "--cert-key-file", __file__], "needs --cert-file"),
        ([*CONTROLLER, "--broker", TLS, "--ca-file", __file__], "has no certificate"),
        ([*CONTROLLER, "--broker", TLS, "--cert-file", __file__], "has no certificate"),
        ([*CONTROLLER, "--page", "0.0.0.0:0"], "set HRPURSUIT_PAGE_TOKEN"),
        ([*CONTROLLER, "--page", "nowhere"], "expected a port as 8080"),
    ],
)
def test_what_is_wrong_is_said_in_a_line(arguments, words, capfd, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HRPURSUIT_PAGE_TOKEN", raising=False)
    assert run(arguments) in (1, 2)
    assert words in capfd.readouterr().err


def test_a_password_without_a_user(capfd, monkeypatch):
    monkeypatch.setenv("HRPURSUIT_MQTT_PASSWORD", "secret")
    assert run([*GATEWAY, "--lossless"]) in (1, 2)
    said = capfd.readouterr().err
    assert "no user: give mqtt://user@host:1883" in said
    assert "secret" not in said


def test_a_key_that_is_too_short(capfd, tmp_path):
    key = tmp_path / "key"
    key.write_text("short\n")
    assert run([*GATEWAY, "--lossless", "--key-file", str(key)]) == 1
    assert "has 5 bytes; 16 or more are needed" in capfd.readouterr().err


def test_sparse_codes_of_too_many_simulated_sensors(capfd):
    assert run(["live", "demo", "--n-nonzero", "5", "--sensors", "257", "--seconds", "1"]) == 2
    assert "--n-nonzero is for up to 256 sensors; got --sensors 257" in capfd.readouterr().err


def test_a_port_in_use(capfd):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        for command in ([*CONTROLLER, "--page"], [*GATEWAY, "--lossless", "--metrics"]):
            assert run([*command, str(other.getsockname()[1])]) == 1
            assert "the port is in use; give another port." in capfd.readouterr().err


@pytest.mark.parametrize("bounds", ['{s01 = 0.1, "*" = 1}', '{"a,b=c" = 0.1, "*" = 1, s02 = "lossless"}'])
def test_bounds_by_sensor_as_a_table_of_toml(capfd, tmp_path, bounds):
    config = tmp_path / "gateway.toml"
    config.write_text(f"topics = 'plant/+'\nto = 'hrp/#'\nmax-error = {bounds}\n")
    arguments = ["live", "gateway", "--config", str(config), "--broker", "mqtt://127.0.0.1:1"]
    assert run(arguments) == 1
    assert "expected a topic without + and #" in capfd.readouterr().err  # the bounds were taken
    config.write_text("topics = 'plant/+'\nto = 'hrp/plant'\nmax-error = {s01 = 0.1}\n")
    assert run(arguments) == 1
    assert "bounds by sensor need one for all others" in capfd.readouterr().err


def test_options_from_a_toml_file(capfd, tmp_path):
    config = tmp_path / "gateway.toml"
    config.write_text('topics = ["plant/+"]\nto = "hrp/plant"\nmax-error = 1\nslot = "5 parsecs"\n')
    arguments = ["live", "gateway", "--config", str(config), "--broker", "mqtt://127.0.0.1:1"]
    assert run(arguments) == 2
    assert "'5 parsecs' is no length of time" in capfd.readouterr().err
    assert run([*arguments, "--slot", "1s", "--to", "a/#"]) == 1  # the command line counts
    assert "got 'a/#'" in capfd.readouterr().err
    config.write_text('topics = "plant/+/x#"\nto = "hrp/plant"\nmax-error = 1\n')  # a text in the place of a list
    assert run(arguments) == 1
    assert "got 'plant/+/x#'" in capfd.readouterr().err
    config.write_text("slots = 1\n")
    assert run(arguments) == 2
    said = " ".join(capfd.readouterr().err.split())
    assert "'slots' is no option; there are" in said
    assert "keyframe_every" in said
    config.write_text("slot = \n")
    assert run(arguments) == 2
    assert "is no TOML" in capfd.readouterr().err
