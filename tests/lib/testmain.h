/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What test programs share: the seed and the exit codes. */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

#define TEST_PASSED 0
#define TEST_FAILED 1
#define TEST_SKIPPED 77
#define TEST_USAGE 2

/* text if it is not NULL, else TEST_SEED of the environment, else the time; prints it. Exits with TEST_USAGE where
 * text is no number. */
guint64 test_seed (const gchar * text);

G_END_DECLS
