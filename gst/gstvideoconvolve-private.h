/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The instance, between the element's files:
 *   gstvideoconvolve.c             class, caps, the vfuncs in the order in which a buffer meets them
 *   gstvideoconvolveproperties.c   the table of properties, from any thread
 *   gstvideoconvolvechecked.c      those whose values may be refused
 *   gstvideoconvolvechanges.c      from there to the streaming thread, whole
 *   gstvideoconvolvepresets.c      loading a preset
 *   gstvideoconvolvestats.c        what runs and how fast
 *   gstvideoconvolvedevice.c       the device
 *   gstvideoconvolveengine.c       plans and programs, on the streaming thread
 *   gstvideoconvolvejobs.c         frames in flight, on the streaming thread
 *   gstvideoconvolvewindow.c       frames that filters across time look at, and what waits for them
 *   gstvideoconvolveallocation.c   buffer pools */
#pragma once

#include "gstcudainterop.h"
#include "gstpinnedallocator.h"
#include "gstvideoconvolve.h"
#include "gstvideoconvolveenums.h"
#include "gstvideoconvolveframe.h"
#include "gstvideoconvolverois.h"
#include "gstvideoconvolvewindow.h"

#include "core/backend.h"

G_BEGIN_DECLS

GST_DEBUG_CATEGORY_EXTERN (gst_video_convolve_debug);

/* More than any property value can ask for. */
#define GST_VIDEO_CONVOLVE_MAX_JOBS 8

/* One frame at a time adds no latency. The tests build the element with more, too. */
#ifndef CONVOLVE_DEFAULT_FRAMES_IN_FLIGHT
#define CONVOLVE_DEFAULT_FRAMES_IN_FLIGHT 1
#endif

/* What the properties say. */
typedef struct {
  ConvolveSettings settings;
  GstVideoConvolveBackend backend;
  GstVideoConvolveFields fields;
  gint cuda_device_id;
  guint n_threads;
  guint frames_in_flight;
  guint bands;
  GstVideoConvolveRoiMode roi_mode;
  gchar *roi_types;             /* owned; NULL or empty: all */
  GArray *rois;                 /* of GstVideoConvolveRoi, never changed; a reference, or NULL */
} GstVideoConvolveValues;

/* A prepared plan, shared by the element and the jobs that run it. */
typedef struct {
  ConvolveProgram *program;
} GstVideoConvolveProgram;

/* One frame on its way: both buffers are owned and stay mapped until the backend is done with them. */
typedef struct {
  GstBuffer *in, *out;          /* in is NULL where the frame is one of the window's history */
  gboolean in_is_cuda, out_is_cuda;
  union {
    GstVideoConvolveFrame host;
    GstCudaInteropFrame cuda;
  } in_frame, out_frame;
  GstVideoConvolveProgram *program;     /* a reference */
  guint64 number;               /* for convolve_device_wait */
  gboolean has_regions;         /* not the whole frame, but rects */
  GArray *rects;                /* of ConvolveRect; kept from job to job */
  guint slots[CONVOLVE_MATRIX_MAX_DEPTH];       /* of the history */
} GstVideoConvolveJob;

typedef struct _GstVideoConvolveChange GstVideoConvolveChange;

struct _GstVideoConvolve {
  GstBaseTransform parent;

  /* Under the object lock. */
  GstVideoConvolveValues pending;       /* as set so far */
  GstVideoConvolveValues settled;       /* of changes before all in the queue */
  GQueue changes;               /* GstVideoConvolveChange, in the order of taking effect */
  guint64 n_changes;            /* ever */
  GstVideoConvolveValues values;        /* of settled and all complete changes */
  gboolean changed;             /* values were not taken over yet */
  GThread *controlling;         /* the streaming thread while controlled properties are set */
  gchar *kernel_location;
  GQueue refused;               /* why values were refused before anybody could hear */
  gchar *plan_text;             /* for the plan property and stats; NULL while there is none */
  ConvolvePlan *plans[2];       /* for frames, for fields; references for stats, NULL where there is none */
  gchar *device_text;
  const gchar *backend_name;
  ConvolveStats stats;          /* of all devices since start */
  guint64 n_passed;             /* buffers passed through */
  GstClockTime latency;         /* that frames in flight add */

