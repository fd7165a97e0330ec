"""Sparse coding with orthogonal and complete dictionaries by Hierarchical Riemannian Pursuit."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hrpursuit.core.certificate import Certificate
    from hrpursuit.core.options import HRPOptions
    from hrpursuit.core.protocols import Iterate
    from hrpursuit.estimators import HRP, MiniBatchHRP, MisspecifiedWarning, recover_atom, sparse_code
    from hrpursuit.schemes.verdict import Verdict
    from hrpursuit.versions import show_versions

    __version__: str

__all__ = [
    "HRP",
    "Certificate",
    "HRPOptions",
    "Iterate",
    "MiniBatchHRP",
    "MisspecifiedWarning",
    "Verdict",
    "recover_atom",
    "show_versions",
    "sparse_code",
]

#: Where each name is: it is imported when it is first used, so that `import hrpursuit` takes no time.
_HOMES = {
    "Certificate": "hrpursuit.core.certificate",
    "HRPOptions": "hrpursuit.core.options",
    "Iterate": "hrpursuit.core.protocols",
    "HRP": "hrpursuit.estimators",
    "MiniBatchHRP": "hrpursuit.estimators",
    "MisspecifiedWarning": "hrpursuit.estimators",
    "Verdict": "hrpursuit.schemes.verdict",
    "recover_atom": "hrpursuit.estimators",
    "sparse_code": "hrpursuit.estimators",
    "show_versions": "hrpursuit.versions",
    "__version__": "hrpursuit.versions",
}


#: Public modules, which are imported in the same way: `hrpursuit.datasets` works after `import hrpursuit`.
_MODULES = {"baselines", "compression", "datasets", "images", "live", "metrics", "plots", "rows"}


def __getattr__(name: str) -> Any:
    if name not in _HOMES and name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415

    if name in _MODULES:
        return import_module(f"{__name__}.{name}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, *_MODULES, "__version__"})
