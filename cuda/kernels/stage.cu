/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The staged route: one step at a time over float pictures in scratch memory. It trades memory traffic for
 * generality: any number of taps, iterations, colours weighted by alpha, and pairs of floats where one is not enough.
 * What each step computes is said in params.h. A thread makes a pixel with all its values. */
#include "pixel.cuh"
#include "wide.cuh"

#define MAX_VALUES 5

/* The stage's numbers in its arithmetic: converted once a block, since that takes long without double precision. */
template <typename A> struct Numbers {
  A gain[4], offset[4], threshold[4], edge[5], amount, sum;
};

template <typename A>
__device__ inline Numbers<A> &
numbers ()
{
  __shared__ Numbers<A> all;

  return all;
}

template <typename A>
__device__ inline void
convert_numbers (const ConvolveStage &s)
{
  constexpr int n = sizeof (Numbers<A>) / sizeof (A);

  static_assert (offsetof (ConvolveStage, sum) == offsetof (ConvolveStage, gain) + (n - 1) * sizeof (double),
                 "in order");
  if (threadIdx.x < n)
    reinterpret_cast<A *> (&numbers<A> ())[threadIdx.x] = number<A> ((&s.gain[0])[threadIdx.x]);
  __syncthreads ();
}

/* A float picture: K values a pixel. */
template <typename A>
__device__ inline A
value_at (uint64_t picture, const ConvolveStage &s, int values, int x, int y, int c)
{
  return A::load (reinterpret_cast<const float *> (picture), ((size_t)y * s.picture.width + x) * values + c);
}

template <typename A>
__device__ inline void
put (uint64_t picture, const ConvolveStage &s, int values, int x, int y, int c, A v)
{
  v.store (reinterpret_cast<float *> (picture), ((size_t)y * s.picture.width + x) * values + c);
}

__device__ inline int
values_of (const ConvolveStage &s)
{
  return s.picture.n_components + (s.weighted ? 1 : 0);
}

/* Does value c count as colour x alpha? */
__device__ inline bool
multiplied (const ConvolveStage &s, int c)
{
  return s.weighted && c < s.picture.n_components && !(s.straight >> c & 1);
}

__device__ inline uint32_t
alpha_sample (const ConvolveStage &s, uint64_t alpha, int x, int y)
{
  const uint8_t *at = reinterpret_cast<const uint8_t *> (alpha) + (ptrdiff_t)y * s.alpha_stride +
                      (size_t)x * s.alpha_step + s.alpha_at;
  uint32_t w;

  if (s.alpha_store == CONVOLVE_STORE_U8)
    w = __ldg (at);
  else if (s.alpha_store == CONVOLVE_STORE_U16)
    w = __ldg (at + s.alpha_swap) | __ldg (at + 1 - s.alpha_swap) << 8;
  else
    w = __ldg (at) | __ldg (at + 1) << 8 | __ldg (at + 2) << 16 | (uint32_t)__ldg (at + 3) << 24;
  return w >> s.alpha_shift & ((1u << s.alpha_depth) - 1);
}

/* The mean of the alpha samples that pixel (x, y) covers; alpha is their row 0. */
template <typename A>
__device__ inline A
alpha_mean (const ConvolveStage &s, uint64_t alpha, int x, int y)
{
  int x0 = x << s.alpha_w_sub, x1 = min ((x + 1) << s.alpha_w_sub, s.alpha_width);
  int y0 = y << s.alpha_h_sub, y1 = min ((y + 1) << s.alpha_h_sub, s.alpha_height);
  uint32_t sum = 0;

  for (int j = y0; j < y1; j++)
    for (int i = x0; i < x1; i++)
      sum += alpha_sample (s, alpha, i, j);
  return divide (A::of ((float)sum), A::of ((float)max ((x1 - x0) * (y1 - y0), 1)));
}

