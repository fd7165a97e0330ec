import numpy

import hrpursuit


def test_a_bug_report_gets_what_it_needs(capsys):
    hrpursuit.show_versions()
    shown = capsys.readouterr().out
    assert f"numpy          {numpy.__version__}" in shown
    for word in ("python", "hrpursuit", "scikit-learn", "numba", "blas", "threads"):
        assert word in shown
