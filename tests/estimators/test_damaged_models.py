"""Archives that are damaged or forged, at random: each is refused when it is loaded, or is a model that works.

`HRPURSUIT_FUZZ=5000 pytest tests/estimators/test_damaged_models.py` tries that many changes of each model instead of
some dozens.
"""

import io
import json
import os
import re
import struct
import warnings
import zipfile

import numpy as np
import pandas as pd
import pytest

from hrpursuit import HRP, MiniBatchHRP
from hrpursuit.baselines import KSVD, LogCoshRTR
from hrpursuit.core.certificate import Certificate
from hrpursuit.datasets import make_sparse_coded
from hrpursuit.estimators import HRPOptions
from hrpursuit.images import PatchHRP

N_CHANGES = int(os.environ.get("HRPURSUIT_FUZZ", "60"))
X, _, W = make_sparse_coded(300, 6, sparsity=0.3, random_state=0)
NOISY = 1 + make_sparse_coded(500, 6, sparsity=0.3, snr_db=15, random_state=1)[0]
DENSE = np.random.default_rng(0).standard_normal((500, 6))
IMAGE = np.add.outer(np.arange(24.0), np.sin(np.arange(24.0)) * 9)
REFUSED = re.compile(r"is not a readable hrpursuit model: it is damaged|holds a [\w-]* of version|holds a \w*, not a")


def hrp():
    frame = pd.DataFrame(X, columns=[f"sensor {i}" for i in range(6)])
    model = HRP(n_nonzero_coefs=2, dict_init=W, options=HRPOptions(patience=(150, 300, None)), random_state=0).fit(
        frame
    )
    pairs = np.array([[0, 1], [4, 5]])
    model.certificate_ = Certificate(300, 6, 1e-9, 30, 9, 1, unstationary=pairs, ambiguous=pairs[:1])
    return model


MODELS = {
    "HRP": hrp,
    "HRP, complete": lambda: HRP(dictionary="complete", fit_intercept=True, random_state=0).fit(X + 1),
    "HRP, free": lambda: HRP(dictionary="complete", n_nonzero_coefs=2, random_state=0).fit(X),
    "MiniBatchHRP": lambda: MiniBatchHRP(random_state=0).partial_fit(X),
    "MiniBatchHRP, complete": lambda: MiniBatchHRP(dictionary="complete", n_nonzero_coefs=2).partial_fit(X),
    "MiniBatchHRP, noisy": lambda: MiniBatchHRP(dictionary="complete", fit_intercept=True).partial_fit(NOISY),
    "MiniBatchHRP, dense": lambda: MiniBatchHRP(random_state=0).partial_fit(DENSE),
    "MiniBatchHRP, lost": lambda: MiniBatchHRP(random_state=0).partial_fit(X[:200]).partial_fit(NOISY[:200]),
    "MiniBatchHRP, too few": lambda: MiniBatchHRP(random_state=0).partial_fit(X[:3]),
    "KSVD": lambda: KSVD(n_nonzero_coefs=2, n_components=9, max_iter=3, tol=0.5, random_state=0).fit(X),
    "LogCoshRTR": lambda: LogCoshRTR(random_state=0).fit(X),
    "PatchHRP": lambda: PatchHRP(3, 2, random_state=0).fit(IMAGE),
}


def flip_bytes(data, rng):
    raw = bytearray(data)
    for place in rng.integers(len(raw), size=rng.integers(1, 5)):
        raw[place] ^= int(rng.integers(1, 256))
    return bytes(raw)


def cut(data, rng):
    first, last = sorted(rng.integers(len(data) + 1, size=2))
    return [data[:first], data[last:], data[:first] + data[last:], data + data[first:last]][rng.integers(4)]


def swap_blocks(data, rng):
    size = int(rng.integers(1, 400))
    a, b = sorted(rng.integers(len(data) - size, size=2))
    if b - a < size:
        return data[:a] + data[a + size :]
    return data[:a] + data[b : b + size] + data[a + size : b] + data[a : a + size] + data[b + size :]


def members(data):
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(pairs, compression=zipfile.ZIP_STORED):
    file = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(file, "w", compression) as archive:
        warnings.simplefilter("ignore")  # of names that are there twice
        for name, content in pairs:
            archive.writestr(zipfile.ZipInfo(name), content, compression)
    return file.getvalue()


def change_members(data, rng):
    held = list(members(data).items())
    i, j = rng.integers(len(held), size=2)
    what = rng.integers(7)
    if what == 0:
        held[i], held[j] = (held[i][0], held[j][1]), (held[j][0], held[i][1])
    elif what == 1:
        held.append((held[i][0], held[j][1]))
    elif what == 2:
        held.pop(i)
    elif what == 3:
        held[i] = (held[i][0].replace("e", "E"), held[i][1])
    elif what == 4:
        held.append((["more.npy", "../components_.npy", "header.json", ""][rng.integers(4)], held[j][1]))
    elif what == 5:
        return packed(held, zipfile.ZIP_DEFLATED)
    raw = bytearray(packed(held))
    if what == 6:  # encrypted, or of a method or a version that is not known
        place = raw.rindex(b"PK\1\2")
        raw[place + [6, 8, 10][rng.integers(3)]] |= int(rng.integers(1, 256))
    return bytes(raw)