/* The same of a float picture of one value a pixel. */
template <typename A>
__device__ inline A
float_alpha_mean (const ConvolveStage &s, int x, int y)
{
  int x0 = x << s.alpha_w_sub, x1 = min ((x + 1) << s.alpha_w_sub, s.alpha_width);
  int y0 = y << s.alpha_h_sub, y1 = min ((y + 1) << s.alpha_h_sub, s.alpha_height);
  A sum = A::of (0.f);

  for (int j = y0; j < y1; j++)
    for (int i = x0; i < x1; i++)
      sum = sum + A::load (reinterpret_cast<const float *> (s.alpha), (size_t)j * s.alpha_width + i);
  return divide (sum, A::of ((float)max ((x1 - x0) * (y1 - y0), 1)));
}

template <typename A, int N>
__device__ inline void
load_stage (const ConvolveStage &s, int x, int y)
{
  const ConvolveLaunchPicture &p = s.picture;
  int q[N], values = values_of (s);

  load_pixel<CONVOLVE_SAMPLES_ANY, N> (p, reinterpret_cast<const uint8_t *> (p.src) + (ptrdiff_t)y * p.src_stride, x,
                                       q);
#pragma unroll
  for (int c = 0; c < N; c++)
    put (s.out, s, values, x, y, c, A::of ((float)q[c]));
  if (s.weighted)
    put (s.out, s, values, x, y, N, alpha_mean<A> (s, s.alpha, x, y));
}

/* Adds frame f to acc. */
template <typename A, int N>
__device__ inline void
add_frame (const ConvolveStage &s, int f, int x, int y, A (&acc)[N + 1])
{
  const ConvolveLaunchPicture &p = s.picture;
  A w = A::load (reinterpret_cast<const float *> (s.weights), f), alpha = A::of (1.f);
  int q[N];

  load_pixel<CONVOLVE_SAMPLES_ANY, N> (
      p, reinterpret_cast<const uint8_t *> (s.frame[f]) + (ptrdiff_t)y * p.src_stride, x, q);
  if (s.weighted)
    alpha = alpha_mean<A> (s, s.frame_alpha[f], x, y);
#pragma unroll
  for (int c = 0; c < N; c++) {
    A v = A::of ((float)q[c]);

    if (p.component[c].action == CONVOLVE_DO_COPY)
      acc[c] = f == s.own ? v : acc[c];
    else
      acc[c] = multiply_add (w, multiplied (s, c) ? v * alpha : v, acc[c]);
  }
  acc[N] = multiply_add (w, alpha, acc[N]);
}

template <typename A, int N>
__device__ inline void
fold_stage (const ConvolveStage &s, int x, int y)
{
  int values = values_of (s);
  A acc[N + 1];

#pragma unroll
  for (int c = 0; c <= N; c++)
    acc[c] = s.add && c < values ? value_at<A> (s.out, s, values, x, y, c) : A::of (0.f);
  for (int f = 0; f < s.nx; f++)
    add_frame<A, N> (s, f, x, y, acc);
#pragma unroll
  for (int c = 0; c <= N; c++)
    if (c < values)
      put (s.out, s, values, x, y, c, acc[c]);
}

/* Adds w x the pixel at (x, y), which may be outside, to acc. */
template <typename A>
__device__ inline void
add_pixel (const ConvolveStage &s, int values, int x, int y, bool multiply, A factor, A w, A (&acc)[MAX_VALUES])
{
  int row = border_index (s.border, y, s.picture.height), column = border_index (s.border, x, s.picture.width);
  bool inside = row >= 0 && column >= 0;
  A alpha = A::of (1.f);

  if (s.weighted)
    alpha = inside ? value_at<A> (s.in, s, values, column, row, values - 1) : numbers<A> ().edge[values - 1];
#pragma unroll
  for (int c = 0; c < MAX_VALUES; c++) {
    if (c >= values)
      break;

    A v = inside ? value_at<A> (s.in, s, values, column, row, c) : numbers<A> ().edge[c] * factor;

    if (multiplied (s, c) && (multiply || !inside))
      v = v * alpha;
    acc[c] = multiply_add (w, v, acc[c]);
  }
}

template <typename A>
__device__ inline void
put_all (const ConvolveStage &s, int values, int x, int y, const A (&acc)[MAX_VALUES])
{
#pragma unroll
  for (int c = 0; c < MAX_VALUES; c++)
    if (c < values)
      put (s.out, s, values, x, y, c, acc[c]);
}

