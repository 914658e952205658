/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The plain stencil: a thread makes a pixel and reads every tap from memory. Slow and simple; tests compare the other
 * routes with it, benchmarks show what they gain. Takes everything that the fused routes take. */
#include "pixel.cuh"

template <int N>
__device__ inline void
add_tap (const ConvolveLaunch &l, const ConvolveLaunchPicture &p, int x, int y, float w, float (&sum)[N])
{
  int row = border_index (l.border, y, p.height), column = border_index (l.border, x, p.width);
  int q[N];
  float v[N];

  if (row >= 0 && column >= 0)
    load_pixel<CONVOLVE_SAMPLES_ANY, N> (p, reinterpret_cast<const uint8_t *> (p.src) + (ptrdiff_t)row * p.src_stride,
                                         column, q);
#pragma unroll
  for (int c = 0; c < N; c++)
    v[c] = row >= 0 && column >= 0 ? (float)q[c] : p.component[c].edge;
  weigh (p, v);
#pragma unroll
  for (int c = 0; c < N; c++)
    sum[c] = fmaf (w, v[c], sum[c]);
}

template <int N>
__device__ void
make_pixel (const ConvolveLaunch &l, const ConvolveLaunchPicture &p, int x, int y)
{
  const ConvolveLaunchSet &set = l.set[p.weights];
  float sum[2][N] = {};

  for (uint32_t t = 0; t < set.n_terms; t++) {
    const ConvolveLaunchTerm &k = set.term[t];
    const float *w = (l.weights ? reinterpret_cast<const float *> (l.weights) : l.weight) + k.first;

    for (int j = 0; j < k.ny; j++) {
      float part[N] = {};

      for (int i = 0; i < k.nx; i++)
        add_tap<N> (l, p, x + i - k.ax, y + j - k.ay, l.separable ? w[i] : w[(size_t)j * k.nx + i], part);
#pragma unroll
      for (int c = 0; c < N; c++)
        sum[t][c] = l.separable ? fmaf (w[k.nx + j], part[c], sum[t][c]) : sum[t][c] + part[c];
    }
  }
  if (set.n_terms == 2)
    finish_pixel<CONVOLVE_SAMPLES_ANY, N, 2> (l, p, needs_input (l, p), x, y, sum[0], sum[1]);
  else
    finish_pixel<CONVOLVE_SAMPLES_ANY, N, 1> (l, p, needs_input (l, p), x, y, sum[0], sum[0]);
}

template <int N>
__device__ inline void
make_picture (const ConvolveLaunch &l, const ConvolveLaunchPicture &p)
{
  each_pixel (p.width, p.row_begin, p.row_end, [&] (int x, int y) { make_pixel<N> (l, p, x, y); });
}

#define KERNEL(name, source, route, samples, terms, taps)               \
  extern "C" __global__ void __launch_bounds__ (CONVOLVE_BLOCK_THREADS) \
      name (const __grid_constant__ ConvolveLaunch launch)              \
  {                                                                     \
    for (uint32_t i = 0; i < launch.n_pictures; i++) {                  \
      const ConvolveLaunchPicture &p = launch.picture[i];               \
                                                                        \
      if (p.n_components == 1)                                          \
        make_picture<1> (launch, p);                                    \
      else if (p.n_components == 2)                                     \
        make_picture<2> (launch, p);                                    \
      else if (p.n_components == 3)                                     \
        make_picture<3> (launch, p);                                    \
      else                                                              \
        make_picture<4> (launch, p);                                    \
    }                                                                   \
  }
CONVOLVE_VARIANTS_STENCIL (KERNEL)
