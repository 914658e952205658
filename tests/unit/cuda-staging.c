/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The copies between ordinary and page-locked memory: batches of any shape,
 * one after the other as fast as they go, so that helpers come late. */
#include <string.h>

#include "cuda/staging.h"

#define N_BATCHES 400
#define MAX_TASKS 12
#define BLOCK (1 << 20)

static guint8 from[BLOCK], to[MAX_TASKS][BLOCK];

static CudaCopy
random_copy (guint task)
{
  CudaCopy copy = { to[task], from };
  gsize stride;

  copy.bytes = g_test_rand_int_range (1, 5000);
  stride = copy.bytes + g_test_rand_int_range (0, 50);
  copy.rows = g_test_rand_int_range (0, MIN (BLOCK / stride, 300));
  copy.to_stride = copy.from_stride = stride;
  if (copy.rows > 0 && g_test_rand_bit ()) {
    copy.from = from + (copy.rows - 1) * stride;
    copy.from_stride = -copy.from_stride;
  }
  memset (to[task], 0, BLOCK);
  return copy;
}

static void
check_copy (const CudaCopy * copy)
{
  for (guint y = 0; y < copy->rows; y++)
    g_assert_cmpint (memcmp (copy->to + y * copy->to_stride,
            copy->from + y * copy->from_stride, copy->bytes), ==, 0);
  if (copy->rows > 0 && (gsize) copy->to_stride > copy->bytes)
    g_assert_cmpint (copy->to[copy->bytes], ==, 0);
}

static void
batches (void)
{
  static CudaCopier copier;
  CudaCopy copy[MAX_TASKS];

  for (gsize i = 0; i < BLOCK; i++)
    from[i] = g_test_rand_int_range (1, 256);
  for (guint round = 0; round < N_BATCHES; round++) {
    guint n = g_test_rand_int_range (0, MAX_TASKS + 1);

    cuda_copier_clear_batch (&copier);
    for (guint i = 0; i < n; i++) {
      copy[i] = random_copy (i);
      cuda_copier_add (&copier, &copy[i]);
    }
    cuda_copier_start (&copier);
    for (guint i = 0; i < n; i++) {
      cuda_copier_finish (&copier, i + 1);
      check_copy (&copy[i]);
    }
  }
  cuda_copier_clear (&copier);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/cuda/staging/batches", batches);
  return g_test_run ();
}