template <typename A>
__device__ inline void
clear (A (&acc)[MAX_VALUES])
{
#pragma unroll
  for (int c = 0; c < MAX_VALUES; c++)
    acc[c] = A::of (0.f);
}

/* Value c of a picture of width x height pixels at (x, y), which may be outside. */
template <typename A>
__device__ inline A
around (uint64_t picture, const ConvolveStage &s, int width, int height, int x, int y, int c, A outside)
{
  int row = border_index (s.border, y, height), column = border_index (s.border, x, width);

  if (row < 0 || column < 0)
    return outside;
  return A::load (reinterpret_cast<const float *> (picture),
                  ((size_t)row * width + column) * s.picture.n_components + c);
}

template <typename A>
__device__ inline A
flow (A d, A inverse)
{
  A q = d * inverse;

  return divide (d, A::of (1.f) + q * q);
}

/* The sums of opposite neighbours come first: between two equal steps they are nothing, and stay so. */
template <typename A>
__device__ inline void
diffuse_stage (const ConvolveStage &s, int x, int y)
{
  int width = s.picture.width, height = s.picture.height;

  for (int c = 0; c < s.picture.n_components; c++) {
    A edge = numbers<A> ().edge[c], inverse = numbers<A> ().threshold[c];
    A v = value_at<A> (s.in, s, s.picture.n_components, x, y, c);
    A across = flow (around (s.in, s, width, height, x - 1, y, c, edge) - v, inverse) +
               flow (around (s.in, s, width, height, x + 1, y, c, edge) - v, inverse);
    A down = flow (around (s.in, s, width, height, x, y - 1, c, edge) - v, inverse) +
             flow (around (s.in, s, width, height, x, y + 1, c, edge) - v, inverse);

    put (s.out, s, s.picture.n_components, x, y, c, multiply_add (numbers<A> ().amount, across + down, v));
  }
}

/* Sixteenths and eighths are exact, so that a flat area stays what it is. */
template <typename A>
__device__ inline void
reduce_stage (const ConvolveStage &s, int x, int y)
{
  const float weight[5] = {1 / 16.f, 4 / 16.f, 6 / 16.f, 4 / 16.f, 1 / 16.f};

  for (int c = 0; c < s.picture.n_components; c++) {
    A edge = numbers<A> ().edge[c], sum = A::of (0.f);

#pragma unroll
    for (int j = 0; j < 5; j++) {
      A row = A::of (0.f);

#pragma unroll
      for (int i = 0; i < 5; i++)
        row = multiply_add (A::of (weight[i]),
                            around (s.in, s, s.other_width, s.other_height, 2 * x + i - 2, 2 * y + j - 2, c, edge),
                            row);
      sum = multiply_add (A::of (weight[j]), row, sum);
    }
    put (s.out, s, s.picture.n_components, x, y, c, sum);
  }
}

/* E of a coarser picture. */
template <typename A>
__device__ inline A
expanded (uint64_t picture, const ConvolveStage &s, int x, int y, int c, A outside)
{
  const float even[3] = {1 / 8.f, 6 / 8.f, 1 / 8.f}, odd[3] = {0.f, 1 / 2.f, 1 / 2.f};
  A sum = A::of (0.f);

  for (int j = y & 1; j < 3; j++) {
    A row = A::of (0.f);

    for (int i = x & 1; i < 3; i++)
      row = multiply_add (
          A::of (x & 1 ? odd[i] : even[i]),
          around (picture, s, s.other_width, s.other_height, x / 2 + i - 1, y / 2 + j - 1, c, outside), row);
    sum = multiply_add (A::of (y & 1 ? odd[j] : even[j]), row, sum);
  }
  return sum;
}

