/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Lines of samples in shared memory, and the walk along them. A line holds a strip's pixels and their halo as floats,
 * with the border already applied, so that the arithmetic never asks where it is. */
#pragma once

#include "pixel.cuh"

template <int N> struct Lane {
  static constexpr int pixels = CONVOLVE_LANE_PIXELS (N); /* of a lane */
  static constexpr int samples = pixels * N;
  static constexpr int strip = CONVOLVE_WARP_PIXELS (N); /* pixels of a warp */
};

template <int N>
__device__ inline void
store_line (float *line, int i, const float (&v)[N])
{
  if constexpr (N == 4) {
    reinterpret_cast<float4 *> (line)[i] = make_float4 (v[0], v[1], v[2], v[3]);
  } else if constexpr (N == 2) {
    reinterpret_cast<float2 *> (line)[i] = make_float2 (v[0], v[1]);
  } else {
#pragma unroll
    for (int c = 0; c < N; c++)
      line[i * N + c] = v[c];
  }
}

/* A warp loads pixels x .. x + count - 1 of rows y, y + step, ... (n of them, at most LINES) into lines that lie
 * pitch floats apart: neighbouring lanes take neighbouring pixels, and a lane asks for its pixel of every line before
 * it uses the first, so that LINES loads are on their way at a time. */
template <int S, int N, int LINES>
__device__ inline void
load_lines (const ConvolveLaunch &l, const ConvolveLaunchPicture &p, int lane, int x, int y, int step, int n,
            int count, float *lines, int pitch)
{
  const uint8_t *src[LINES];
  bool inside = x >= 0 && x + count <= p.width;

#pragma unroll
  for (int k = 0; k < LINES; k++) {
    int row = k < n ? border_index (l.border, y + k * step, p.height) : -1;

    src[k] = row < 0 ? nullptr : reinterpret_cast<const uint8_t *> (p.src) + (ptrdiff_t)row * p.src_stride;
  }
  for (int i = lane; i < count; i += 32) {
    int at = inside ? x + i : border_index (l.border, x + i, p.width);
    int q[LINES][N] = {};

#pragma unroll
    for (int k = 0; k < LINES; k++)
      if (at >= 0 && src[k])
        load_pixel<S, N> (p, src[k], at, q[k]);
#pragma unroll
    for (int k = 0; k < LINES; k++) {
      float v[N];

      if (k >= n)
        break;
#pragma unroll
      for (int c = 0; c < N; c++)
        v[c] = at >= 0 && src[k] ? (float)q[k][c] : p.component[c].edge;
      weigh (p, v);
      store_line (lines + k * pitch, i, v);
    }
  }
}

/* Calls f (k, q, v) for k = 0 .. taps - 1 and lines q, pitch floats apart, v being the lane's samples of line q, k
 * pixels to the right. TAPS > 0 unrolls. Every load is a 16-byte vector at lane distance 16 bytes (three components:
 * words at distance 3), free of bank conflicts; values that the next tap shares stay in registers. */
template <int N, int TAPS, int LINES, typename F>
__device__ inline void
walk_lines (const float *line, int pitch, int lane, int runtime_taps, F f)
{
  const int taps = TAPS ? TAPS : runtime_taps;

  if constexpr (N == 3) {
#pragma unroll(TAPS ? TAPS : 1)
    for (int k = 0; k < taps; k++)
#pragma unroll
      for (int q = 0; q < LINES; q++)
        f (k, q, line + q * pitch + (lane + k) * 3);
  } else {
    constexpr int step = 4 / N;
    const float4 *l = reinterpret_cast<const float4 *> (line) + lane;
    float4 a[LINES];

#pragma unroll
    for (int q = 0; q < LINES; q++)
      a[q] = l[q * pitch / 4];
#pragma unroll(TAPS ? TAPS : 1)
    for (int k = 0; k < taps; k += step) {
#pragma unroll
      for (int q = 0; q < LINES; q++) {
        float4 b = l[q * pitch / 4 + k / step + 1];
        const float window[8] = {a[q].x, a[q].y, a[q].z, a[q].w, b.x, b.y, b.z, b.w};

#pragma unroll
        for (int j = 0; j < step; j++)
          if (k + j < taps)
            f (k + j, q, window + j * N);
        a[q] = b;
      }
    }
  }
}

/* The tail of the routes whose blocks own strips: TASK (components, samples, terms, taps) is a type whose run does
 * one task; blocks beyond the grid's are done in turn. */
template <template <int, int, int, int> class TASK, int S, int T, int TAPS>
__device__ inline void
run_tasks (const ConvolveLaunch &l)
{
  extern __shared__ float4 shared[];

  for (uint32_t b = blockIdx.x; b < l.n_blocks; b += gridDim.x)
    with_components (l, b, [&] (auto n, const ConvolveLaunchPicture &p, uint32_t task) {
      TASK<decltype (n)::value, S, T, TAPS>::run (l, p, task, reinterpret_cast<float *> (shared));
    });
}

#define CONVOLVE_TASK_KERNEL(name, source, route, samples, terms, taps)    \
  extern "C" __global__ void __launch_bounds__ (CONVOLVE_BLOCK_THREADS, 2) \
      name (const __grid_constant__ ConvolveLaunch launch)                 \
  {                                                                        \
    run_tasks<Task, CONVOLVE_SAMPLES_##samples, terms, taps> (launch);     \
  }
