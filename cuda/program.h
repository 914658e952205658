/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A plan as this backend runs it. prepare (map.c, stages.c, slot.c) fills all of it; a frame only adds addresses. */
#pragma once

#include "device.h"
#include "params.h"
#include "sums.h"

G_BEGIN_DECLS

#define CUDA_MAX_BANDS 64
#define CUDA_MAX_PASSES CONVOLVE_LAUNCH_PICTURES

/* One launch a frame (or a band): passes that a fused variant does together. Each is prepared twice: for rows whose
 * alignment allows wide access, and for any. */
typedef struct {
  const CudaVariant *variant;
  guint shared_bytes;
  ConvolveLaunch launch;        /* complete but for addresses, rows and blocks */
} CudaLaunch;

typedef struct {
  guint n_passes;
  guint pass[CUDA_MAX_PASSES];  /* of each picture of the launches */
  CudaLaunch wide, any;
} CudaGroup;

/* One pass through float pictures: stages.c makes the stages from it, again for each frame. */
typedef struct _CudaStaged CudaStaged;

struct _CudaStaged {
  guint pass;
  ConvolveStage base;           /* what all stages of the pass have in common */
  gsize picture_bytes;          /* of a float picture */
  guint n_pictures;             /* that the pass needs: at most CUDA_MAX_SCRATCH */
  guint32 weights[CONVOLVE_MAX_TERMS][2];       /* first float of the matrix, or of the row and the column */
  guint32 t_weights;            /* those of frames */
  gsize pyramid_bytes;          /* of the levels of a pyramid, behind the pictures */
  struct {
    gsize at, correction;       /* bytes from the first: levels from 1 on; corrections of all but the last */
  } level[CONVOLVE_MAX_LEVELS + 1];
  guint steps;                  /* iterations that go into one launch; 0: each is launched stage by stage */
  const CudaVariant *steps_variant;
  guint32 steps_weights;
  const ConvolveCoarse *coarse; /* the plan's, or NULL: by a grid (coarse.c), of which the pictures and weights are */
  gboolean by_sums;             /* a box: running sums take the place of all stages (sums.c) */
  ConvolveSums sums;            /* complete but for addresses, rows and tasks */
  CudaStaged *alpha;            /* owned, or NULL: filters another grid's alpha, which weighs in later iterations */
};

/* Its scratch pictures: what the iteration filters; what lies between rows and columns, then the result; the terms (of
 * longer sums by turns); last, the frame itself where it is wanted beside a sum over frames. */
enum {
  CUDA_PICTURE_BEFORE,
  CUDA_PICTURE_BETWEEN,
  CUDA_PICTURE_TERM,            /* and the next one: one for each term */
};

#define CUDA_MAX_SCRATCH 5
/* Iterations in one launch. */
#define CUDA_MAX_STEPS 16

/* A memory plane of the frame. */
typedef struct {
  guint rows, row_bytes;        /* 0 rows: the frame has no such plane */
  guint pitch;                  /* in device and page-locked memory of the program's own */
  gsize offset;                 /* there */
  /* The bytes of a row that are samples: all, or with a hole where packed 4:2:2 of odd width has half a pixel. */
  guint n_runs;
  struct {
    guint begin, bytes;
  } run[2];
} CudaPlane;

/* Rows of each memory plane. */
typedef struct {
  guint begin[CONVOLVE_MAX_PLANES], end[CONVOLVE_MAX_PLANES];
} CudaRows;

/* A piece of the frame. Its output lags behind its input by the rows that filters read below a row, so that it needs
 * no later band. */
typedef struct {
  CudaRows up, down;
  gint begin[CUDA_MAX_PASSES], end[CUDA_MAX_PASSES];    /* output rows of each pass, in rows of its picture */
  guint needs;                  /* the last band whose input these rows read */
  const ConvolveRect *cuts;     /* NULL, or what each pass sees as its picture; rows above are of that then */
} CudaBand;

/* Of the bands of a frame. */
typedef struct {
  CUevent uploaded[CUDA_MAX_BANDS];
  CUevent kernel_begin[CUDA_MAX_BANDS], kernel_end[CUDA_MAX_BANDS];
  CUevent download_begin[CUDA_MAX_BANDS], download_end[CUDA_MAX_BANDS];
} CudaEvents;

