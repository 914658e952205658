/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Blocks, warps and lanes: whose turn it is, and who waits for whom. */
#include <stdarg.h>
#include <string.h>

#include "ptx.h"

/* Instructions of a warp before another one has its turn, at most. */
#define TURN 4000

void
ptx_fail (PtxWarp * w, const PtxInstruction * i, const gchar * format, ...)
{
  va_list arguments;
  gchar *text;

  if (w->run->failed)
    return;
  va_start (arguments, format);
  text = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  sim_misuse ("%s, line %u of its PTX, block %u, warp %u: %s",
      w->run->function->name, i != NULL ? i->line : 0, w->run->block,
      w->index, text);
  g_free (text);
  w->run->failed = TRUE;
}

/* ---- lanes ---- */

/* Of the lanes that can go on those that are furthest behind; where the next of
 * the others are. */
static guint32
choose_lanes (const PtxWarp * w, guint * at, guint * next)
{
  guint32 free = w->alive & ~w->held, chosen = 0;

  *at = *next = G_MAXUINT;
  for (guint l = 0; l < PTX_LANES; l++)
    if (free >> l & 1)
      *at = MIN (*at, w->at[l]);
  for (guint l = 0; l < PTX_LANES; l++) {
    if ((free >> l & 1) && w->at[l] == *at)
      chosen |= 1U << l;
    else if (w->alive >> l & 1)
      *next = w->at[l] >= *at ? MIN (*next, w->at[l]) : *next;
  }
  return chosen;
}

static void
set_lanes (PtxWarp * w, guint32 mask, guint at)
{
  for (guint l = 0; l < PTX_LANES; l++)
    if (mask >> l & 1)
      w->at[l] = at;
}

/* Lanes come to where some of the warp meet: all of them if they are there,
 * else 0. */
static guint32
meet (PtxWarp * w, guint32 lanes, guint32 needed, guint at)
{
  set_lanes (w, lanes, at);
  w->held |= lanes;
  for (guint l = 0; l < PTX_LANES; l++)
    if ((w->held >> l & 1) && w->at[l] == at)
      lanes |= 1U << l;
  needed &= w->alive;
  if ((lanes & needed) != needed)
    return 0;
  w->held &= ~lanes;
  return lanes;
}

/* Which lanes have to be there: all of them, or those that the last operand
 * names. */
static guint32
needed_lanes (const PtxWarp * w, const PtxInstruction * i, guint32 lanes)
{
  if (i->kind != PTX_TOGETHER)
    return w->alive;
  return w->registers[i->operand[i->n - 1]][__builtin_ctz (lanes)];
}

static guint32
guarded (const PtxWarp * w, const PtxInstruction * i, guint32 lanes)
{
  guint32 p;

  if (i->guard < 0)
    return lanes;
  p = w->registers[i->guard][0];
  return lanes & (i->negated ? ~p : p);
}

static void
wait_at_barrier (PtxWarp * w, const PtxInstruction * i)
{
  w->barrier = w->registers[i->operand[0]][0];
  w->expected = i->n > 1 ? w->registers[i->operand[1]][0] : 0;
}

/* Goes on with lanes that are at the same instruction until they part, meet
 * others, or the warp has to wait. */
static void
run_lanes (PtxWarp * w, gint * turn)
{
  const PtxFunction *f = w->run->function;
  guint at, next;
  guint32 lanes = choose_lanes (w, &at, &next);

  if (lanes == 0) {
    ptx_fail (w, &f->code[w->at[__builtin_ctz (w->alive)]],
        "lanes %#x wait for others of the warp that wait elsewhere", w->held);
    return;
  }
  do {
    const PtxInstruction *i = &f->code[at];
    guint32 mask = guarded (w, i, lanes);

    if (at >= f->n_code) {
      ptx_fail (w, NULL, "the function has no end");
      return;
    }
    switch (i->kind) {
      case PTX_SIMPLE:
        break;
      case PTX_BRANCH:
        if (mask == 0)
          break;
        if (mask == lanes && i->target > at && i->target < next) {
          at = i->target;
          continue;
        }
        set_lanes (w, mask, i->target);
        set_lanes (w, lanes & ~mask, at + 1);
        return;
      case PTX_EXIT:
        w->alive &= ~mask;
        set_lanes (w, lanes & ~mask, at + 1);
        return;
      case PTX_TOGETHER:
      case PTX_WARP:
      case PTX_BARRIER:
        if (mask == 0)
          break;
        mask = lanes = meet (w, mask, needed_lanes (w, i, mask), at);
        if (lanes == 0)
          return;
        if (i->kind == PTX_BARRIER) {
          wait_at_barrier (w, i);
          set_lanes (w, lanes, at + 1);
          return;
        }
        break;
      case PTX_POLL:
        i->function (i, w, mask);
        set_lanes (w, lanes, at + 1);
        return;
    }
    if (mask != 0 && i->kind != PTX_BRANCH)
      i->function (i, w, mask);
    at++;
  } while (--*turn > 0 && at < next && !w->run->failed);
  set_lanes (w, lanes, at);
}

/* ---- warps ---- */

static void
start_warp (PtxWarp * w)
{
  const PtxFunction *f = w->run->function;
  const struct
  {
    gint number;
    guint64 value, step;
  } special[] = {
    {f->tid, w->index * PTX_LANES, 1}, {f->ntid, w->run->threads, 0},
    {f->ctaid, w->run->block, 0}, {f->nctaid, w->run->grid, 0},
    {f->laneid, 0, 1}, {f->local, (gsize) w->local, f->local_bytes}
  };

  w->alive = G_MAXUINT32;
  w->held = 0;
  w->barrier = -1;
  w->polled = FALSE;
  memset (w->at, 0, sizeof (w->at));
  g_array_set_size (w->copies, 0);
  for (guint k = 0; k < G_N_ELEMENTS (special); k++)
    for (guint l = 0; special[k].number >= 0 && l < PTX_LANES; l++)
      w->registers[special[k].number][l] =
          special[k].value + l * special[k].step;
}

