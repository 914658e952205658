/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a pass asks of memory and of arithmetic, whoever runs it: the numbers that a measured time is compared with. */
#pragma once

#include "plan.h"

G_BEGIN_DECLS

/* For one frame. */
typedef struct {
  guint64 bytes_read;           /* of samples, each once: of every frame that is looked at, and of alpha that weighs */
  guint64 bytes_written;
  guint64 multiply_adds;        /* of the sums in the form that the plan has chosen; weights of 0 are left out */
} ConvolveWork;

void convolve_pass_work (const ConvolvePass * pass, ConvolveWork * work);
/* Of all passes together. */
void convolve_plan_work (const ConvolvePlan * plan, ConvolveWork * work);

G_END_DECLS