template <typename A>
__device__ inline void
correct_stage (const ConvolveStage &s, int x, int y)
{
  A zero = A::of (0.f);

  for (int c = 0; c < s.picture.n_components; c++) {
    A d = value_at<A> (s.in, s, s.picture.n_components, x, y, c) -
          expanded (s.before, s, x, y, c, numbers<A> ().edge[c]);
    A limit = numbers<A> ().threshold[c], soft = zero;
    A over = d - limit, under = d + limit;

    if (over.top () > 0.f)
      soft = over;
    else if (under.top () < 0.f)
      soft = under;
    soft = numbers<A> ().amount * soft;
    if (s.second)
      soft = soft + expanded (s.second, s, x, y, c, zero);
    put (s.out, s, s.picture.n_components, x, y, c, soft);
  }
}

template <typename A>
__device__ inline void
rows_stage (const ConvolveStage &s, int x, int y)
{
  const float *w = reinterpret_cast<const float *> (s.weights);
  int values = values_of (s);
  A acc[MAX_VALUES];

  clear (acc);
  for (int i = 0; i < s.nx; i++)
    add_pixel (s, values, x + i - s.ax, y, true, A::of (1.f), A::load (w, i), acc);
  put_all (s, values, x, y, acc);
}

template <typename A>
__device__ inline void
columns_stage (const ConvolveStage &s, int x, int y)
{
  const float *w = reinterpret_cast<const float *> (s.weights);
  int values = values_of (s);
  A acc[MAX_VALUES], sum = numbers<A> ().sum;

  clear (acc);
  for (int j = 0; j < s.ny; j++)
    add_pixel (s, values, x, y + j - s.ay, false, sum, A::load (w, j), acc);
  if (s.second) {
#pragma unroll
    for (int c = 0; c < MAX_VALUES; c++)
      if (c < values)
        acc[c] = acc[c] + value_at<A> (s.second, s, values, x, y, c);
  }
  put_all (s, values, x, y, acc);
}

/* Each row of the matrix sums apart, which keeps the rounding of thousands of taps small. */
template <typename A>
__device__ inline void
matrix_stage (const ConvolveStage &s, int x, int y)
{
  const float *w = reinterpret_cast<const float *> (s.weights);
  int values = values_of (s);
  A acc[MAX_VALUES], part[MAX_VALUES];

  clear (acc);
  for (int j = 0; j < s.ny; j++) {
    clear (part);
    for (int i = 0; i < s.nx; i++)
      add_pixel (s, values, x + i - s.ax, y + j - s.ay, true, A::of (1.f), A::load (w, (size_t)j * s.nx + i), part);
#pragma unroll
    for (int c = 0; c < MAX_VALUES; c++)
      acc[c] = acc[c] + part[c];
  }
#pragma unroll
  for (int c = 0; c < MAX_VALUES; c++)
    if (s.add && c < values)
      acc[c] = acc[c] + value_at<A> (s.out, s, values, x, y, c);
  put_all (s, values, x, y, acc);
}

/* The combined value of component c; keep says that it is to stay as it was. */
template <typename A>
__device__ inline A
combined (const ConvolveStage &s, int values, int x, int y, int c, A divisor, bool &keep)
{
  A t = value_at<A> (s.in, s, values, x, y, c);

  if (s.combine == CONVOLVE_DO_UNSHARP) {
    A before = value_at<A> (s.before, s, values, x, y, c), d = before - t, limit = numbers<A> ().threshold[c];
    A over = (d.top () < 0.f ? A::of (0.f) - d : d) - limit;

    return over.top () > 0.f ? multiply_add (numbers<A> ().amount, d, before) : before;
  }
  if (s.combine == CONVOLVE_DO_DETAIL)
    return value_at<A> (s.before, s, values, x, y, c) + t;
  if (s.second) {
    A u = value_at<A> (s.second, s, values, x, y, c);

    t = s.combine == CONVOLVE_DO_MAGNITUDE ? root (t * t + u * u) : t + u;
  }
  if (multiplied (s, c)) {
    keep = !(divisor.top () > 0.f);
    if (!keep)
      t = divide (numbers<A> ().sum * t, divisor);
  }
  return t;
}

