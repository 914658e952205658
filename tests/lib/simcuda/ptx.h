/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Runs GPU functions from their PTX (PTX ISA 9.0), as nvcc made it, on the simulated device: what a GPU would run, but
 * for the last translation. SIMCUDA_PTX names the folder of the *.ptx files.
 *
 * Blocks run one by one. The warps of a block run in a random order, and lanes of a warp that went different ways one
 * group after the other, the one that is furthest behind first. Asynchronous copies arrive at a random time among what
 * waits and barriers allow. Misuse: what is outside of memory or not aligned, barriers that part of a warp reaches,
 * waits that nothing ends, instructions that are not known here. Matrices are multiplied in single precision, in
 * another order than a GPU's.
 */
#pragma once

#include <glib.h>

#include "sim.h"

#define PTX_LANES 32
/* A virtual register of a warp; a predicate has a bit a lane in the first. */
typedef guint64 PtxRegister[PTX_LANES];

typedef struct _PtxInstruction PtxInstruction;
typedef struct _PtxWarp PtxWarp;
typedef struct _PtxRun PtxRun;

/* Does it for the lanes of mask. */
typedef void (*PtxDo) (const PtxInstruction * i, PtxWarp * w, guint32 mask);

typedef enum
{
  PTX_SIMPLE,                   /* each lane for itself */
  PTX_BRANCH,
  PTX_EXIT,
  PTX_TOGETHER,                 /* the lanes of its last operand meet */
  PTX_WARP,                     /* all lanes meet */
  PTX_BARRIER,                  /* a block's warps meet */
  PTX_POLL                      /* asks whether something has come */
} PtxKind;

typedef enum
{ PTX_GENERIC, PTX_GLOBAL, PTX_SHARED, PTX_PARAM, PTX_LOCAL } PtxSpace;

#define PTX_OPERANDS 14

struct _PtxInstruction
{
  PtxDo function;
  PtxKind kind;
  gint guard;                   /* a predicate, or -1 */
  gboolean negated;
  guint n;                      /* operands: registers, vectors' one by one */
  gint operand[PTX_OPERANDS];
  gint64 offset[3];             /* of its addresses, one by one */
  guint target;                 /* of a branch */
  /* of loads and stores: elements and their bytes; of conversions what they make, and of what */
  PtxSpace space;
  guint elements, bytes;
  gboolean is_signed;
  guint from_bytes;
  gboolean from_signed;
  guint line;                   /* in the file */
};

typedef struct
{
  gchar *name;
  PtxInstruction *code;
  guint n_code, n_registers;
  guint first_constant;         /* registers from here on: */
  guint64 *constants;
  /* Registers that a warp finds filled; -1: not used. */
  gint tid, ntid, ctaid, nctaid, laneid, parameters, local;
  guint shared_bytes, local_bytes;      /* beside what the launch adds */
} PtxFunction;

/* A copy of a warp's lanes that has not arrived, or with no bytes: a barrier to tell once those before have. */
typedef struct
{
  guint bytes;
  guint32 mask;
  guint32 to[PTX_LANES];
  guint64 from[PTX_LANES];
} PtxCopy;

struct _PtxWarp
{
  PtxRun *run;
  PtxRegister *registers;
  guint8 *local;                /* local_bytes a lane */
  guint index;
  guint32 alive, held;          /* lanes that did not exit; that wait for others of the warp */
  guint at[PTX_LANES];          /* the next instruction of each lane */
  gint barrier;                 /* that it waits at, or -1 */
  guint expected;               /* threads there; 0: all */
  gboolean polled;              /* in vain, since the so manieth phase: */
  guint polled_at;
  GArray *copies;               /* PtxCopy */
};

/* ptx-parse.c */
/* The function of that name in a folder of files, read on first use; NULL and misuse if there is none. */
const PtxFunction *ptx_function (const gchar * folder, const gchar * name);

/* ptx-lanes.c */
/* What an instruction of that name does, or NULL: sets function, kind and what there is of space, elements, bytes. */
gboolean ptx_known (const gchar * name, PtxInstruction * i);
void ptx_nothing (const PtxInstruction * i, PtxWarp * w, guint32 mask);

/* ptx-memory.c: loads, stores and asynchronous copies, barriers of shared memory */
gboolean ptx_known_memory (const gchar * name, PtxInstruction * i);
typedef struct _PtxMemory PtxMemory;
PtxMemory *ptx_memory_new (gconstpointer parameters, gsize parameter_bytes, guint shared_bytes);
void ptx_memory_free (PtxMemory * memory);
/* For another block. */
void ptx_memory_reset (PtxMemory * memory);
/* One of a block's copies arrives; FALSE if there is none left. */
gboolean ptx_memory_arrive (PtxMemory * memory);
/* The first n copies of a warp arrive. */
void ptx_warp_arrive (PtxWarp * w, guint n);
/* Phases of all barriers that have ended. */
guint ptx_memory_phases (const PtxMemory * memory);

/* ptx-run.c */
struct _PtxRun
{
  const PtxFunction *function;
  PtxMemory *memory;
  guint block, grid, threads;
  gboolean failed;
};
/* Misuse that ends the launch. */
void ptx_fail (PtxWarp * w, const PtxInstruction * i, const gchar * format, ...) G_GNUC_PRINTF (3, 4);
void ptx_run (const gchar * folder, const gchar * name, gconstpointer parameters, gsize parameter_bytes, guint grid,
    guint threads, guint shared_bytes);

/* The low bytes of a number, extended by zeros or by its sign. */
static inline guint64
ptx_extend (guint64 v, guint bytes, gboolean is_signed)
{
  guint unused = 64 - 8 * bytes;

  v <<= unused;
  return is_signed ? (guint64) ((gint64) v >> unused) : v >> unused;
}

/* Where shared memory begins: 0 is no address in it. */
#define PTX_SHARED_BASE 1024

#define PTX_EACH_LANE(mask, ...) \
  G_STMT_START { \
    if ((mask) == G_MAXUINT32) { \
      for (guint l = 0; l < PTX_LANES; l++) { __VA_ARGS__; } \
    } else { \
      for (guint l = 0; l < PTX_LANES; l++) \
        if ((mask) >> l & 1) { __VA_ARGS__; } \
    } \
  } G_STMT_END
