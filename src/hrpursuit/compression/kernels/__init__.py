"""The arithmetic of the codec: 64-bit integers and tables of constants, compiled; encoder and decoder are one function.

A kernel takes `decoding`. What only the encoder does (it may use floats) stands under `if not decoding`; the rest is
integer arithmetic that both do alike. With NUMBA_DISABLE_JIT=1 the same functions run on Python integers which raise
OverflowError beyond 64 bits. After a change in one kernel file remove the compiled files of the others: numba looks at
the file of the caller alone.
"""
