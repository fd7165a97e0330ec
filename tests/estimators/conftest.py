from pathlib import Path

import pytest

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items):
    """No fit of ours warns where nothing is wrong: here that is an error, unless a mark of the test allows it."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(
                pytest.mark.filterwarnings("error:(MiniBatch)?HRP:sklearn.exceptions.ConvergenceWarning"), append=False
            )