static void
init_warp (PtxWarp * w, PtxRun * run, guint index, gconstpointer parameters)
{
  const PtxFunction *f = run->function;

  w->run = run;
  w->index = index;
  w->registers = g_malloc (f->n_registers * sizeof (PtxRegister));
  w->local = g_malloc (PTX_LANES * f->local_bytes + 1);
  w->copies = g_array_new (FALSE, FALSE, sizeof (PtxCopy));
  for (guint n = f->first_constant; n < f->n_registers; n++)
    for (guint l = 0; l < PTX_LANES; l++)
      w->registers[n][l] = f->constants[n - f->first_constant];
  for (guint l = 0; f->parameters >= 0 && l < PTX_LANES; l++)
    w->registers[f->parameters][l] = (gsize) parameters;
}

static void
clear_warp (PtxWarp * w)
{
  g_array_unref (w->copies);
  g_free (w->local);
  g_free (w->registers);
}

/* Those that wait at a barrier go on when as many are there as it wants. */
static gboolean
open_barriers (PtxWarp * warps, guint n)
{
  gboolean opened = FALSE;

  for (gint id = 0; id < 16; id++) {
    guint waiting = 0, alive = 0, expected = 0;

    for (guint k = 0; k < n; k++) {
      alive += warps[k].alive != 0;
      if (warps[k].barrier == id) {
        waiting++;
        expected = warps[k].expected;
      }
    }
    if (waiting == 0 || waiting != (expected > 0 ? expected / PTX_LANES
            : alive))
      continue;
    for (guint k = 0; k < n; k++)
      if (warps[k].barrier == id)
        warps[k].barrier = -1;
    opened = TRUE;
  }
  return opened;
}

static gboolean
can_go_on (const PtxWarp * w)
{
  return w->alive != 0 && w->barrier < 0
      && !(w->polled && w->polled_at == ptx_memory_phases (w->run->memory));
}

/* Something that is on its way arrives. */
static gboolean
arrive (PtxRun * run, PtxWarp * warps, guint n)
{
  guint first = g_rand_int_range (sim_rand, 0, n);

  if (g_rand_boolean (sim_rand) && ptx_memory_arrive (run->memory))
    return TRUE;
  for (guint k = 0; k < n; k++) {
    PtxWarp *w = &warps[(first + k) % n];

    if (w->copies->len > 0) {
      ptx_warp_arrive (w, g_rand_int_range (sim_rand, 1, w->copies->len + 1));
      return TRUE;
    }
  }
  return ptx_memory_arrive (run->memory);
}

static void
take_turn (PtxWarp * w)
{
  gint turn = g_rand_int_range (sim_rand, 1, TURN);

  w->polled = FALSE;
  while (turn-- > 0 && w->alive != 0 && w->barrier < 0 && !w->polled
      && !w->run->failed)
    run_lanes (w, &turn);
}

/* All wait: the first of them tells for what. */
static void
fail_waiting (PtxWarp * warps, guint n)
{
  for (guint k = 0; k < n; k++) {
    PtxWarp *w = &warps[k];

    if (w->alive != 0)
      ptx_fail (w, &w->run->function->code[w->at[__builtin_ctz (w->alive)]],
          "it waits for what never comes");
  }
}

static void
run_block (PtxRun * run, PtxWarp * warps, guint n)
{
  guint alive;

  ptx_memory_reset (run->memory);
  for (guint k = 0; k < n; k++)
    start_warp (&warps[k]);
  do {
    guint first = g_rand_int_range (sim_rand, 0, n);
    gboolean went = FALSE;

    alive = 0;
    for (guint k = 0; k < n && !run->failed; k++) {
      PtxWarp *w = &warps[(first + k) % n];

      if (!went && can_go_on (w)) {
        take_turn (w);
        went = TRUE;
      }
      alive += w->alive != 0;
    }
    if (open_barriers (warps, n))
      went = TRUE;
    if (!went || g_rand_int_range (sim_rand, 0, 4) == 0)
      went |= arrive (run, warps, n);
    if (!went && alive > 0)
      fail_waiting (warps, n);
  } while (alive > 0 && !run->failed);
}

void
ptx_run (const gchar * folder, const gchar * name, gconstpointer parameters,
    gsize parameter_bytes, guint grid, guint threads, guint shared_bytes)
{
  PtxRun run = {.function = ptx_function (folder, name),.grid = grid,
    .threads = threads
  };
  guint n = threads / PTX_LANES;
  gboolean backwards = g_rand_boolean (sim_rand);
  PtxWarp *warps;

  if (run.function == NULL)
    return;
  warps = g_new0 (PtxWarp, n);
  run.memory = ptx_memory_new (parameters, parameter_bytes,
      run.function->shared_bytes + shared_bytes);
  for (guint k = 0; k < n; k++)
    init_warp (&warps[k], &run, k, parameters);
  for (guint k = 0; k < grid && !run.failed; k++) {
    run.block = backwards ? grid - 1 - k : k;
    run_block (&run, warps, n);
  }
  for (guint k = 0; k < n; k++)
    clear_warp (&warps[k]);
  ptx_memory_free (run.memory);
  g_free (warps);
}
