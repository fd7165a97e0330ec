"""What a role needs is compiled before it starts: compiling takes seconds, in which it would be deaf."""

import json
import subprocess
import sys

import pytest

SCRIPT = """
import json, sys
import numpy as np
from hrpursuit.datasets import make_sensor_network
from hrpursuit.live import LiveDecoder, LiveEncoder
from hrpursuit.live.processes import compile_codec

def compiled():
    every = {(v.py_func.__module__, name, str(s)) for m in list(sys.modules.values())
             if getattr(m, "__name__", "").startswith("hrpursuit")
             for name, v in vars(m).items() if hasattr(v, "py_func") for s in v.signatures}
    return {f"{module}.{name}" for module, name, _ in every}, len(every)

settings = json.loads(sys.argv[1])
compile_codec(is_sparse="n_nonzero_coefs" in settings)
before = compiled()
table = make_sensor_network(800, 24, silent=0.05, outages=6.0, random_state=3)
encoder, decoder = LiveEncoder([f"s{k}" for k in range(24)], **settings), LiveDecoder()
for number, row in enumerate(table):
    decoder.decode(encoder.encode(row, number * 10**9))
assert len(before[0]) > 2
assert encoder.components is not None or "n_nonzero_coefs" not in settings
after = compiled()
print(json.dumps([sorted(after[0] - before[0]), after[1] - before[1]]))
"""


@pytest.mark.parametrize("settings", [{"max_error": 1}, {"lossless": True}, {"n_nonzero_coefs": 3}])
def test_nothing_is_compiled_later(settings, compiled):
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, json.dumps(settings)], capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == [[], 0], done.stderr
