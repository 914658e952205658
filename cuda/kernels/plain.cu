/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The banded kernels where nothing but rounding comes after the sums: fewer registers, more warps. */
#include "banded.cuh"

#define KERNEL(name, source, route, samples, terms, taps) CONVOLVE_BANDED_KERNEL (name, true, taps)
CONVOLVE_VARIANTS_PLAIN (KERNEL)
