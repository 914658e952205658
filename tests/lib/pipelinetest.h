/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Whole pipelines and what comes out of them; the same picture through every kind of memory. */
#pragma once

#include <gst/check/gstcheck.h>
#include <gst/video/video.h>

G_BEGIN_DECLS

/* Appends the visible samples of a frame: plane by plane, row by row, no padding. */
void append_frame (GByteArray * bytes, GstSample * sample);
/* Fails the test if an error was posted on the pipeline's bus. */
void fail_on_error (GstElement * pipeline, const gchar * line);
/* All frames of a pipeline that ends in system memory: line (a format) ! appsink. Fails the test on an error, and where
 * no frame comes out. */
GByteArray *pipeline_run (const gchar * line, ...) G_GNUC_PRINTF (1, 2);

/* Samples of a and b differ by at most limit steps. word: bytes of a sample; step: of one value in it (64 for ten bits
 * in the upper ones of a word). Takes both. */
void assert_close (const gchar * what, GByteArray * a, GByteArray * b, guint word, guint step, guint limit);

typedef struct {
  const gchar *format;
  guint word, step;             /* as for assert_close */
} PipelineFormat;

/* Formats whose frames GStreamer 1.22 itself uploads and downloads right. */
extern const PipelineFormat pipeline_formats[];
extern const guint n_pipeline_formats;

/* The same frames from and to ordinary, page-locked and CUDA memory, filtered on the GPU, are equal byte by byte, and
 * within 1 of the CPU's. The memory is looked at: each combination is what it says. every: all nine; else the five that
 * differ most. */
void check_memories (const PipelineFormat * format, gint width, gint height, guint n_frames, const gchar * filter,
    gboolean every);

G_END_DECLS
