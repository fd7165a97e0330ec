"""Bytes chosen by what they reach in the code of the decoder, for a minute: nothing but refusals may be raised.

Run `python benchmarks/fuzz_atheris.py [--seconds 60]`; needs `pip install ".[fuzz]"`. Starts from files of every kind.
An input is two bytes that say what it is, then a whole file, a header, a chunk or an index, around which a file with
checksums that fit is built: so the coder of chunks is reached too. Stops with a trace at the first failure, and leaves
the input in the folder for temporary files.
"""

import argparse
import importlib.util
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

SECONDS_EACH, MEGABYTES = 20, 2048


def kernels() -> list[str]:
    """Modules that numba compiles, by name: it does not take instrumented code."""
    folder = Path(importlib.util.find_spec("hrpursuit").origin).parent
    return [
        ".".join(("hrpursuit", *path.relative_to(folder).with_suffix("").parts))
        for path in folder.rglob("*.py")
        if path.parent.name == "kernels" or "from hrpursuit.compiled import" in path.read_text()
    ]


def fuzz(seconds: int, folder: Path) -> None:
    """Does not come back: libFuzzer ends the process."""
    import atheris  # noqa: PLC0415

    importlib.import_module("hrpursuit")  # all but the codec comes without instruments
    with atheris.instrument_imports(["hrpursuit.compression"], kernels()):
        import damage  # noqa: PLC0415
    warnings.simplefilter("ignore")
    files = damage.honest_files()
    parts = [damage.bodies(file.data) for file in files]

    def built(data: bytes) -> bytes:
        header, chunk, *rest, end = parts[data[0] % len(parts)]
        way, new = data[1] % 4, data[2:]
        if way == 0:
            return new
        if way == 1:
            return damage.rebuilt([header[:4] + new, chunk, end])
        if way == 2:
            return damage.rebuilt([header, chunk[:2] + new, end])  # one chunk: most time goes into those
        return damage.rebuilt([header, chunk, *rest, end[:2] + new])

    def read(data: bytes) -> None:
        if len(data) > 2:
            damage.read_both_ways(built(data))

    for number, (file, (header, chunk, *_, end)) in enumerate(zip(files, parts, strict=True)):
        for way, rest in enumerate([file.data, header[4:], chunk[2:], end[2:]]):
            (folder / f"{number}-{way}").write_bytes(bytes([number, way]) + rest)
    limits = [f"-max_total_time={seconds}", f"-timeout={SECONDS_EACH}", f"-rss_limit_mb={MEGABYTES}"]
    keep = f"-artifact_prefix={folder.parent / 'hrpursuit-'}"
    atheris.Setup(
        [sys.argv[0], *limits, "-max_len=4096", "-len_control=0", keep, "-print_final_stats=1", str(folder)], read
    )
    atheris.Fuzz()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.folder:
        fuzz(args.seconds, args.folder)
    if importlib.util.find_spec("atheris") is None:
        sys.exit('this needs atheris: pip install ".[fuzz]"')
    with tempfile.TemporaryDirectory() as folder:  # which the process that fuzzes cannot remove
        command = [sys.executable, __file__, "--seconds", str(args.seconds), "--folder", folder]
        sys.exit(subprocess.run(command, check=False).returncode)


if __name__ == "__main__":
    main()
