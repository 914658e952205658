/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The embedded GPU code: one fatbin a source, written by embed.py. */
#pragma once

#include "kernels/variants.h"

#define CUDA_IMAGE(name) extern const unsigned char convolve_cuda_##name[];
CONVOLVE_SOURCES (CUDA_IMAGE)
#undef CUDA_IMAGE
