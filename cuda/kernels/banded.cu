/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The banded kernels that do all that may come after the sums. */
#include "banded.cuh"

#define KERNEL(name, source, route, samples, terms, taps) CONVOLVE_BANDED_KERNEL (name, false, taps)
CONVOLVE_VARIANTS_BANDED (KERNEL)
