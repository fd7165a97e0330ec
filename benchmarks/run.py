"""Run benchmarks one after the other, with progress, and say which bars were missed.

python benchmarks/run.py                     # all of them: hours
python benchmarks/run.py --quick             # few trials of small cases each
python benchmarks/run.py recovery speed      # some
python benchmarks/run.py --list              # their names, and what each measures

What a benchmark prints goes to FOLDER/NAME.log (--logs FOLDER; a temporary folder by default); its figures are kept in
benchmarks/results unless --quick is given. Exits with 1 if a bar was missed or a benchmark failed.
"""

import ast
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from common import command_line, table

HERE = Path(__file__).parent
#: What benchmarks share.
PARTS = {"cases", "common", "denoising_folder", "figures", "live_channel", "results", "run", "size_tables"}
#: Not judged by bars, or run by hand: a fuzzer without an end, a picture, and the settings of methods of the paper.
BY_HAND = {"denoising_settings", "fuzz_atheris", "report_picture"}


def names() -> list[str]:
    return sorted(path.stem for path in HERE.glob("*.py") if path.stem not in PARTS | BY_HAND)


def first_line(name: str) -> str:
    return (ast.get_docstring(ast.parse((HERE / f"{name}.py").read_text())) or "").splitlines()[0]


def outcome(log: str, code: int) -> str:
    """What the log of a benchmark ends in: its bars, or its error."""
    lines = log.splitlines()
    bars = next((line for line in reversed(lines) if line.endswith("bars reached")), None)
    if bars is not None:
        return bars
    return "done" if code == 0 else f"failed with {code}: {lines[-1] if lines else 'nothing printed'}"


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="all unless told")
    parser.add_argument("--list", action="store_true", help="show the names and stop")
    parser.add_argument("--logs", type=Path, metavar="FOLDER")
    options = parser.parse_args()
    known = names()
    if options.list:
        table(["name".ljust(20), "what it measures"], ([name, first_line(name)] for name in known))
        return
    unknown = sorted(set(options.names) - {*known, *BY_HAND})
    if unknown:
        parser.error(f"expected names of benchmarks; got {', '.join(unknown)}. --list shows them all.")
    logs = options.logs or Path(tempfile.mkdtemp(prefix="hrpursuit-benchmarks-"))
    logs.mkdir(parents=True, exist_ok=True)
    chosen, failed = options.names or known, []
    print(f"logs: {logs}")

    def rows():
        for number, name in enumerate(chosen, 1):
            if sys.stdout.isatty():
                print(f"{number} of {len(chosen)}: {name} ...", end="\r", flush=True)
            command, began = [sys.executable, str(HERE / f"{name}.py")], time.perf_counter()
            with (logs / f"{name}.log").open("w") as log:
                code = subprocess.run(
                    command + ["--quick"] * options.quick, stdout=log, stderr=subprocess.STDOUT, check=False
                ).returncode
            failed.extend([name] if code else [])
            minutes = f"{(time.perf_counter() - began) / 60:.1f}"
            yield number, name, minutes, "NO" if code else "yes", outcome((logs / f"{name}.log").read_text(), code)

    table(["number", "benchmark".ljust(20), "minutes", "reached", "bars"], rows())
    if failed:
        print(f"missed or failed: {', '.join(failed)}")
        sys.exit(1)


if __name__ == "__main__":
    main()
