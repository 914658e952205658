/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What threads set, until it takes effect. A change is one property's new value. It is seen by g_object_get at once,
 * and by the streaming thread when everything that was set together with it is there: at the end of the g_object_set,
 * or of the last of several that overlap. Those of each thread are then taken as if it had set them alone, the thread
 * that was last to set something last. */
#pragma once

#include "gstvideoconvolve-private.h"

G_BEGIN_DECLS

struct _GstVideoConvolveChange {
  /* Writes the new value into values. With the object lock, more than once. */
  void (*apply) (GstVideoConvolveValues * values, const GstVideoConvolveChange * change);
  gconstpointer property;       /* for apply */
  GValue value;
  ConvolveMatrix *weights[3];   /* owned */
  GArray *rois;                 /* owned */

  /* Of gstvideoconvolvechanges.c. */
  GThread *thread;
  guint64 order;                /* of taking effect; those of a thread may share it */
  GParamSpec *token;            /* or NULL */
  gboolean complete;            /* what was set together with it is there */
};

/* Replaces what *to refers to; matrix may be NULL and stays the caller's. */
void gst_video_convolve_put_matrix (ConvolveMatrix ** to, ConvolveMatrix * matrix);

/* A change without a value. */
GstVideoConvolveChange *gst_video_convolve_change_new (gconstpointer property,
    void (*apply) (GstVideoConvolveValues * values, const GstVideoConvolveChange * change));
void gst_video_convolve_change_free (GstVideoConvolveChange * change);
/* From a set_property function, or between g_object_freeze_notify and its end; without the object lock. Takes
 * change. */
void gst_video_convolve_change (GstVideoConvolve * self, GstVideoConvolveChange * change);
/* The class's dispatch_properties_changed. */
void gst_video_convolve_dispatch_properties_changed (GObject * object, guint n_pspecs, GParamSpec ** pspecs);

G_END_DECLS
