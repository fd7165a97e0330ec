"""The paper's coding in real bytes: T0 coefficients a row in a dictionary learned by HRP."""
import numpy as np
from hrpursuit.compression.bases import DICTIONARY, Basis
from hrpursuit.compression.pieces import Piece, Trial
def learn_dictionary(table, n_nonzero): raise NotImplementedError
def encode_sparse(piece: Piece) -> Trial: raise NotImplementedError