typedef struct {
  guint n_made;                 /* events of each kind ... */
  gsize bytes;                  /* ... and bytes of each piece of memory: those of a frame */
  gboolean busy;
  guint64 job;
  CUdeviceptr in_planes, out_planes;    /* 0 until a frame of the host comes */
  guint8 *in_staging, *out_staging;     /* page-locked; NULL until a frame of ordinary memory comes */
  CUevent begin, done;
  CudaEvents events[2];         /* without times, and without those that only times need; with times */
  /* Of the job: */
  gboolean timed;               /* which events */
  guint n_bands, n_kernels;
  gboolean uploads, downloads;
  gint64 begin_us;              /* g_get_monotonic_time () when its work was enqueued */
  ConvolveFrame out;            /* where finish copies to, if memory is HOST */
} CudaSlot;

#define CUDA_COPY_OUT_BATCHES 4

/* What waiting for work of one kind has taught, in microseconds: when it ends, and how long a short nap lasts. All
 * zeros before the first. */
typedef struct {
  gint64 expected, nap;
} CudaPace;

typedef struct {
  ConvolveProgram parent;
  gboolean complete;            /* made without a fault */
  guint n_groups;
  CudaGroup *group;
  guint n_staged;
  CudaStaged staged[CUDA_MAX_PASSES];
  gboolean forced;              /* a route is asked for, for tests */
  gboolean plain_stages;        /* no kernels for long lines, no coarse grids: as the route stage has it, for tests */
  gint forced_steps;            /* CudaStaged.steps where it can be chosen; -1: by cost */
  CUdeviceptr weights, scratch;
  CUdeviceptr region_planes;    /* a frame of its own for regions; 0 until there are some */
  CudaPlane plane[CONVOLVE_MAX_PLANES];
  gsize frame_bytes;            /* of the planes as this program lays them out */
  gsize sample_bytes;           /* of the samples alone */
  guint n_bands;
  CudaBand band[CUDA_MAX_BANDS];
  CudaBand whole;               /* the frame as one band */
  guint n_slots, next_slot;
  guint n_frames;               /* begun */
  gint64 upload_ns, kernel_ns, download_ns;     /* of the last frame whose times were taken */
  CudaSlot slot[CUDA_MAX_JOBS];
  CudaPace pace, copy_pace[CUDA_COPY_OUT_BATCHES];      /* of whole jobs, and of parts that are copied out */
  GHashTable *failed;           /* job -> GError of jobs that failed before anybody waited for them */
} CudaProgram;

/* a / b, rounded up. */
static inline guint64
cuda_divide_up (guint64 a, guint64 b)
{
  return (a + b - 1) / b;
}

static inline CudaDevice *
cuda_program_device (CudaProgram * program)
{
  return (CudaDevice *) program->parent.device;
}

/* Where planes of a frame lie on the device. */
typedef struct _CudaFrame CudaFrame;

struct _CudaFrame {
  CUdeviceptr data[CONVOLVE_MAX_PLANES];
  gint stride[CONVOLVE_MAX_PLANES];
  /* Of an input: the frames that the plan sums over, or NULL. They are laid out alike, planes as far apart, and
   * distances are multiples of 16. */
  const CudaFrame *window;
};

/* map.c: chooses for each pass; weights collects floats for the device's memory. */
typedef enum {
  CUDA_FORCE_NONE,
  CUDA_FORCE_STENCIL,
  CUDA_FORCE_STAGE,
  CUDA_FORCE_FLOAT,             /* fused, without half floats */
} CudaForce;

gboolean cuda_program_map (CudaProgram * program, CudaForce force, GArray * weights, GError ** error);

/* picture.c */

/* CONVOLVE_SAMPLES_...: GPUs are little endian. */
guint cuda_samples_of (const ConvolveLayout * layout);
/* TRUE if colours are weighted by an alpha that lies before or behind them: the fused routes do that. */
gboolean cuda_weighs_itself (const ConvolvePass * pass);
/* The samples' storage, for launches and stages alike. */
void cuda_picture_init (ConvolveLaunchPicture * picture, const ConvolvePass * pass);
void cuda_picture_place (ConvolveLaunchPicture * picture, const ConvolvePass * pass, const CudaFrame * in,
    const CudaFrame * out);

