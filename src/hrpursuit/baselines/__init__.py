"""The methods that the paper compares with, as estimators with the interface of :class:`~hrpursuit.HRP`."""

from hrpursuit.baselines.ksvd import KSVD
from hrpursuit.baselines.l1_rgd import L1RGD
from hrpursuit.baselines.logcosh_rtr import LogCoshRTR
from hrpursuit.baselines.power import MSP, L3Stage1
from hrpursuit.baselines.spams import SPAMS
from hrpursuit.baselines.transform_learning import TransformLearning

__all__ = ["KSVD", "L1RGD", "MSP", "SPAMS", "L3Stage1", "LogCoshRTR", "TransformLearning"]
