/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Included by kernels.c once a precision, with REAL, VEC, LANES, NAME, LOAD, STORE, SPLAT and the functions of math.h
 * that go with REAL defined. */

/* The sum of taps for samples i .. i + 4 LANES - 1 of both output rows. */
VEC_INLINE void
NAME (sum_block) (const CpuTaps * taps, gsize i, VEC * s, VEC * t)
{
  const void *const *at = taps->at;
  const REAL *w = taps->weights;
  guint both = taps->n0 + taps->n01, all = both + taps->n1, k = 0;

#pragma GCC unroll 4
  for (gint j = 0; j < 4; j++)
    s[j] = t[j] = (VEC) { 0 };
  for (; k < taps->n0; k++) {
    const REAL *x = (const REAL *) at[k] + i;
    VEC w0 = SPLAT (w[2 * k]);

#pragma GCC unroll 4
    for (gint j = 0; j < 4; j++)
      s[j] += LOAD (x + j * LANES) * w0;
  }
  for (; k < both; k++) {
    const REAL *x = (const REAL *) at[k] + i;
    VEC w0 = SPLAT (w[2 * k]), w1 = SPLAT (w[2 * k + 1]);

#pragma GCC unroll 4
    for (gint j = 0; j < 4; j++) {
      VEC v = LOAD (x + j * LANES);

      s[j] += v * w0;
      t[j] += v * w1;
    }
  }
  for (; k < all; k++) {
    const REAL *x = (const REAL *) at[k] + i;
    VEC w1 = SPLAT (w[2 * k + 1]);

#pragma GCC unroll 4
    for (gint j = 0; j < 4; j++)
      t[j] += LOAD (x + j * LANES) * w1;
  }
}

static void
NAME (sum) (const CpuTaps * taps, void *const out[2], gsize n, gboolean add)
{
  REAL *out0 = out[0], *out1 = out[1];

  for (gsize i = 0; i < n; i += 4 * LANES) {
    VEC s[4], t[4];

    NAME (sum_block) (taps, i, s, t);
#pragma GCC unroll 4
    for (gint j = 0; j < 4; j++) {
      gsize at = i + j * LANES;

      if (add) {
        s[j] += LOAD (out0 + at);
        t[j] += LOAD (out1 + at);
      }
      STORE (out0 + at, s[j]);
      STORE (out1 + at, t[j]);
    }
  }
}

/* Eight vectors of a row: as many sums as it takes to hide the latency of an addition. */
VEC_INLINE void
NAME (row_block) (const REAL * x, guint step, const REAL * w, guint taps, VEC * s)
{
#pragma GCC unroll 8
  for (gint j = 0; j < 8; j++)
    s[j] = (VEC) { 0 };
  for (guint k = 0; k < taps; k++, x += step) {
    VEC wk = SPLAT (w[k]);

#pragma GCC unroll 8
    for (gint j = 0; j < 8; j++)
      s[j] += LOAD (x + j * LANES) * wk;
  }
}

static void
NAME (row) (const void *x, void *out, gsize n, guint step, const void *w, guint taps)
{
  const REAL *from = x, *weights = w;
  guint groups = (taps + CPU_GROUP - 1) / CPU_GROUP, group = (taps + groups - 1) / groups;

  for (gsize i = 0; i < n; i += 8 * LANES) {
    REAL *to = (REAL *) out + i;

    for (guint k = 0; k < taps; k += group) {
      VEC s[8];

      NAME (row_block) (from + i + (gsize) k * step, step, weights + k, MIN (group, taps - k), s);
#pragma GCC unroll 8
      for (gint j = 0; j < 8; j++)
        STORE (to + j * LANES, k == 0 ? s[j] : s[j] + LOAD (to + j * LANES));
    }
  }
}

/* ---- joining ---- */

static void
NAME (join_weighted) (const CpuJoin * join, const REAL * t, const REAL * v, REAL * out, gsize n)
{
  const REAL *gain = join->gain, *offset = join->offset;
  REAL sum = (REAL) join->sum;

  for (gsize i = 0; i < n; i++, t += join->sum_lanes, v += join->lanes, out += join->lanes) {
    REAL a = t[join->alpha];

    for (guint c = 0; c < join->lanes; c++) {
      if (c == join->alpha)
        out[c] = offset[c] + gain[c] * a;
      else
        out[c] = a > 0 ? offset[c] + gain[c] * (sum * t[c] / a) : v[c];
    }
  }
}

static void
NAME (join) (const CpuJoin * join, const void *t0, const void *t1, const void *v, void *out, gsize n)
{
  const REAL *gain = join->gain, *offset = join->offset, *threshold = join->threshold;
  gsize samples = n * join->lanes;

  if (join->kind == CPU_JOIN_WEIGHTED) {
    NAME (join_weighted) (join, t0, v, out, n);
    samples = 0;
  }
  for (gsize at = 0; at < samples; at += join->period) {
    const REAL *a = (const REAL *) t0 + at, *b = (const REAL *) t1 + at, *from = (const REAL *) v + at;
    REAL *to = (REAL *) out + at, amount = (REAL) join->amount;
    gsize m = MIN (join->period, samples - at);

    switch (join->kind) {
      case CPU_JOIN_MAGNITUDE:
        for (gsize i = 0; i < m; i++)
          to[i] = offset[i] + gain[i] * SQRT_REAL (a[i] * a[i] + b[i] * b[i]);
        break;
      case CPU_JOIN_UNSHARP:
        for (gsize i = 0; i < m; i++) {
          REAL d = from[i] - a[i];

          to[i] = offset[i] + gain[i] * (from[i] + (ABS_REAL (d) > threshold[i] ? amount * d : 0));
        }
        break;
      default:
        for (gsize i = 0; i < m; i++)
          to[i] = offset[i] + gain[i] * a[i];
        break;
    }
  }
  if (join->keeps)
    for (guint c = 0; c < join->lanes; c++)
      for (gsize i = c; join->keep[c] && i < n * join->lanes; i += join->lanes)
        ((REAL *) out)[i] = ((const REAL *) v)[i];
}

/* ---- alpha ---- */

static void
NAME (premultiply) (void *x, gsize n, guint lanes, guint alpha)
{
  REAL *p = x;

  for (gsize i = 0; i < n; i++, p += lanes)
    for (guint c = 0; c < lanes; c++)
      p[c] *= c == alpha ? 1 : p[alpha];
}

static void
NAME (weigh) (const void *v, const void *a, void *out, gsize n, guint lanes)
{
  const REAL *from = v, *weight = a;
  REAL *to = out;

  for (gsize i = 0; i < n; i++, from += lanes, to += lanes + 1) {
    for (guint c = 0; c < lanes; c++)
      to[c] = from[c] * weight[i];
    to[lanes] = weight[i];
  }
}
