"""Without the compiler, on Python's integers that are checked for overflow, files decode to the very same bytes; and
nothing on the way there is a float.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from hrpursuit.compression.kernels.compiled import Integer

FOLDER = Path(__file__).parent / "fixtures"
EXPECTED = json.loads((FOLDER / "expected.json").read_text())
#: One of each kind is enough where Python counts.
NAMES = [
    "lossless", "lossless_fast", "lossless_near_zero", "lossless_offsets", "lossless_partly_verbatim",
    "lossless_no_decimals", "lossless_no_readings", "lossless_one_column", "bound_samples", "bound_below_decimals",
    "bound_no_decimals", "bound_far_from_zero", "bound_infinities", "lossless_odd_network", "bound_corrected",
    "bound_corrected_pca",
    "bound_many_columns", "rmse_transform", "rmse_transform_negative", "rmse_samples", "rmse_units", "rmse_hrp",
    "rmse_dct", "codes", "codes_no_decimals", "codes_stream", "frame_types_rmse", "frame_nullable_rmse",
    "frame_irregular_times", "frame_flushed", "frame_joined", "frame_plain", "appended", "bound_by_column",
    "table_bool_default", "table_bound_on_counters_default", "table_bound_on_decimals_fast",
    "table_bound_on_floats_default", "table_correlated_best", "table_doubles_default", "table_float16_default",
    "table_float32_as_doubles_default", "table_gaps_best", "table_gaps_fast", "table_list_of_doubles_default",
    "table_list_with_rest_of_float32_default", "table_low_bits_default", "table_multiples_from_the_first_fast",
    "table_multiples_default", "table_odd_gaps_default", "table_odd_values_default",
]  # fmt: skip

PLAIN = """
import json, runpy, sys
from pathlib import Path
from hrpursuit.compression import decompress
from hrpursuit.compression.kernels.compiled import IS_PLAIN
assert IS_PLAIN
make = runpy.run_path(sys.argv[1] + "/make.py")
found = {name: make["record"](decompress(Path(sys.argv[1], name + ".hrp").read_bytes())) for name in sys.argv[2:]}
print(json.dumps(found))
"""

# Both kinds of arithmetic with a float are seen: where it is the right operand by the checked integers themselves,
# everywhere else by what the functions of the kernels have in their variables when they return.
GUARDED = """
import sys
from pathlib import Path
import numpy as np
from hrpursuit.compression import decompress
from hrpursuit.compression.kernels import compiled

def refused(self, other):
    raise TypeError(f"{self!r} meets the float {other!r}")

def guarded(operation):
    return lambda self, other: refused(self, other) if isinstance(other, float) else operation(self, other)

for name in ("add", "sub", "mul", "floordiv", "mod", "lshift", "rshift", "and", "or", "xor"):
    for name in (f"__{name}__", f"__r{name}__"):
        setattr(compiled.Integer, name, guarded(getattr(compiled.Integer, name)))
for name in ("__truediv__", "__rtruediv__", "__pow__", "__rpow__"):
    setattr(compiled.Integer, name, refused)
for name in ("lt", "le", "gt", "ge"):
    setattr(compiled.Integer, f"__{name}__", guarded(getattr(int, f"__{name}__")))

KERNELS = str(Path(compiled.__file__).parent)
ENCODER_ONLY = {"price", "wanted"}  # handed through, or set and not looked at
floats, names = set(), set()

def watch(frame, event, value):
    code = frame.f_code
    if event == "return" and code.co_filename.startswith(KERNELS):
        names.add(code.co_name)
        for name, held in [*frame.f_locals.items(), ("return", value)]:
            is_array = isinstance(held, np.ndarray) and held.size and held.dtype.kind == "f"
            if (isinstance(held, (float, np.floating)) or is_array) and name not in ENCODER_ONLY:
                floats.add(f"{code.co_name}: {name}")

for name in sys.argv[2:]:
    data = Path(sys.argv[1], name + ".hrp").read_bytes()
    sys.setprofile(watch)
    decompress(data)
    sys.setprofile(None)
print(sorted(floats), len(names))
assert not floats
assert {"code_transform", "code_samples", "code_correction", "code_sparse", "refresh_basis", "factorize"} <= names
assert {"code_table", "code_quick", "code_float_bits", "code_low_bits"} <= names
assert not {"cheapest_level", "bits_needed", "_analyse", "_residual", "_refill"} & names
"""


def without_compiler(script, *names):
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    command = [sys.executable, "-W", "error", "-c", script, str(FOLDER), *names]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.long
def test_plain_integers_give_the_same_bytes():
    done = without_compiler(PLAIN, *NAMES)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert [name for name in NAMES if found[name] != EXPECTED[name]] == []


#: One of each pace, with all kinds of settings.
TABLES = [
    "table_correlated_best", "table_odd_values_default", "table_doubles_default", "table_low_bits_default",
    "table_bound_on_decimals_fast",
]  # fmt: skip


@pytest.mark.long
def test_no_kernel_of_the_decoder_has_a_float():
    done = without_compiler(GUARDED, "lossless", "bound_corrected", "rmse_dct", "codes", *TABLES)
    assert done.returncode == 0, done.stdout + done.stderr


LARGEST = 2**63 - 1


@pytest.mark.parametrize(
    "leave",
    [
        lambda: Integer(LARGEST) + 1,
        lambda: 1 + Integer(LARGEST),
        lambda: Integer(-LARGEST) - 2,
        lambda: -2 - Integer(LARGEST),
        lambda: Integer(2**40) * Integer(2**23),
        lambda: 2**40 * Integer(2**23),
        lambda: Integer(2**40) * np.int64(2**23),
        lambda: Integer(1) << 63,
        lambda: 1 << Integer(63),
        lambda: -Integer(-(2**63)),
        lambda: abs(Integer(-(2**63))),
        lambda: Integer(-(2**63)) // -1,
    ],
)
def test_integers_do_not_leave_64_bits(leave):
    with pytest.raises(OverflowError, match="64 bits"):
        leave()


def test_integers_count_as_integers_do():
    a, b = Integer(-37), Integer(5)
    for result, expected in (
        (a + b, -32), (a - b, -42), (a * b, -185), (a // b, -8), (a % b, 3), (a << b, -1184), (a >> b, -2), (a & b, 1),
        (a | b, -33), (a ^ b, -34), (-a, 37), (abs(a), 37), (3 - b, -2), (Integer(LARGEST) + 0, LARGEST),
        (Integer(-(2**62)) << 1, -(2**63)),
    ):  # fmt: skip
        assert result == expected
        assert type(result) is Integer
