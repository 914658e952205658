/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Memory as functions of PTX see it: loads and stores, copies that arrive late,
 * and barriers in shared memory that tell of them. */
#include <stdlib.h>
#include <string.h>

#include "ptx.h"

/* mbarrier: PTX ISA, asynchronous barriers. A phase ends when nothing is
 * pending. */
typedef struct
{
  guint32 at;
  guint count;
  gint pending;
  gint64 bytes;
  guint phase;
} Barrier;

/* cp.async.bulk */
typedef struct
{
  guint32 to, barrier;
  guint64 from;
  guint bytes;
} Bulk;

struct _PtxMemory
{
  const guint8 *parameters;
  gsize parameter_bytes;
  guint8 *shared;
  guint shared_bytes;
  GArray *barriers, *bulks;
  guint phases;
  guint64 base, end;            /* the piece of memory used last */
};

PtxMemory *
ptx_memory_new (gconstpointer parameters, gsize parameter_bytes,
    guint shared_bytes)
{
  PtxMemory *memory = g_new0 (PtxMemory, 1);

  memory->parameters = parameters;
  memory->parameter_bytes = parameter_bytes;
  memory->shared = g_malloc (shared_bytes + 1);
  memory->shared_bytes = shared_bytes;
  memory->barriers = g_array_new (FALSE, FALSE, sizeof (Barrier));
  memory->bulks = g_array_new (FALSE, FALSE, sizeof (Bulk));
  return memory;
}

void
ptx_memory_free (PtxMemory * memory)
{
  g_array_unref (memory->barriers);
  g_array_unref (memory->bulks);
  g_free (memory->shared);
  g_free (memory);
}

/* What nobody has written is noise that no filter makes of samples. */
void
ptx_memory_reset (PtxMemory * memory)
{
  memset (memory->shared, 0xd5, memory->shared_bytes);
  g_array_set_size (memory->barriers, 0);
  g_array_set_size (memory->bulks, 0);
}

guint
ptx_memory_phases (const PtxMemory * memory)
{
  return memory->phases;
}

/* ---- addresses ---- */

static guint8 *
shared_at (PtxWarp * w, const PtxInstruction * i, guint32 address, guint bytes)
{
  PtxMemory *memory = w->run->memory;
  guint32 at = address - PTX_SHARED_BASE;

  if (at <= memory->shared_bytes && bytes <= memory->shared_bytes - at)
    return memory->shared + at;
  ptx_fail (w, i, "%u bytes at %d of %u bytes of shared memory", bytes,
      (gint) at, memory->shared_bytes);
  return NULL;
}

static guint8 *
global_at (PtxWarp * w, const PtxInstruction * i, guint64 address, guint bytes)
{
  PtxMemory *memory = w->run->memory;

  if (address < memory->base || address + bytes > memory->end) {
    const SimMemory *m = sim_memory_at (address, bytes);

    if (m == NULL) {
      ptx_fail (w, i, "%u bytes at %#" G_GINT64_MODIFIER
          "x are not inside one piece of memory", bytes, address);
      return NULL;
    }
    memory->base = (gsize) m->base;
    memory->end = memory->base + m->size;
  }
  return (guint8 *) (gsize) address;
}

static gboolean
is_inside (guint64 address, guint bytes, gconstpointer base, gsize size)
{
  guint64 at = address - (gsize) base;

  return base != NULL && at < size && bytes <= size - at;
}

static guint8 *
resolve (PtxWarp * w, const PtxInstruction * i, guint64 address, guint bytes,
    guint lane)
{
  const PtxMemory *memory = w->run->memory;
  guint local_bytes = w->run->function->local_bytes;

  if (address % bytes != 0) {
    ptx_fail (w, i, "%u bytes at %#" G_GINT64_MODIFIER "x: not aligned", bytes,
        address);
    return NULL;
  }
  if (i->space == PTX_SHARED)
    return shared_at (w, i, address, bytes);
  if (i->space != PTX_GLOBAL && (is_inside (address, bytes,
              memory->parameters, memory->parameter_bytes)
          || is_inside (address, bytes, w->local + lane * local_bytes,
              local_bytes)))
    return (guint8 *) (gsize) address;
  return global_at (w, i, address, bytes);
}

/* ---- loads and stores ---- */

static guint64
get (const guint8 * from, guint bytes, gboolean is_signed)
{
  guint64 v = 0;

  memcpy (&v, from, bytes);
  return ptx_extend (v, bytes, is_signed);
}

/* Where a lane's elements are, whose address is in that operand; NULL if that
 * is nowhere. */
static guint8 *
elements_at (const PtxInstruction * i, PtxWarp * w, guint operand, guint lane)
{
  guint64 base = w->registers[i->operand[operand]][lane];

  if (i->space == PTX_SHARED)
    base = (guint32) base;
  return resolve (w, i, base + i->offset[0], i->bytes * i->elements, lane);
}

static void
load (const PtxInstruction * i, PtxWarp * w, guint32 mask)
{
  for (guint l = 0; l < PTX_LANES; l++) {
    const guint8 *from = mask >> l & 1 ? elements_at (i, w, i->elements, l)
        : NULL;

    for (guint k = 0; from != NULL && k < i->elements; k++)
      w->registers[i->operand[k]][l] =
          get (from + k * i->bytes, i->bytes, i->is_signed);
  }
}

