/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Samples as launches tell them, and the run of a stage: shared by kernels.c and stages.c. */
#pragma once

#include "sim.h"

gpointer sim_address (guint64 base, gint64 stride, gint64 y);
gint sim_outside (guint border, gint64 i, gint n);
guint sim_read_word (const guint8 * at, guint store, guint swap);
guint sim_read_sample (const ConvolveLaunchPicture * p, gint x, gint y, guint c);
void sim_write_pixel (const ConvolveLaunchPicture * p, gint x, gint y, const guint * sample);
guint sim_rounded (double value, double lo, double hi);
gsize sim_row_bytes (const ConvolveLaunchPicture * p);
void sim_run_stage (const SimKernel * kernel, const ConvolveStage * s);
/* The same of what goes from samples to a coarse grid and back (coarse.c). */
void sim_run_coarse (const SimKernel * kernel, const ConvolveStage * s);
