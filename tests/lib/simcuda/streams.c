/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Work that waits to be done, and the order in which it is. */
#include <string.h>

#include "sim.h"

static GPtrArray *streams;
static guint64 work_done;

void
sim_stream_register (SimStream * stream)
{
  if (streams == NULL)
    streams = g_ptr_array_new ();
  g_ptr_array_add (streams, stream);
}

void
sim_stream_unregister (SimStream * stream)
{
  g_ptr_array_remove (streams, stream);
}

SimOp *
sim_op_new (SimOpKind kind, SimStream * stream)
{
  SimOp *op = g_new0 (SimOp, 1);

  op->kind = kind;
  op->refs = 1;
  op->stream = stream;
  return op;
}

void
sim_op_unref (SimOp * op)
{
  if (op == NULL || --op->refs > 0)
    return;
  sim_op_unref (op->target);
  g_free (op);
}

void
sim_enqueue (SimOp * op)
{
  op->refs++;
  g_queue_push_tail (&op->stream->ops, op);
}

void
sim_copy (const CUDA_MEMCPY2D * c)
{
  gboolean from_host = c->srcMemoryType == CU_MEMORYTYPE_HOST;
  gboolean to_host = c->dstMemoryType == CU_MEMORYTYPE_HOST;
  const guint8 *from = from_host ? c->srcHost :
      (const guint8 *) (gsize) c->srcDevice;
  guint8 *to = to_host ? c->dstHost : (guint8 *) (gsize) c->dstDevice;

  from += c->srcY * c->srcPitch + c->srcXInBytes;
  to += c->dstY * c->dstPitch + c->dstXInBytes;
  if ((!from_host && !sim_check_rows ("a copy's source", (gsize) from,
              c->srcPitch, c->Height, c->WidthInBytes))
      || (!to_host && !sim_check_rows ("a copy's target", (gsize) to,
              c->dstPitch, c->Height, c->WidthInBytes)))
    return;
  for (gsize y = 0; y < c->Height; y++)
    memcpy (to + y * c->dstPitch, from + y * c->srcPitch, c->WidthInBytes);
}

/* Does the first piece of work of a stream; all that it waits for is done. */
static void
do_first (SimStream * stream)
{
  SimOp *op = g_queue_pop_head (&stream->ops);

  switch (op->kind) {
    case SIM_COPY:
      sim_copy (&op->copy);
      break;
    case SIM_LAUNCH:
      sim_kernel_run (op->kernel, &op->parameters, op->grid, op->shared_bytes);
      break;
    case SIM_RECORD:
      op->when = work_done;
      break;
    case SIM_WAIT:
      break;
  }
  work_done++;
  op->done = TRUE;
  sim_op_unref (op);
}

void
sim_run_until (SimOp * op)
{
  SimStream *stream = op->stream;

  while (!op->done) {
    SimOp *first = g_queue_peek_head (&stream->ops);

    if (first->kind == SIM_WAIT && first->target != NULL)
      sim_run_until (first->target);
    do_first (stream);
  }
}

void
sim_run_stream (SimStream * stream)
{
  SimOp *last = g_queue_peek_tail (&stream->ops);

  if (last != NULL) {
    last->refs++;
    sim_run_until (last);
    sim_op_unref (last);
  }
}

void
sim_run_all (void)
{
  for (guint i = 0; streams != NULL && i < streams->len; i++)
    sim_run_stream (g_ptr_array_index (streams, i));
}

void
sim_run_some (void)
{
  while (streams != NULL && streams->len > 0 && g_rand_boolean (sim_rand)) {
    SimStream *stream = g_ptr_array_index (streams,
        g_rand_int_range (sim_rand, 0, streams->len));
    SimOp *first = g_queue_peek_head (&stream->ops);

    if (first == NULL || (first->kind == SIM_WAIT && first->target != NULL
            && !first->target->done))
      continue;
    do_first (stream);
  }
}