static void
store (const PtxInstruction * i, PtxWarp * w, guint32 mask)
{
  for (guint l = 0; l < PTX_LANES; l++) {
    guint8 *to = mask >> l & 1 ? elements_at (i, w, 0, l) : NULL;

    for (guint k = 0; to != NULL && k < i->elements; k++)
      memcpy (to + k * i->bytes, &w->registers[i->operand[1 + k]][l], i->bytes);
  }
}

/* ---- barriers ---- */

static Barrier *
barrier_at (PtxWarp * w, const PtxInstruction * i, guint32 at)
{
  GArray *all = w->run->memory->barriers;

  for (guint k = 0; k < all->len; k++)
    if (g_array_index (all, Barrier, k).at == at)
      return &g_array_index (all, Barrier, k);
  ptx_fail (w, i, "no barrier was initialised at %u", at - PTX_SHARED_BASE);
  return NULL;
}

static void
end_phase (PtxMemory * memory, Barrier * barrier)
{
  if (barrier->pending != 0 || barrier->bytes != 0)
    return;
  barrier->phase++;
  barrier->pending = barrier->count;
  memory->phases++;
}

static void
arrive_at (PtxWarp * w, const PtxInstruction * i, guint32 at, gint64 bytes)
{
  Barrier *barrier = barrier_at (w, i, at);

  if (barrier == NULL)
    return;
  if (barrier->pending == 0) {
    ptx_fail (w, i, "more arrive at a barrier than the %u it was made for",
        barrier->count);
    return;
  }
  barrier->pending--;
  barrier->bytes += bytes;
  end_phase (w->run->memory, barrier);
}

#define LANES(k) (w->registers[i->operand[k]])

static void
barrier_init (const PtxInstruction * i, PtxWarp * w, guint32 mask)
{
  for (guint l = 0; l < PTX_LANES; l++) {
    Barrier barrier = { LANES (0)[l], LANES (1)[l], LANES (1)[l] };

    if ((mask >> l & 1) == 0)
      continue;
    if (barrier.at % 8 != 0 || shared_at (w, i, barrier.at, 8) == NULL)
      ptx_fail (w, i, "a barrier at %u", barrier.at);
    g_array_append_val (w->run->memory->barriers, barrier);
  }
}

static void
barrier_arrive (const PtxInstruction * i, PtxWarp * w, guint32 mask)
{
  PTX_EACH_LANE (mask, arrive_at (w, i, LANES (1)[l], 0));
}

static void
barrier_expect (const PtxInstruction * i, PtxWarp * w, guint32 mask)
{
  PTX_EACH_LANE (mask, arrive_at (w, i, LANES (1)[l], (guint32) LANES (2)[l]));
}

/* Whether the phase of that parity has ended. */
static void
barrier_try (const PtxInstruction * i, PtxWarp * w, guint32 mask)
{
  guint32 done = 0;

  for (guint l = 0; l < PTX_LANES; l++) {
    Barrier *barrier;

    if ((mask >> l & 1) == 0)
      continue;
    barrier = barrier_at (w, i, LANES (1)[l]);
    if (barrier == NULL)
      return;
    done |= (guint32) ((barrier->phase & 1) != (LANES (2)[l] & 1)) << l;
  }
  LANES (0)[0] = (LANES (0)[0] & ~mask) | done;
  w->polled = done != mask;
  w->polled_at = w->run->memory->phases;
}

/* ---- copies that arrive late ---- */

static void
bulk_copy (const PtxInstruction * i, PtxWarp * w, guint32 mask)
{
  for (guint l = 0; l < PTX_LANES; l++) {
    Bulk bulk = { LANES (0)[l], LANES (3)[l], LANES (1)[l], LANES (2)[l] };

    if ((mask >> l & 1) == 0)
      continue;
    if (bulk.to % 16 != 0 || bulk.from % 16 != 0 || bulk.bytes % 16 != 0
        || bulk.bytes == 0)
      ptx_fail (w, i, "a copy of %u bytes from %#" G_GINT64_MODIFIER
          "x to %u: not of 16 bytes", bulk.bytes, bulk.from, bulk.to);
    if (shared_at (w, i, bulk.to, bulk.bytes) == NULL
        || global_at (w, i, bulk.from, bulk.bytes) == NULL
        || barrier_at (w, i, bulk.barrier) == NULL)
      return;
    g_array_append_val (w->run->memory->bulks, bulk);
  }
}

gboolean
ptx_memory_arrive (PtxMemory * memory)
{
  GArray *all = memory->bulks;
  guint n;
  Bulk bulk;

  if (all->len == 0)
    return FALSE;
  n = g_rand_int_range (sim_rand, 0, all->len);
  bulk = g_array_index (all, Bulk, n);
  g_array_remove_index (all, n);
  memcpy (memory->shared + bulk.to - PTX_SHARED_BASE,
      (const guint8 *) (gsize) bulk.from, bulk.bytes);
  for (guint k = 0; k < memory->barriers->len; k++) {
    Barrier *barrier = &g_array_index (memory->barriers, Barrier, k);

    if (barrier->at == bulk.barrier) {
      barrier->bytes -= bulk.bytes;
      end_phase (memory, barrier);
    }
  }
  return TRUE;
}