def npy(array):
    file = io.BytesIO()
    np.lib.format.write_array(file, array, allow_pickle=False)
    return file.getvalue()


ODD = [None, True, False, 0, 1, -1, 3, 2.5, -0.0, 1e308, 10**30, "", "x", "exact", "float32", [], [0], [[0, 1]], {}]
ODD += [{"class": "Stage"}, float("nan"), float("inf"), "\ud800", "\0", ["a"] * 6, 2**63, 2**31]
DEEP = "DEEP"


def places(value, path=()):
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in items:
        yield from places(one, (*path, key))


def change_header(data, rng):
    held = members(data)
    header = json.loads(np.load(io.BytesIO(held["header.npy"])).item())
    paths = list(places(header))[1:]
    *path, key = paths[rng.integers(len(paths))]
    holder = header
    for one in path:
        holder = holder[one]
    what, odd = rng.integers(8), ODD[rng.integers(len(ODD))]
    if what == 0:
        del holder[key]
    elif what == 1 and isinstance(holder, dict):
        holder[["more", "class", "n_iter_"][rng.integers(3)]] = odd
    elif what == 1:
        holder.append(odd)
    else:
        holder[key] = DEEP if what == 2 else odd
    text = json.dumps(header).replace(f'"{DEEP}"', "[" * 100_000 + "]" * 100_000)
    return packed((held | {"header.npy": npy(np.array(text))}).items())


def change_array(data, rng):
    held = members(data)
    names = sorted(name for name in held if name != "header.npy")
    name = names[rng.integers(len(names))]
    array = np.load(io.BytesIO(held[name])).copy()
    what = rng.integers(8)
    if what == 0:
        array = array.astype(["f2", "f4", ">f8", "f8", "i4", "i8", "U9", "c16", "?", "g"][rng.integers(10)])
    elif what == 1:
        array = [array[:-1], array[None], array.T, array.ravel(), array[..., :-1], array[:0]][rng.integers(6)]
    elif what == 2:
        array = np.repeat(array, 2, axis=0)
    elif what == 3:
        array = np.zeros_like(array)
    elif what < 6 and array.size:
        array.flat[rng.integers(array.size)] = [-1, 7, 2**40][rng.integers(3)] if array.dtype.kind == "i" else [
            np.nan, np.inf, -1.0, 0.0][rng.integers(4)]  # fmt: skip
    raw = npy(np.ascontiguousarray(array))
    if what >= 6:  # a shape that is not there
        end = 10 + struct.unpack_from("<H", raw, 8)[0]
        shape = [(10**12, 10**6), (10**19,), (-1, 6), (6, -1), (-6, -6), (0, 6), ()][rng.integers(7)]
        text = f"{{'descr': '{array.dtype.str}', 'fortran_order': {bool(rng.integers(2))}, 'shape': {shape}, }}"
        raw = raw[:10] + text.ljust(end - 11).encode() + b"\n" + raw[end:]
    return packed((held | {name: raw}).items())


DAMAGE = [flip_bytes, cut, swap_blocks]
FORGERY = [change_members, change_header, change_array]


def use(model, path):
    """What a model is for; an error that is not raised when it is loaded is raised here."""
    model.save(path)
    repr(model)
    if isinstance(model, PatchHRP) and model.channel_axis is not None:
        return  # of other images, then
    if isinstance(model, PatchHRP):
        image = model.inverse_transform(model.transform(IMAGE), IMAGE.shape)
        assert np.shape(image) == IMAGE.shape
        return
    names = getattr(model, "feature_names_in_", ())
    if len(names) != len(set(names)):
        return  # scikit-learn takes no rows with such names
    rows = pd.DataFrame(X, columns=names) if len(names) else X
    if hasattr(model, "components_"):
        codes = model.transform(rows)
        assert np.isfinite(codes).all()
        assert model.inverse_transform(codes).shape == X.shape
        assert isinstance(str(getattr(model, "certificate_", "")), str)
        assert model.reconstruction_error(rows) >= 0
        assert not hasattr(model, "score") or np.isfinite(model.score(rows))
    for stage in getattr(model, "stages_", []):
        str(stage)
    if isinstance(model, MiniBatchHRP):
        model.partial_fit(rows)


@pytest.mark.parametrize("kind", MODELS)
def test_a_changed_file_is_refused_or_works(kind, tmp_path):
    path, again = tmp_path / "m.npz", tmp_path / "again.npz"
    model = MODELS[kind]()
    model.save(path)
    whole = path.read_bytes()
    outcomes = dict.fromkeys(("refused", "same", "other"), 0)
    for seed in range(N_CHANGES):
        rng = np.random.default_rng(seed)
        change = (DAMAGE + FORGERY)[seed % 6]
        path.write_bytes(change(whole, rng))
        what = f"{change.__name__}, seed {seed}"
        try:
            loaded = type(model).load(path)
        except ValueError as error:
            if not REFUSED.search(str(error)):
                raise AssertionError(what) from error
            outcomes["refused"] += 1
            continue
        try:
            use(loaded, again)
        except Exception as error:
            raise AssertionError(f"{what}: an error that did not show when it was loaded") from error
        is_same = again.read_bytes() == whole
        assert is_same or change in FORGERY, what
        outcomes["same" if is_same else "other"] += 1
    print(kind, outcomes)
    assert outcomes["refused"] > N_CHANGES / 2
