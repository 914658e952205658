/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The table of functions that a backend is, and the checked calls that the element makes.
 *
 * Life:  probe -> open -> prepare -> (process -> wait)* -> release -> close.
 * A program may be released once no job of it is outstanding; several programs of a device may live at a time (a new
 * plan takes over at a frame boundary while frames of the old one are in flight). All calls on one device come from
 * one thread at a time, but not always from the same one; host memory may be freed from any thread at any time, also
 * after close, and cancel may be called from any thread while the device is open. */
#pragma once

#include "frame.h"
#include "region.h"
#include "work.h"

G_BEGIN_DECLS

typedef struct _ConvolveBackend ConvolveBackend;
typedef struct _ConvolveDevice ConvolveDevice;  /* an opened backend: each backend's own struct starts with it */
typedef struct _ConvolveProgram ConvolveProgram;        /* a prepared plan, likewise */
typedef struct _ConvolveHistory ConvolveHistory;        /* copies of frames, likewise */

/* Slots of a history are numbered from 0; more than any window has frames. */
#define CONVOLVE_HISTORY_MAX_SLOTS (4 * CONVOLVE_MATRIX_MAX_DEPTH)

/* What a plan that sums over frames looks at: slots of a history, which may come more than once. */
typedef struct {
  ConvolveHistory *history;
  guint n;                      /* plan->before + 1 + plan->after, the oldest first; slot[plan->before] is the frame
                                 * whose place is written: what is copied comes from it */
  const guint *slot;
} ConvolveWindow;

typedef struct {
  gint device_id;               /* -1: the backend's choice */
  guint n_threads;              /* CPU: 0 is one a core */
  guint frames_in_flight;       /* 1..8: jobs that may be outstanding at a time */
  guint bands;                  /* 0..64: pieces of a frame whose transfer and filtering overlap; 0: by size */
  gpointer context;             /* CUDA: a neighbour's context (CUcontext), or NULL for the backend's own */
} ConvolveOpenOptions;

typedef struct {
  guint64 frames;               /* jobs done */
  guint64 bytes_in, bytes_out;  /* read and written frames, in bytes of samples */
  guint64 upload_ns, kernel_ns, download_ns;    /* sums; CPU: kernel_ns alone */
  guint64 last_ns;              /* the latest job, from process to done */
  /* What the plans of those jobs ask for (work.h), as if all of them were of whole frames. */
  guint64 bytes_moved, multiply_adds;
} ConvolveStats;

struct _ConvolveBackend {
  const gchar *name;            /* "cpu" */

  /* Can it run on this machine? Cheap, touches nothing at registry scan. NULL error on TRUE. */
  gboolean (*probe) (GError ** error);
  ConvolveDevice *(*open) (const ConvolveOpenOptions * options, GError ** error);
  /* Maps each pass to an implementation and takes all memory that frames will need. Keeps a reference to plan. */
  ConvolveProgram *(*prepare) (ConvolveDevice * device, ConvolvePlan * plan, GError ** error);
  /* Starts one frame: out = filter (in). The two never overlap. May return before the work is done; never waits for
   * earlier jobs unless frames_in_flight of them are outstanding. *job names it for wait. Writes every sample of out
   * and nothing else. regions: samples outside them are those of in, and the work is about as much less as they are
   * smaller; NULL is the whole frame. They are not looked at any more after process returned. */
  gboolean (*process) (ConvolveProgram * program, const ConvolveFrame * in, const ConvolveFrame * out,
      const ConvolveRegions * regions, guint64 * job, GError ** error);
  /* Blocks until job is done. FALSE: its output is not to be used. */
  gboolean (*wait) (ConvolveDevice * device, guint64 job, GError ** error);
  void (*release) (ConvolveProgram * program);
  /* Waits for what is outstanding, frees everything. */
  void (*close) (ConvolveDevice * device);
  void (*get_stats) (ConvolveDevice * device, ConvolveStats * stats);
  /* What runs, for the plan property: one line a pass, the caller frees it. */
  gchar *(*describe) (ConvolveProgram * program);
  /* The device's name for messages: "CPU, AVX2, 2 threads". Owned by the device. */
  const gchar *(*device_name) (ConvolveDevice * device);

