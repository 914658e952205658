/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "simcuda.h"

#include <gmodule.h>
#include <stdlib.h>

const Sim *
simcuda_doors (void)
{
  static Sim sim;
  const struct
  {
    const gchar *name;
    gpointer *door;
  } doors[] = {
    {"simcuda_fail_at", (gpointer *) & sim.fail_at},
    {"simcuda_fail_name", (gpointer *) & sim.fail_name},
    {"simcuda_calls", (gpointer *) & sim.calls},
    {"simcuda_live", (gpointer *) & sim.live},
    {"simcuda_live_in", (gpointer *) & sim.live_in},
    {"simcuda_limit", (gpointer *) & sim.limit},
    {"simcuda_depth", (gpointer *) & sim.depth},
    {"simcuda_runs", (gpointer *) & sim.runs},
    {"simcuda_uploaded", (gpointer *) & sim.uploaded},
    {"simcuda_misuses", (gpointer *) & sim.misuses},
  };
  GModule *module;

  if (sim.misuses != NULL)
    return &sim;
  module = g_module_open ("libcuda.so.1", G_MODULE_BIND_LAZY);
  for (guint i = 0; i < G_N_ELEMENTS (doors); i++) {
    if (module == NULL || !g_module_symbol (module, doors[i].name,
            doors[i].door)) {
      g_printerr ("libcuda.so.1 is not the simulated driver: set "
          "LD_LIBRARY_PATH to tests/lib/simcuda of the build\n");
      exit (77);
    }
  }
  return &sim;
}
