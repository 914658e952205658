/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Included by kernels.c once a precision, after kernels-template.h: what is no weighted sum of rows, and the steps
 * between the levels of a pyramid. All of them write exactly n samples or pixels. */

/* The sums of opposite neighbours come first: between two equal steps they are nothing, and stay so. */
static void
NAME (diffuse) (const CpuJoin * join, const void *const rows[3], void *out, gsize n)
{
  gsize lanes = join->lanes;
  REAL amount = (REAL) join->amount;

  for (gsize at = 0; at < n; at += join->period) {
    const REAL *above = (const REAL *) rows[0] + at, *below = (const REAL *) rows[2] + at;
    const REAL *here = (const REAL *) rows[1] + at, *left = here - lanes, *right = here + lanes;
    const REAL *inverse = join->threshold;
    REAL *restrict to = (REAL *) out + at;
    gsize m = MIN (join->period, n - at);

#define FLOW(d) ((d) / (1 + ((d) * inverse[i]) * ((d) * inverse[i])))
    for (gsize i = 0; i < m; i++) {
      REAL v = here[i];
      REAL across = FLOW (left[i] - v) + FLOW (right[i] - v);
      REAL down = FLOW (above[i] - v) + FLOW (below[i] - v);

      to[i] = v + amount * (across + down);
    }
#undef FLOW
  }
}

static void
NAME (mix) (const void *const *rows, const gdouble * weights, guint n_rows, void *out, gsize n)
{
  const REAL *a = rows[0], *b = rows[1], *c = n_rows > 2 ? rows[2] : a;
  const REAL *d = n_rows > 3 ? rows[3] : a, *e = n_rows > 4 ? rows[4] : a;
  REAL w[5] = { 0 };
  REAL *to = out;

  for (guint k = 0; k < n_rows; k++)
    w[k] = (REAL) weights[k];
  if (n_rows == 2)
#pragma GCC ivdep
    for (gsize i = 0; i < n; i++)
      to[i] = w[0] * a[i] + w[1] * b[i];
  else if (n_rows == 3)
#pragma GCC ivdep
    for (gsize i = 0; i < n; i++)
      to[i] = w[0] * a[i] + w[1] * b[i] + w[2] * c[i];
  else
#pragma GCC ivdep
    for (gsize i = 0; i < n; i++)
      to[i] = w[0] * a[i] + w[1] * b[i] + w[2] * c[i] + w[3] * d[i] + w[4] * e[i];
}

VEC_INLINE void
NAME (halve_lanes) (const REAL * restrict x, REAL * restrict to, gsize n, gsize lanes)
{
  for (gsize i = 0; i < n; i++, x += 2 * lanes, to += lanes)
    for (gsize c = 0; c < lanes; c++)
      to[c] = ((x[c] + x[c + 4 * lanes]) + 4 * (x[c + lanes] + x[c + 3 * lanes]) + 6 * x[c + 2 * lanes])
          * (REAL) 0.0625;
}

static void
NAME (halve) (const void *x, void *out, gsize n, guint lanes)
{
  if (lanes == 1)
    NAME (halve_lanes) (x, out, n, 1);
  else if (lanes == 2)
    NAME (halve_lanes) (x, out, n, 2);
  else if (lanes == 3)
    NAME (halve_lanes) (x, out, n, 3);
  else
    NAME (halve_lanes) (x, out, n, 4);
}

VEC_INLINE void
NAME (even_pixel) (const REAL * x, REAL * to, gsize lanes)
{
  for (gsize c = 0; c < lanes; c++)
    to[c] = (x[c] + x[c + 2 * lanes]) * (REAL) 0.125 + x[c + lanes] * (REAL) 0.75;
}

VEC_INLINE void
NAME (odd_pixel) (const REAL * x, REAL * to, gsize lanes)
{
  for (gsize c = 0; c < lanes; c++)
    to[c] = (x[c + lanes] + x[c + 2 * lanes]) * (REAL) 0.5;
}

VEC_INLINE void
NAME (twice_lanes) (const REAL * restrict x, REAL * restrict to, gsize n, gboolean odd, gsize lanes)
{
  gsize i = 0;

  if (odd && n > 0) {
    NAME (odd_pixel) (x, to, lanes);
    x += lanes;
    i++;
  }
  for (; i + 1 < n; i += 2, x += lanes) {
    NAME (even_pixel) (x, to + i * lanes, lanes);
    NAME (odd_pixel) (x, to + (i + 1) * lanes, lanes);
  }
  if (i < n)
    NAME (even_pixel) (x, to + i * lanes, lanes);
}

