"""The methods that the paper compares with, as estimators with the interface of :class:`~hrpursuit.HRP`."""

from hrpursuit.baselines.l1_rgd import L1RGD
from hrpursuit.baselines.logcosh_rtr import LogCoshRTR
from hrpursuit.baselines.power import MSP, L3Stage1

__all__ = ["L1RGD", "MSP", "L3Stage1", "LogCoshRTR"]
