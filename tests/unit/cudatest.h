/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the tests of the CUDA backend share: the simulated driver's doors, frames, the other backend's answer. */
#pragma once

#include "core/backend.h"
#include "cuda/driver.h"
#include "tests/lib/simcuda/simcuda.h"

G_BEGIN_DECLS

#define cudatest_sim simcuda_doors

ConvolvePlan *cudatest_plan (const gchar * format, gint width, gint height, const ConvolveSettings * settings);

/* A frame of random samples in one block. */
typedef struct {
  GstVideoInfo info;
  guint8 *block;
  ConvolveFrame frame;
  gpointer owner;               /* PINNED */
  const ConvolveBackend *backend;
} TestFrame;

/* device: NULL for ordinary memory, else page-locked memory of it. slack: bytes that strides are longer by. */
TestFrame *cudatest_frame_new (const ConvolvePlan * plan, ConvolveDevice * device, guint slack, GError ** error);
void cudatest_frame_free (TestFrame * frame);

/* What the CPU backend makes of the frame. */
TestFrame *cudatest_expected (ConvolvePlan * plan, const TestFrame * in);
/* Fails the test if a sample differs by more than 1. */
void cudatest_compare (const ConvolvePlan * plan, const TestFrame * expected, const TestFrame * out);

/* A device of the backend: frames in flight, bands (0: chosen), a neighbour's context or NULL. */
ConvolveDevice *cudatest_open (guint frames, guint bands, gpointer context);
/* Filters a random frame of ordinary memory by the plan and compares; slack: bytes that strides are longer by. */
void cudatest_check (ConvolveDevice * device, ConvolvePlan * plan, guint slack);

G_END_DECLS