template <typename A, int N>
__device__ inline void
finish_stage (const ConvolveStage &s, int x, int y)
{
  const ConvolveLaunchPicture &p = s.picture;
  int values = values_of (s), q[N];
  A divisor = A::of (1.f);

  if (s.weighted) {
    divisor = value_at<A> (s.in, s, values, x, y, N);
    if (s.second)
      divisor = divisor + value_at<A> (s.second, s, values, x, y, N);
  }
#pragma unroll
  for (int c = 0; c < N; c++) {
    const ConvolveLaunchComponent &k = p.component[c];
    bool keep = k.action == CONVOLVE_DO_COPY;
    A r = A::of (k.fill);

    if (k.action == CONVOLVE_DO_FILTER)
      r = multiply_add (numbers<A> ().gain[c], combined (s, values, x, y, c, divisor, keep), numbers<A> ().offset[c]);
    if (keep)
      r = value_at<A> (s.before, s, values, x, y, c);
    q[c] = k.action == CONVOLVE_DO_COPY   ? round_clamped (r, 0.f, (float)((1u << k.depth) - 1))
           : k.action == CONVOLVE_DO_FILL ? (int)k.fill
                                          : round_clamped (r, k.lo, k.hi);
    if (!s.last)
      put (s.out, s, values, x, y, c, r);
  }
  if (s.last)
    store_pixel<CONVOLVE_SAMPLES_ANY, N> (p, reinterpret_cast<uint8_t *> (p.dst) + (ptrdiff_t)y * p.dst_stride, x, q);
  else if (s.weighted)
    put (s.out, s, values, x, y, N,
         s.alpha_filtered == 2 ? float_alpha_mean<A> (s, x, y)
         : s.alpha_filtered    ? divisor
                               : value_at<A> (s.before, s, values, x, y, N));
}

#define BY_COMPONENTS(STAGE)        \
  switch (s.picture.n_components) { \
    case 1:                         \
      STAGE<A, 1> (s, x, y);        \
      break;                        \
    case 2:                         \
      STAGE<A, 2> (s, x, y);        \
      break;                        \
    case 3:                         \
      STAGE<A, 3> (s, x, y);        \
      break;                        \
    default:                        \
      STAGE<A, 4> (s, x, y);        \
  }

template <int ROUTE, typename A>
__device__ inline void
run (const ConvolveStage &s)
{
  convert_numbers<A> (s);
  each_pixel (s.picture.width, s.picture.row_begin, s.picture.row_end, [&] (int x, int y) {
    if constexpr (ROUTE == CONVOLVE_ROUTE_STAGE_LOAD) {
      BY_COMPONENTS (load_stage)
    } else if constexpr (ROUTE == CONVOLVE_ROUTE_STAGE_ROWS) {
      rows_stage<A> (s, x, y);
    } else if constexpr (ROUTE == CONVOLVE_ROUTE_STAGE_COLUMNS) {
      columns_stage<A> (s, x, y);
    } else if constexpr (ROUTE == CONVOLVE_ROUTE_STAGE_MATRIX) {
      matrix_stage<A> (s, x, y);
    } else if constexpr (ROUTE == CONVOLVE_ROUTE_STAGE_DIFFUSE) {
      diffuse_stage<A> (s, x, y);
    } else if constexpr (ROUTE == CONVOLVE_ROUTE_STAGE_REDUCE) {
      reduce_stage<A> (s, x, y);
    } else if constexpr (ROUTE == CONVOLVE_ROUTE_STAGE_CORRECT) {
      correct_stage<A> (s, x, y);
    } else if constexpr (ROUTE == CONVOLVE_ROUTE_STAGE_FOLD) {
      BY_COMPONENTS (fold_stage)
    } else {
      BY_COMPONENTS (finish_stage)
    }
  });
}

template <int SAMPLES> struct Arithmetic {
  using type = Single;
};
template <> struct Arithmetic<CONVOLVE_SAMPLES_WIDE> {
  using type = Pair;
};

#define KERNEL(name, source, route, samples, terms, taps)                              \
  extern "C" __global__ void __launch_bounds__ (CONVOLVE_BLOCK_THREADS, 2)             \
      name (const __grid_constant__ ConvolveStage stage)                               \
  {                                                                                    \
    run<CONVOLVE_ROUTE_##route, Arithmetic<CONVOLVE_SAMPLES_##samples>::type> (stage); \
  }
CONVOLVE_VARIANTS_STAGE (KERNEL)