/* stages.c */
gsize cuda_staged_scratch_bytes (const CudaStaged * staged);
void cuda_staged_init (CudaStaged * staged, CudaProgram * program, guint pass, GArray * weights);
/* Appends weights, as pairs hi and lo whose sum is the weight if wide; returns the index of the first. */
guint32 cuda_append_weights (GArray * weights, const ConvolveMatrix * matrix, gboolean wide);
/* cut: what the pass sees as its picture; NULL: all of it. */
/* steps.c: chooses how many iterations a launch does; the tiles of a launch. */
void cuda_staged_init_steps (CudaStaged * staged, CudaProgram * program, GArray * weights);
guint64 cuda_steps_tiles (const ConvolveStage * stage, guint reach);
/* sums.c */
gboolean cuda_sums_takes (const CudaDevice * device, const ConvolvePass * pass);
void cuda_sums_init (CudaStaged * staged, CudaProgram * program);
gsize cuda_sums_scratch_bytes (const CudaStaged * staged);
/* Whether the placed picture is aligned as the kernels need it. */
gboolean cuda_sums_can (const CudaStaged * staged, const ConvolveLaunchPicture * picture);
gboolean cuda_sums_run (CudaDevice * device, const CudaStaged * staged, const ConvolveLaunchPicture * picture,
    CUdeviceptr scratch, GError ** error);
gboolean cuda_staged_run (CudaProgram * program, const CudaStaged * staged, const CudaFrame * in,
    const CudaFrame * out, const ConvolveRect * cut, GError ** error);

/* coarse.c: the same for passes by a coarse grid */
void cuda_coarse_init (CudaStaged * staged, const ConvolvePass * pass, GArray * weights);
gboolean cuda_coarse_run (CudaProgram * program, const CudaStaged * staged, const CudaFrame * in,
    const CudaFrame * out, const ConvolveRect * cut, GError ** error);

/* launch.c */
gboolean cuda_group_run (CudaProgram * program, const CudaGroup * group, const CudaFrame * in, const CudaFrame * out,
    const CudaBand * band, GError ** error);
/* Launches variant with one struct of parameters. */
gboolean cuda_launch (CudaDevice * device, const CudaVariant * variant, guint n_blocks, guint shared_bytes,
    gconstpointer parameters, GError ** error);
/* The same in blocks of so many threads. */
gboolean cuda_launch_threads (CudaDevice * device, const CudaVariant * variant, guint n_blocks, guint threads,
    guint shared_bytes, gconstpointer parameters, GError ** error);
/* The same with a stage, in as many launches as its work needs. */
/* What the stage's kernel asks for. */
guint cuda_stage_shared_bytes (const ConvolveStage * stage);
gboolean cuda_stage_launch (CudaDevice * device, const CudaVariant * variant, const ConvolveStage * stage,
    GError ** error);
/* Bytes of shared memory that the launch needs in variant. */
guint cuda_launch_shared_bytes (const CudaVariant * variant, const ConvolveLaunch * launch);

/* throttle.c */
/* The work of one pixel of so many weights; wide: in pairs of floats. */
guint64 cuda_pixel_work (const ConvolveLaunchPicture * picture, guint64 taps, gboolean wide);
/* Rows that one launch makes at most. busy_pixels: those that a multiprocessor needs to be busy; pieces are not
 * smaller, whatever a pixel costs. */
guint cuda_piece_rows (const CudaDevice * device, guint width, guint64 pixel_work, guint busy_pixels);

/* regions.c */
/* Makes a part of a placed picture one of its own. */
void cuda_picture_cut (ConvolveLaunchPicture * picture, const ConvolveRect * cut);
gboolean cuda_regions_ensure (CudaProgram * program, GError ** error);
gboolean cuda_regions_run (CudaProgram * program, const ConvolveRegions * regions, const CudaFrame * in,
    const CudaFrame * out, GError ** error);

