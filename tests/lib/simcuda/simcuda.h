/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What tests ask of the simulated driver beside CUDA: found in the loaded libcuda.so.1 by name. */
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
/* Contexts on the calling thread's stack. */
typedef guint (*SimcudaDepth) (void);
/* How often the GPU function of that name has run. */
typedef guint (*SimcudaRuns) (const gchar * name);
/* Misuses that were found. */
typedef guint (*SimcudaMisuses) (void);