  /* On the streaming thread, or with no streaming thread. */
  GstVideoConvolveValues active;        /* what the device and programs were made of */
  GstVideoInfo info;            /* of the caps */
  GstVideoInfo picture;         /* of one buffer: a field where the caps alternate fields */
  gboolean negotiated;
  gint started;                 /* atomic: between start and stop */
  gint stopping;                /* atomic: stop is about to drop the jobs */
  gboolean caps_refused;        /* the latest caps were: those before may still be in use */
  ConvolveDevice *device;       /* changed under device_lock, so that cancel may come from any thread */
  GMutex device_lock;
  gboolean cancelled;           /* under device_lock: what devices are told */
  gpointer context;             /* that the device was opened in: a neighbour's, or NULL */
  GstAllocator *pinned;         /* over the device's page-locked memory, or NULL */
  gchar *fallback_reason;       /* why backend=auto does without CUDA */
  gboolean cuda_failed;         /* a fault since start: the CPU it is until the next one */
  gchar *posted_error;          /* why caps were refused last: upstream may offer the same again and again */
  gboolean announced;           /* the INFO line of this start is out */
  ConvolveStats closed_stats;   /* of devices that were closed */
  GstVideoConvolveProgram *programs[2]; /* for frames, for fields; NULL where not needed */
  GstVideoConvolveJob jobs[GST_VIDEO_CONVOLVE_MAX_JOBS];        /* a ring */
  guint first_job, n_jobs;
  gboolean mark_discont;        /* a late frame was dropped: the next one in is a discontinuity */
  gboolean base_marks;          /* the base class will mark the next buffer that it pushes as one */
  GstVideoConvolveWindow window;
  GstBuffer *late;              /* a frame that is only for the window */
  GstFlowReturn drained;        /* what pushing outside the chain function met; returned by the next buffer */

  GstCudaInterop *interop;
};

/* ---- gstvideoconvolveproperties.c ---- */
void gst_video_convolve_install_properties (GObjectClass * klass);

/* ---- gstvideoconvolvechecked.c ---- */
/* Posts what was refused before the element had a bus. */
void gst_video_convolve_post_refused (GstVideoConvolve * self);

/* ---- gstvideoconvolvechanges.c ---- */
void gst_video_convolve_values_init (GstVideoConvolveValues * values);
void gst_video_convolve_values_copy (GstVideoConvolveValues * to, const GstVideoConvolveValues * from);
void gst_video_convolve_values_clear (GstVideoConvolveValues * values);
/* Moves values into *next, which is overwritten, if they changed since the last call. */
gboolean gst_video_convolve_take_values (GstVideoConvolve * self, GstVideoConvolveValues * next);
/* Sets controlled properties for the frame of that time; they are in the next values. */
void gst_video_convolve_control (GstVideoConvolve * self, GstClockTime stream_time);
void gst_video_convolve_changes_clear (GstVideoConvolve * self);

/* ---- gstvideoconvolve.c ---- */
/* An output buffer with all of inbuf's but its memory. */
GstFlowReturn gst_video_convolve_new_output (GstVideoConvolve * self, GstBuffer * inbuf, GstBuffer ** outbuf);

/* ---- gstvideoconvolvepresets.c ---- */
/* The init function of the interface GstPreset. */
void gst_video_convolve_preset_init (gpointer iface, gpointer data);

/* ---- gstvideoconvolvestats.c ---- */
/* What runs from now on; takes text, and references to plans of its own. */
void gst_video_convolve_set_plan (GstVideoConvolve * self, gchar * text, ConvolvePlan * frames,
    ConvolvePlan * fields);
/* With the object lock; the caller frees it. */
GstStructure *gst_video_convolve_make_stats (GstVideoConvolve * self);

/* ---- gstvideoconvolvedevice.c ---- */
/* Opens the backend that active asks for; posts an element error if it cannot. */
gboolean gst_video_convolve_open (GstVideoConvolve * self);
/* Drops programs and device; no job may be outstanding. */
void gst_video_convolve_close (GstVideoConvolve * self);
/* Whether frames in work are given up; from any thread. */
void gst_video_convolve_set_cancelled (GstVideoConvolve * self, gboolean cancelled);
/* Opens that backend; says nothing on the bus. */
gboolean gst_video_convolve_open_backend (GstVideoConvolve * self, const ConvolveBackend * backend, GError ** error);
void gst_video_convolve_take_stats (GstVideoConvolve * self);