  /* Optional (both or none): memory of the process that the device reaches without a copy. owner keeps alive what free
   * needs; it is released with the memory. From any thread, also while another one is in process or wait. */
  gpointer (*host_alloc) (ConvolveDevice * device, gsize size, gpointer * owner, GError ** error);
  void (*host_free) (gpointer owner, gpointer memory);

  /* Optional (all or none): frames across time. A history outlives programs, and any of the device may look at it, if
   * its plan is for frames of that info. Closing the device comes after freeing its histories. */
  ConvolveHistory *(*history_new) (ConvolveDevice * device, const GstVideoInfo * info, GError ** error);
  /* Copies a frame into a slot, whose memory is taken at the first time. When it returns, in is not needed any more.
   * Jobs that were started before it see what the slot held before. */
  gboolean (*history_store) (ConvolveHistory * history, guint slot, const ConvolveFrame * in, GError ** error);
  void (*history_free) (ConvolveHistory * history);
  /* As process, for any plan, on the frames of a window. */
  gboolean (*process_window) (ConvolveProgram * program, const ConvolveWindow * window, const ConvolveFrame * out,
      const ConvolveRegions * regions, guint64 * job, GError ** error);

  /* Optional: from now on, until it is called with FALSE, process and wait come back soon, frames that are not finished
   * with CONVOLVE_ERROR_CANCELLED. From any thread, also while another one is in process or wait. */
  void (*cancel) (ConvolveDevice * device, gboolean cancel);
};

struct _ConvolveDevice {
  const ConvolveBackend *backend;
};

struct _ConvolveProgram {
  ConvolveDevice *device;
  ConvolvePlan *plan;           /* a reference of its own */
  ConvolveWork work;            /* the plan's; of backend.c */
};

struct _ConvolveHistory {
  ConvolveDevice *device;
  GstVideoInfo info;
  guint64 stored[(CONVOLVE_HISTORY_MAX_SLOTS + 63) / 64];       /* slots that hold a frame; of backend.c */
};

/* The two backends of this build; the CUDA one may be a stub whose probe says why. */
const ConvolveBackend *convolve_backend_cpu (void);
const ConvolveBackend *convolve_backend_cuda (void);

/* Checked calls: arguments are validated here, once; backends rely on it. */
ConvolveDevice *convolve_device_open (const ConvolveBackend * backend, const ConvolveOpenOptions * options,
    GError ** error);
void convolve_device_close (ConvolveDevice * device);
ConvolveProgram *convolve_program_new (ConvolveDevice * device, ConvolvePlan * plan, GError ** error);
void convolve_program_free (ConvolveProgram * program);
/* Refuses frames without a needed plane or with a stride smaller than a row. */
gboolean convolve_program_process (ConvolveProgram * program, const ConvolveFrame * in, const ConvolveFrame * out,
    guint64 * job, GError ** error);
/* The same for a part of the frame; regions may be NULL. Refuses rectangles that are empty or outside the picture. */
gboolean convolve_program_process_regions (ConvolveProgram * program, const ConvolveFrame * in,
    const ConvolveFrame * out, const ConvolveRegions * regions, guint64 * job, GError ** error);
/* An error where the backend has no histories. */
ConvolveHistory *convolve_history_new (ConvolveDevice * device, const GstVideoInfo * info, GError ** error);
gboolean convolve_history_store (ConvolveHistory * history, guint slot, const ConvolveFrame * in, GError ** error);
void convolve_history_free (ConvolveHistory * history);
/* Refuses slots that hold nothing and histories of another device or of other frames than the plan's. */
gboolean convolve_program_process_window (ConvolveProgram * program, const ConvolveWindow * window,
    const ConvolveFrame * out, const ConvolveRegions * regions, guint64 * job, GError ** error);
gboolean convolve_device_wait (ConvolveDevice * device, guint64 job, GError ** error);
/* Does nothing where the backend cannot, or device is NULL. */
void convolve_device_cancel (ConvolveDevice * device, gboolean cancel);
void convolve_device_get_stats (ConvolveDevice * device, ConvolveStats * stats);

/* For backends: counts a job that is done, all but its times. */
void convolve_program_count_job (const ConvolveProgram * program, ConvolveStats * stats);

G_END_DECLS
