"""Declared parameter constraints, from scikit-learn's private modules: imported here alone, so that a new release of it
can break one file only.
"""

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from sklearn.base import _fit_context
from sklearn.utils import _param_validation
from sklearn.utils._param_validation import Interval, StrOptions

__all__ = ["Interval", "StrOptions", "fit_context", "validate_params"]

Function = TypeVar("Function", bound=Callable[..., Any])


class Decorator(Protocol):
    """Scikit-learn has no types; this says that what it decorates keeps its own, also for a user's type checker."""

    def __call__(self, function: Function, /) -> Function: ...


def fit_context(*, prefer_skip_nested_validation: bool) -> Decorator:
    """Decorator of `fit` that checks the parameters of the estimator."""
    decorator: Decorator = _fit_context(prefer_skip_nested_validation=prefer_skip_nested_validation)
    return decorator


def validate_params(constraints: dict[str, list[Any]], *, prefer_skip_nested_validation: bool) -> Decorator:
    """Decorator of functions that checks their arguments."""
    decorator: Decorator = _param_validation.validate_params(
        constraints, prefer_skip_nested_validation=prefer_skip_nested_validation
    )
    return decorator
