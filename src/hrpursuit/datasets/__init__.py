"""Synthetic data."""

from hrpursuit.datasets.sensor_network import make_sensor_network
from hrpursuit.datasets.synthetic import make_sparse_coded

__all__ = ["make_sensor_network", "make_sparse_coded"]