/* ---- gstvideoconvolveengine.c ---- */
void gst_video_convolve_drop_programs (GstVideoConvolve * self);
/* New caps. FALSE: an element error was posted, nothing is negotiated. */
gboolean gst_video_convolve_set_info (GstVideoConvolve * self, const GstVideoInfo * info);
/* At a frame boundary: takes over what properties say now. FALSE only if the stream cannot go on; the error was
 * posted then. */
gboolean gst_video_convolve_update (GstVideoConvolve * self);
/* Opens the device again, in the present context, with new programs; drains first. Posts an element error on FALSE. */
gboolean gst_video_convolve_reopen (GstVideoConvolve * self);
GstVideoConvolveProgram *gst_video_convolve_program_new (GstVideoConvolve * self, ConvolvePlan * plan,
    GError ** error);
GstVideoConvolveProgram *gst_video_convolve_program_ref (GstVideoConvolveProgram * program);
void gst_video_convolve_program_unref (GstVideoConvolveProgram * program);
/* After a fault, with backend=auto: the CPU's device and programs in place of the others, whose jobs must have been
 * waited for and dropped. FALSE if that is no way out of this fault. */
gboolean gst_video_convolve_can_switch_to_cpu (GstVideoConvolve * self, const GError * fault);
gboolean gst_video_convolve_switch_to_cpu (GstVideoConvolve * self, const GError * fault);
/* TRUE if the device is a CUDA one: CUDA memory is then used in place, else it is mapped like any other. */
gboolean gst_video_convolve_is_on_cuda (GstVideoConvolve * self);
/* How many frames may be in flight now. */
guint gst_video_convolve_depth (GstVideoConvolve * self);
/* Posts an element error for a GError of core or backend, in the words of what. */
void gst_video_convolve_post_error (GstVideoConvolve * self, const GError * error, const gchar * what);

/* ---- gstvideoconvolvejobs.c ---- */
/* Takes inbuf and outbuf. The queue must hold fewer jobs than the depth. */
GstFlowReturn gst_video_convolve_start_job (GstVideoConvolve * self, GstBuffer * inbuf, GstBuffer * outbuf);
/* The same for frames of the window: slots are those that the program's plan asks for, rects the regions, or NULL.
 * Takes program's reference, which must not outlive the device, and outbuf. */
GstFlowReturn gst_video_convolve_start_window_job (GstVideoConvolve * self, GstVideoConvolveProgram * program,
    const guint * slots, const GArray * rects, GstBuffer * outbuf);
/* Copies a frame to a slot of the window's history, which is made if there is none. */
GstFlowReturn gst_video_convolve_keep_frame (GstVideoConvolve * self, GstBuffer * inbuf, guint slot);
/* The program for a buffer. */
GstVideoConvolveProgram *gst_video_convolve_program_for (GstVideoConvolve * self, GstBuffer * inbuf);
/* Which part of a buffer is filtered, as values and its metas say now. FALSE: the whole frame. */
gboolean gst_video_convolve_find_regions (GstVideoConvolve * self, const ConvolvePlan * plan, GstBuffer * inbuf,
    GArray * rects);
/* Waits for the oldest job; its output is the caller's. */
GstFlowReturn gst_video_convolve_finish_job (GstVideoConvolve * self, GstBuffer ** outbuf);
/* Finishes and pushes every job, in order; what waits for newer frames stays. */
GstFlowReturn gst_video_convolve_drain (GstVideoConvolve * self);
/* Waits for every job and throws its output away. */
void gst_video_convolve_drop_jobs (GstVideoConvolve * self);

/* ---- gstvideoconvolveallocation.c ---- */
gboolean gst_video_convolve_propose_allocation (GstBaseTransform * trans, GstQuery * decide_query, GstQuery * query);
gboolean gst_video_convolve_decide_allocation (GstBaseTransform * trans, GstQuery * query);

G_END_DECLS