/* cp.async: a lane's copies of its own. */
static void
lane_copy (const PtxInstruction * i, PtxWarp * w, guint32 mask)
{
  PtxCopy copy = {.bytes = LANES (2)[0],.mask = mask };

  for (guint l = 0; l < PTX_LANES; l++) {
    if ((mask >> l & 1) == 0)
      continue;
    copy.to[l] = LANES (0)[l];
    copy.from[l] = LANES (1)[l];
    if (copy.to[l] % copy.bytes != 0 || copy.from[l] % copy.bytes != 0)
      ptx_fail (w, i, "a copy of %u bytes: not aligned", copy.bytes);
    if (shared_at (w, i, copy.to[l], copy.bytes) == NULL
        || global_at (w, i, copy.from[l], copy.bytes) == NULL)
      return;
  }
  g_array_append_val (w->copies, copy);
}

/* Tells the barrier when the lane's copies have arrived. */
static void
lane_copies_tell (const PtxInstruction * i, PtxWarp * w, guint32 mask)
{
  PtxCopy copy = {.mask = mask };

  PTX_EACH_LANE (mask, copy.to[l] = LANES (0)[l]);
  for (guint l = 0; l < PTX_LANES; l++)
    if ((mask >> l & 1) && barrier_at (w, i, copy.to[l]) == NULL)
      return;
  g_array_append_val (w->copies, copy);
}

static void
copy_arrives (PtxWarp * w, const PtxCopy * copy, guint lane)
{
  guint8 *shared = w->run->memory->shared - PTX_SHARED_BASE;

  if (copy->bytes == 0)
    arrive_at (w, NULL, copy->to[lane], 0);
  else
    memcpy (shared + copy->to[lane],
        (const guint8 *) (gsize) copy->from[lane], copy->bytes);
}

void
ptx_warp_arrive (PtxWarp * w, guint n)
{
  n = MIN (n, w->copies->len);
  for (guint k = 0; k < n; k++) {
    const PtxCopy *copy = &g_array_index (w->copies, PtxCopy, k);

    PTX_EACH_LANE (copy->mask, copy_arrives (w, copy, l));
  }
  g_array_remove_range (w->copies, 0, n);
}

static void
lane_copies_wait (const PtxInstruction * i, PtxWarp * w, guint32 mask)
{
  ptx_warp_arrive (w, G_MAXUINT);
}

/* ---- names ---- */

static const struct
{
  const gchar *name;
  PtxDo function;
  PtxKind kind;
} known[] = {
  {"mbarrier.init.shared.b64", barrier_init},
  {"mbarrier.arrive.shared.b64", barrier_arrive},
  {"mbarrier.arrive.expect_tx.shared.b64", barrier_expect},
  {"mbarrier.try_wait.parity.shared.b64", barrier_try, PTX_POLL},
  {"mbarrier.test_wait.parity.shared.b64", barrier_try, PTX_POLL},
  {"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes",
      bulk_copy},
  {"cp.async.ca.shared.global", lane_copy},
  {"cp.async.cg.shared.global", lane_copy},
  {"cp.async.mbarrier.arrive.noinc.shared.b64", lane_copies_tell},
  {"cp.async.wait_all", lane_copies_wait},
  {"fence.proxy.async.shared::cta", ptx_nothing},
};

/* ld and st: how they are cached does not matter here. */
static gboolean
known_access (const gchar * name, PtxInstruction * i)
{
  static const gchar *const spaces[] = { "", "global", "shared", "param",
    "local"
  };
  gchar **parts = g_strsplit (name, ".", -1);
  gboolean found = FALSE;

  i->elements = 1;
  i->function = g_str_equal (parts[0], "ld") ? load : store;
  for (guint k = 1; parts[k] != NULL; k++) {
    const gchar *part = parts[k];
    guint bits = 0;

    for (guint s = 1; s < G_N_ELEMENTS (spaces); s++)
      if (g_str_equal (part, spaces[s]))
        i->space = s;
    if (part[0] == 'v')
      i->elements = atoi (part + 1);
    else if (parts[k + 1] == NULL && strchr ("subf", part[0]) != NULL
        && (bits = atoi (part + 1)) > 0) {
      i->bytes = bits / 8;
      i->is_signed = part[0] == 's';
      found = TRUE;
    }
  }
  g_strfreev (parts);
  return found;
}

gboolean
ptx_known_memory (const gchar * name, PtxInstruction * i)
{
  for (guint k = 0; k < G_N_ELEMENTS (known); k++) {
    if (g_str_equal (name, known[k].name)) {
      i->function = known[k].function;
      i->kind = known[k].kind;
      return TRUE;
    }
  }
  return (g_str_has_prefix (name, "ld.") || g_str_has_prefix (name, "st."))
      && known_access (name, i);
}
