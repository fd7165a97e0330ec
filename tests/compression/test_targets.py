"""Exactly one target; what is wrong with it is said."""

import numpy as np
import pytest

from hrpursuit.compression import Encoder, Target, compress
from hrpursuit.compression.targets import check_settings, choose_target

TABLE = np.arange(12.0).reshape(4, 3)


@pytest.mark.parametrize(
    ("given", "target"),
    [
        ({"rmse": 0.05}, Target("rmse", 0.05)),
        ({"max_error": 2}, Target("max_error", 2.0)),
        ({"max_error": np.float32(0.5)}, Target("max_error", 0.5)),
        ({"n_nonzero": np.int64(5)}, Target("n_nonzero", 5)),
        ({"lossless": True}, Target("lossless", 0.0)),
    ],
)
def test_each_target_alone(given, target):
    assert choose_target(**given) == target


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "exactly one .* got none"),
        ({"rmse": 0.1, "lossless": True}, "rmse and lossless"),
        ({"rmse": 0.1, "max_error": 1}, "rmse and max_error"),
        ({"rmse": 5}, "rmse=0.05"),
        ({"rmse": 0}, "lossless=True"),
        ({"rmse": -0.1}, "above 0 and below 1"),
        ({"rmse": float("nan")}, "above 0 and below 1"),
        ({"rmse": "5%"}, "fraction"),
        ({"rmse": True}, "fraction"),
        ({"max_error": 0}, "lossless=True"),
        ({"max_error": float("inf")}, "finite"),
        ({"max_error": float("nan")}, "finite"),
        ({"n_nonzero": 0}, "whole number from 1"),
        ({"n_nonzero": 2.5}, "whole number"),
        ({"n_nonzero": True}, "whole number"),
        ({"lossless": 1}, "True or False"),
    ],
)
def test_what_is_wrong_is_said(given, said):
    for call in (lambda: compress(TABLE, **given), lambda: Encoder(**given)):
        with pytest.raises(ValueError, match=said):
            call()


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (("best", "adaptive", 1000), "'fast', 'default'; got 'best'"),
        (("fast", "ica", 1000), "'adaptive', 'hrp', 'pca', 'dct'; got 'ica'"),
        (("fast", "pca", 0), "chunk_rows .* from 1 to 65536; got 0"),
        (("fast", "pca", 65537), "65536"),
        (("fast", "pca", 10.0), "whole number"),
    ],
)
def test_settings_are_those_there_are(settings, said):
    with pytest.raises(ValueError, match=said):
        check_settings(*settings)


def test_a_target_reads_as_a_person_would_write_it():
    assert [
        str(choose_target(**given))
        for given in ({"rmse": 0.05}, {"max_error": 2}, {"n_nonzero": 5}, {"lossless": True})
    ] == [
        "relative RMSE 5.0000%",
        "max_error 2",
        "n_nonzero 5",
        "lossless",
    ]