/* banded.c: passes that half floats can carry, and launches of the routes BANDED, PLAIN, WEIGHTED and DIRECT */
gboolean cuda_banded_takes (const CudaDevice * device, const ConvolvePass * pass);
gboolean cuda_banded_is_plain (const ConvolvePass * pass);
/* What the kernels find of a term (NULL: a copy's) in memory. */
void cuda_banded_append_term (GArray * weights, const ConvolveTerm * term, const CudaVariant * variant);
/* Chooses the stages of shared memory; FALSE if the device has too little. */
gboolean cuda_banded_stages (const CudaDevice * device, const CudaVariant * variant, ConvolveLaunch * launch);
guint cuda_banded_shared_bytes (const CudaVariant * variant, const ConvolveLaunch * launch);
guint cuda_banded_threads (const CudaVariant * variant);
/* Numbers the tasks of all pictures; gives back the grid's blocks. */
guint cuda_banded_geometry (const CudaDevice * device, const CudaVariant * variant, ConvolveLaunch * launch);

/* folded.c: passes that sum over frames in one launch; those that weigh by alpha do so by their own */
gboolean cuda_folded_takes (const CudaDevice * device, const ConvolvePass * pass);
/* CONVOLVE_ROUTE_... of such a pass. */
guint cuda_folded_route (const ConvolvePass * pass);
void cuda_folded_append_term (GArray * weights, const ConvolveOperation * operation, const CudaVariant * variant);
/* Tells the launch where the frames are that it sums over, if it does. */
gboolean cuda_folded_place (ConvolveLaunch * launch, const CudaFrame * in, GError ** error);

/* bands.c */
void cuda_planes_init (CudaProgram * program);
/* wanted: 0 chooses. */
void cuda_bands_init (CudaProgram * program, guint wanted);

/* program.c */
ConvolveProgram *cuda_program_new (CudaDevice * device, ConvolvePlan * plan, GError ** error);
void cuda_program_free (CudaProgram * program);
gchar *cuda_program_describe (CudaProgram * program);

/* slot.c: with the context current */
/* A spare one of the device's, or a new one. */
gboolean cuda_slot_init (CudaProgram * program, CudaSlot * slot, GError ** error);
gboolean cuda_slot_ensure (CudaProgram * program, CudaSlot * slot, ConvolveMemory in, ConvolveMemory out,
    GError ** error);
void cuda_slot_clear (CudaSlot * slot);
/* Clears it, or keeps it for a program to come. */
void cuda_slot_return (CudaProgram * program, CudaSlot * slot);
/* Frees what is kept. */
void cuda_slots_drop (CudaDevice * device);
/* The same where memory was short. FALSE if that was not the error, or nothing was kept. */
gboolean cuda_slots_give_way (CudaDevice * device, const GError * shortage);
/* Makes some, once for each size of frames, if there is memory for them. */
void cuda_slots_reserve (CudaProgram * program);
/* Gives what is kept the memory that the program's slots have; where that is short nothing is kept any more. */
void cuda_slots_ensure (CudaProgram * program, ConvolveMemory in, ConvolveMemory out);

/* history.c */
ConvolveHistory *cuda_history_new (CudaDevice * device, const GstVideoInfo * info, GError ** error);
gboolean cuda_history_store (ConvolveHistory * history, guint slot, const ConvolveFrame * in, GError ** error);
void cuda_history_free (ConvolveHistory * history);
/* A frame of the device's memory. */
const ConvolveFrame *cuda_history_frame (const ConvolveHistory * history, guint slot);
/* With the context current: what has been enqueued for kernels looks at the slots. */
gboolean cuda_history_note_use (const ConvolveWindow * window, GError ** error);

/* wait.c: waits for the event of work that began at begin (g_get_monotonic_time ()). */
gboolean cuda_wait (CUevent event, gint64 begin, CudaPace * pace, GError ** error);

/* process.c */
gboolean cuda_program_process (CudaProgram * program, const ConvolveFrame * in, const ConvolveFrame * out,
    const ConvolveRegions * regions, guint64 * job, GError ** error);
gboolean cuda_program_process_window (CudaProgram * program, const ConvolveWindow * window, const ConvolveFrame * out,
    const ConvolveRegions * regions, guint64 * job, GError ** error);
/* Bytes of the rows of a plane between the host and the device. */
gboolean cuda_transfer (CUstream stream, gboolean up, guint8 * host, gssize host_stride, CUdeviceptr device,
    gsize pitch, gsize bytes, guint rows, GError ** error);
/* Ends the job of a slot: waits, copies out, counts. The slot is free then, also after a failure. */
gboolean cuda_slot_finish (CudaProgram * program, CudaSlot * slot, GError ** error);

G_END_DECLS
