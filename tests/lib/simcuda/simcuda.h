/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What tests ask of the simulated driver beside CUDA. Its functions are found in the loaded libcuda.so.1 by name. */
#pragma once

#include <glib.h>

/* The n-th call from now gives code; n = 0: none does. */
typedef void (*SimcudaFailAt) (guint n, guint code);
/* The n-th call of that function from now gives code. */
typedef void (*SimcudaFailName) (const gchar * name, guint n, guint code);
/* Calls since the start. */
typedef guint (*SimcudaCalls) (void);
/* Objects that live: contexts in use, streams, events, modules, pieces of memory. */
typedef guint (*SimcudaLive) (void);
/* Those that live in a context (CUcontext). */
typedef guint (*SimcudaLiveIn) (gpointer context);
/* Bytes of device memory and of page-locked memory that can be had in all, from now on. */
typedef void (*SimcudaLimit) (gsize device, gsize host);
/* Contexts on the calling thread's stack. */
typedef guint (*SimcudaDepth) (void);
/* How often the GPU function of that name has run. */
typedef guint (*SimcudaRuns) (const gchar * name);
/* Bytes of host memory that 2D copies have put into device memory, since the start. */
typedef guint64 (*SimcudaUploaded) (void);
/* Misuses that were found. */
typedef guint (*SimcudaMisuses) (void);

typedef struct {
  SimcudaFailAt fail_at;
  SimcudaFailName fail_name;
  SimcudaCalls calls;
  SimcudaLive live;
  SimcudaLiveIn live_in;
  SimcudaLimit limit;
  SimcudaDepth depth;
  SimcudaRuns runs;
  SimcudaUploaded uploaded;
  SimcudaMisuses misuses;
} Sim;

/* doors.c, linked into the test: opens the library; exits with 77 where libcuda.so.1 is not the simulated one. */
const Sim *simcuda_doors (void);
