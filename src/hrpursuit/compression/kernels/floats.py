"""The bits of floats below their leading part k = trunc(x / 2^q), as they are: too far below the noise to be predicted.

Where k is not zero it says the exponent, and as many bits of the mantissa as it has bits below its first. Where it is
zero the exponent is coded as a number of halvings, each as likely as not, which suits values that are spread evenly.
"""

from hrpursuit.compression.kernels.bits import EVEN, code_bit, code_plain_bits, has_run_out
from hrpursuit.compression.kernels.compiled import compiled


@compiled
def code_float_bits(coder, buffer, decoding, bits, leading, seen, exponents, mantissas, biases):
    """Write `bits` (exponent and mantissa of each float as a whole number b; if negative -1 - b), or fill them in.

    `leading` has k, `exponents` q for each column, `mantissas` the bits of a mantissa (0: no column of this kind), and
    `biases` the exponent of the least float that is not subnormal.
    """
    n_rows, n = leading.shape
    for t in range(n_rows):
        if decoding and has_run_out(coder, buffer):
            return
        for k in range(n):
            n_mantissa = mantissas[k]
            if n_mantissa == 0 or not seen[t, k]:
                continue
            part = leading[t, k]
            given = bits[t, k] if bits[t, k] >= 0 else -1 - bits[t, k]
            mask = (1 << n_mantissa) - 1
            width = 11 if n_mantissa == 52 else (8 if n_mantissa == 23 else 5)  # of the exponent
            if part != 0:
                sign, size, length = 1 if part < 0 else 0, abs(part), 0
                while (size >> (length + 1)) > 0:
                    length += 1
                n_known = min(length, n_mantissa)
                known = (size - (1 << length)) >> (length - n_known)
                exponent = exponents[k] + length - biases[k] + 1
                n_left = n_mantissa - n_known
                low = code_plain_bits(coder, buffer, decoding, given & ((1 << n_left) - 1), n_left)
                mantissa = (known << n_left) + low
            else:
                sign = code_bit(coder, buffer, decoding, EVEN, 1 if bits[t, k] < 0 else 0)
                exponent = min(max(exponents[k] - biases[k], 0), (1 << width) - 1)
                wanted = given >> n_mantissa
                while exponent > 0:
                    if code_bit(coder, buffer, decoding, EVEN, 1 if wanted == exponent else 0):
                        break
                    exponent -= 1
                mantissa = code_plain_bits(coder, buffer, decoding, given & mask, n_mantissa)
            exponent = min(max(exponent, 0), (1 << width) - 1)
            magnitude = (exponent << n_mantissa) + mantissa
            bits[t, k] = -1 - magnitude if sign else magnitude