static void
NAME (twice) (const void *x, void *out, gsize n, gboolean odd, guint lanes)
{
  if (lanes == 1)
    NAME (twice_lanes) (x, out, n, odd, 1);
  else if (lanes == 2)
    NAME (twice_lanes) (x, out, n, odd, 2);
  else if (lanes == 3)
    NAME (twice_lanes) (x, out, n, odd, 3);
  else
    NAME (twice_lanes) (x, out, n, odd, 4);
}

static void
NAME (enlarge) (const CpuJoin * join, gdouble amount, const void *v, const void *mean, void *sum, gsize n)
{
  REAL factor = (REAL) amount;

  for (gsize at = 0; at < n; at += join->period) {
    const REAL *restrict from = (const REAL *) v + at, *restrict coarse = (const REAL *) mean + at;
    const REAL *restrict limit = join->threshold;
    REAL *restrict to = (REAL *) sum + at;
    gsize m = MIN (join->period, n - at);

    for (gsize i = 0; i < m; i++) {
      REAL d = from[i] - coarse[i];
      REAL inside = d < limit[i] ? d : limit[i];

      inside = inside > -limit[i] ? inside : -limit[i];
      to[i] += factor * (d - inside);
    }
  }
}

/* ---- a coarse grid ---- */

static void
NAME (share) (const void *x, const void *w, guint row, guint step, void *const sums[3], gsize n)
{
  const REAL *from = x, *weights = (const REAL *) w + row;
  REAL w0 = weights[2 * step], w1 = weights[step], w2 = weights[0];
  REAL *restrict s0 = sums[0], *restrict s1 = sums[1], *restrict s2 = sums[2];

  for (gsize i = 0; i < n; i++) {
    REAL v = from[i];

    s0[i] += w0 * v;
    s1[i] += w1 * v;
    s2[i] += w2 * v;
  }
}

VEC_INLINE void
NAME (gather_lanes) (const REAL * restrict x, REAL * restrict to, gsize n, gsize lanes, guint step, const REAL * w)
{
  for (gsize i = 0; i < n; i++, x += step * lanes, to += lanes) {
    REAL sum[4] = { 0 };

    for (guint k = 0; k < 3 * step; k++)
      for (gsize c = 0; c < lanes; c++)
        sum[c] += w[k] * x[k * lanes + c];
    for (gsize c = 0; c < lanes; c++)
      to[c] = sum[c];
  }
}

VEC_INLINE void
NAME (spread_lanes) (const REAL * restrict x, REAL * restrict to, gsize n, gsize lanes, guint step, const REAL * w)
{
  for (gsize i = 0; i < n; i++, x += lanes)
    for (guint p = 0; p < step; p++, to += lanes)
      for (gsize c = 0; c < lanes; c++)
        to[c] = w[p] * x[c] + w[step + p] * x[lanes + c] + w[2 * step + p] * x[2 * lanes + c];
}

/* With both numbers known the loops over them are unrolled. */
#define WITH_STEP(what, lanes) \
  if (step == 2) \
    NAME (what) (x, out, n, lanes, 2, w); \
  else if (step == 4) \
    NAME (what) (x, out, n, lanes, 4, w); \
  else if (step == 8) \
    NAME (what) (x, out, n, lanes, 8, w); \
  else \
    NAME (what) (x, out, n, lanes, 16, w)
#define WITH_LANES(what) \
  if (lanes == 1) { \
    WITH_STEP (what, 1); \
  } else if (lanes == 2) { \
    WITH_STEP (what, 2); \
  } else if (lanes == 3) { \
    WITH_STEP (what, 3); \
  } else { \
    WITH_STEP (what, 4); \
  }

static void
NAME (gather) (const void *x, void *out, gsize n, guint lanes, guint step, const void *w)
{
  WITH_LANES (gather_lanes)
}

static void
NAME (spread) (const void *x, void *out, gsize n, guint lanes, guint step, const void *w)
{
  WITH_LANES (spread_lanes)
}

#undef WITH_STEP
#undef WITH_LANES
