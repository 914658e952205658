/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "testmain.h"

#include <stdlib.h>

guint64
test_seed (const gchar * text)
{
  guint64 seed;

  if (text == NULL)
    text = g_getenv ("TEST_SEED");
  if (text == NULL || *text == '\0') {
    seed = (guint64) g_get_real_time () % 1000000007;
  } else if (!g_ascii_string_to_unsigned (text, 10, 0, G_MAXUINT64, &seed,
          NULL)) {
    g_printerr ("the seed must be a number, not '%s'\n", text);
    exit (TEST_USAGE);
  }
  g_print ("seed %" G_GUINT64_FORMAT "\n", seed);
  return seed;
}
