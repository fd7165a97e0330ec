"""The main uses in a bare environment: .ci/package and .ci/oldest run it on what is installed, not on the checkout."""

import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np

import hrpursuit
from hrpursuit import HRP, MiniBatchHRP
from hrpursuit.compression import Decoder, compress, decompress
from hrpursuit.datasets import make_sensor_network, make_sparse_coded
from hrpursuit.metrics import dictionary_error

ROOT = Path(__file__).parents[1]
assert ROOT not in Path(hrpursuit.__file__).parents, hrpursuit.__file__

X, codes, components = make_sparse_coded(500, 20, sparsity=0.2, random_state=0)
model = HRP(random_state=0).fit(X)
assert model.verdict_.kind == "exact", model.verdict_
assert dictionary_error(model.components_, components) < 1e-12
assert np.abs(model.transform(X) @ model.components_ - X).max() < 1e-12
assert HRP(dictionary="complete", random_state=0).fit(X).certificate_
assert MiniBatchHRP(random_state=0).fit(X).components_.shape == (20, 20)
with tempfile.TemporaryDirectory() as folder:
    model.save(Path(folder) / "model.npz")
    assert np.array_equal(HRP.load(Path(folder) / "model.npz").components_, model.components_)
    np.save(Path(folder) / "x.npy", X)
    assert dictionary_error(HRP(random_state=0).fit(Path(folder) / "x.npy").components_, components) < 1e-12

table = make_sensor_network(200, 8, random_state=0)
data = compress(table, max_error=1)
assert np.nanmax(np.abs(decompress(data) - table)) <= 1
assert np.array_equal(np.isnan(decompress(data)), np.isnan(table))
assert np.array_equal(Decoder(data).read(10, 20), decompress(data)[10:21], equal_nan=True)
assert np.array_equal(decompress(compress(table, lossless=True)), table, equal_nan=True)

if find_spec("click"):
    subprocess.run([Path(sys.executable).with_name("hrpursuit"), "--version"], check=True)
print(f"smoke test passed: hrpursuit {hrpursuit.__version__}, numpy {np.__version__}")
