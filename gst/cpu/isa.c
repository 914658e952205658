/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which of the compiled instruction sets runs. */
#include "config.h"

#include "kernels.h"

#if CPU_HAVE_X86
static gboolean
has_avx2 (void)
{
  return __builtin_cpu_supports ("avx2") && __builtin_cpu_supports ("fma")
      && __builtin_cpu_supports ("bmi") && __builtin_cpu_supports ("bmi2");
}

static gboolean
has_avx512 (void)
{
  return has_avx2 () && __builtin_cpu_supports ("avx512f")
      && __builtin_cpu_supports ("avx512bw")
      && __builtin_cpu_supports ("avx512cd")
      && __builtin_cpu_supports ("avx512dq")
      && __builtin_cpu_supports ("avx512vl");
}
#endif

static gboolean
always (void)
{
  return TRUE;
}

/* From the best down. */
static const struct
{
  const gchar *name;
  const CpuIsa *isa;
    gboolean (*runs) (void);
} isas[] = {
#if CPU_HAVE_X86
  {"avx512", &convolve_cpu_isa_avx512, has_avx512},
  {"avx2", &convolve_cpu_isa_avx2, has_avx2},
#endif
  {"baseline", &convolve_cpu_isa_baseline, always},
};

const CpuIsa *
convolve_cpu_isa (void)
{
  const gchar *limit = g_getenv ("CONVOLVE_CPU");
  guint first = 0;

  /* An unknown name limits nothing. */
  for (guint i = 0; i < G_N_ELEMENTS (isas); i++)
    if (g_strcmp0 (limit, isas[i].name) == 0)
      first = i;
  for (guint i = first; i < G_N_ELEMENTS (isas); i++)
    if (isas[i].runs ())
      return isas[i].isa;
  return &convolve_cpu_isa_baseline;
}
