/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What PTX has and CUDA C++ has no word for: matrix products of half floats, copies from global to shared memory that
 * no register passes through, the barriers that such copies report to. All of it needs compute capability 8.0 or
 * more; what needs 9.0 says so. */
#pragma once

#include <cuda_fp16.h>
#include <stdint.h>

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
#define CONVOLVE_HAS_TENSOR 1
#else
#define CONVOLVE_HAS_TENSOR 0
#endif
/* Copies of whole rows by one instruction. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define CONVOLVE_HAS_BULK 1
#else
#define CONVOLVE_HAS_BULK 0
#endif

#if CONVOLVE_HAS_TENSOR

/* Opaque, so that what follows from it for one kind of picture is not kept in registers while another is at work. */
__device__ inline int
lane_index ()
{
  int lane;

  asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
  return lane;
}

/* True in one lane of the warp. The compiler knows what it means: unlike lane == 0 it needs no loop over lanes around
 * instructions that only one lane can be in. */
__device__ inline bool
elect_lane ()
{
#if CONVOLVE_HAS_BULK
  uint32_t elected;

  asm volatile("{\n"
               ".reg .pred elected;\n"
               "elect.sync _|elected, 0xffffffff;\n"
               "selp.b32 %0, 1, 0, elected;\n"
               "}"
               : "=r"(elected));
  return elected;
#else
  return threadIdx.x % 32 == 0;
#endif
}

/* ---- products ---- */

/* The four floats of a lane in a 16 x 8 result: rows g and g + 8, columns 2 t and 2 t + 1 (g = lane / 4,
 * t = lane % 4). */
struct Quad {
  float v[4];
};

/* c + a x b: a is 16 x 16, b is 16 x 8. A lane has of a: (g, 2t..), (g + 8, 2t..), (g, 2t + 8..), (g + 8, 2t + 8..),
 * and of b: (2t.., g), (2t + 8.., g), each a pair. */
__device__ inline Quad
product (const uint32_t (&a)[4], uint32_t b0, uint32_t b1, const Quad &c)
{
  Quad d;

  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%11,%12,%13};"
      : "=f"(d.v[0]), "=f"(d.v[1]), "=f"(d.v[2]), "=f"(d.v[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1), "f"(c.v[0]), "f"(c.v[1]), "f"(c.v[2]),
        "f"(c.v[3]));
  return d;
}

/* The same, half as deep: a[0], a[1] and b0 alone. */
__device__ inline Quad
product8 (const uint32_t (&a)[4], uint32_t b0, const Quad &c)
{
  Quad d;

  asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%7,%8,%9,%10};"
      : "=f"(d.v[0]), "=f"(d.v[1]), "=f"(d.v[2]), "=f"(d.v[3])
      : "r"(a[0]), "r"(a[1]), "r"(b0), "f"(c.v[0]), "f"(c.v[1]), "f"(c.v[2]), "f"(c.v[3]));
  return d;
}

__device__ inline uint32_t
half_pair (float lo, float hi)
{
  uint32_t d;

  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(d) : "f"(hi), "f"(lo));
  return d;
}

/* Four floats to four bytes: to nearest, ties to even, limited to 0 .. 255. In these words the compiler makes one
 * instruction of two samples. */
__device__ inline uint32_t
byte_quad (float a, float b, float c, float d)
{
  uint32_t bytes;

  asm("{\n"
      ".reg .s32 i, j, k, l;\n"
      ".reg .b32 upper;\n"
      "cvt.rni.s32.f32 i, %1;\n"
      "cvt.rni.s32.f32 j, %2;\n"
      "cvt.rni.s32.f32 k, %3;\n"
      "cvt.rni.s32.f32 l, %4;\n"
      "cvt.pack.sat.u8.s32.b32 upper, l, k, 0;\n"
      "cvt.pack.sat.u8.s32.b32 %0, j, i, upper;\n"
      "}"
      : "=r"(bytes)
      : "f"(a), "f"(b), "f"(c), "f"(d));
  return bytes;
}

/* ---- shared memory ---- */

__device__ inline uint32_t
shared_address (const void *p)
{
  return (uint32_t)__cvta_generic_to_shared (p);
}

/* Words from shared memory; address is a multiple of their bytes (three: of 4). */
template <int WORDS>
__device__ inline void
load_words (uint32_t address, uint32_t (&w)[WORDS])
{
  if constexpr (WORDS == 4) {
    asm volatile("ld.shared.v4.b32 {%0,%1,%2,%3}, [%4];"
                 : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3])
                 : "r"(address)
                 : "memory");
  } else if constexpr (WORDS == 2) {
    asm volatile("ld.shared.v2.b32 {%0,%1}, [%2];" : "=r"(w[0]), "=r"(w[1]) : "r"(address) : "memory");
  } else {
#pragma unroll
    for (int i = 0; i < WORDS; i++)
      asm volatile("ld.shared.b32 %0, [%1];" : "=r"(w[i]) : "r"(address + 4 * i) : "memory");
  }
}

/* A pixel of N bytes; two, four and eight are aligned to their number. */
template <int N>
__device__ inline void
move_pixel (uint32_t to, uint32_t from)
{
  uint32_t v[N];

  if constexpr (N == 8) {
    asm volatile("ld.shared.v2.b32 {%0,%1}, [%2];" : "=r"(v[0]), "=r"(v[1]) : "r"(from) : "memory");
    asm volatile("st.shared.v2.b32 [%0], {%1,%2};" ::"r"(to), "r"(v[0]), "r"(v[1]) : "memory");
  } else if constexpr (N == 4) {
    asm volatile("ld.shared.b32 %0, [%1];" : "=r"(v[0]) : "r"(from) : "memory");
    asm volatile("st.shared.b32 [%0], %1;" ::"r"(to), "r"(v[0]) : "memory");
  } else if constexpr (N == 2) {
    asm volatile("ld.shared.u16 %0, [%1];" : "=r"(v[0]) : "r"(from) : "memory");
    asm volatile("st.shared.u16 [%0], %1;" ::"r"(to), "r"(v[0]) : "memory");
  } else {
#pragma unroll
    for (int c = 0; c < N; c++)
      asm volatile("ld.shared.u8 %0, [%1];" : "=r"(v[c]) : "r"(from + c) : "memory");
#pragma unroll
    for (int c = 0; c < N; c++)
      asm volatile("st.shared.u8 [%0], %1;" ::"r"(to + c), "r"(v[c]) : "memory");
  }
}

/* Samples of BYTES (1, 2). */
template <int N, int BYTES>
__device__ inline void
store_pixel_shared (uint32_t address, const int (&q)[N])
{
#pragma unroll
  for (int c = 0; c < N; c++)
    if constexpr (BYTES == 1)
      asm volatile("st.shared.u8 [%0], %1;" ::"r"(address + c), "r"(q[c]) : "memory");
    else
      asm volatile("st.shared.u16 [%0], %1;" ::"r"(address + 2 * c), "h"((uint16_t)q[c]) : "memory");
}

__device__ inline void
store_word (uint32_t address, uint32_t word)
{
  asm volatile("st.shared.b32 [%0], %1;" ::"r"(address), "r"(word) : "memory");
}

__device__ inline void
store_quad (uint32_t address, const uint32_t (&w)[4])
{
  asm volatile("st.shared.v4.b32 [%0], {%1,%2,%3,%4};" ::"r"(address), "r"(w[0]), "r"(w[1]), "r"(w[2]), "r"(w[3])
               : "memory");
}

/* BYTES (4, 8, 16) from global to shared memory, in the background. Both addresses are multiples of BYTES. */
template <int BYTES>
__device__ inline void
copy_async (uint32_t to, const uint8_t *from)
{
  if constexpr (BYTES == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(to), "l"(from), "n"(BYTES) : "memory");
}

/* ---- barriers ---- */

/* Of the first n threads of the block, whole warps. */
__device__ inline void
worker_barrier (int n)
{
  asm volatile("bar.sync 1, %0;" ::"r"(n) : "memory");
}

/* Of the working warps that read pixels outside the picture. */
__device__ inline void
edge_barrier (int n)
{
  asm volatile("bar.sync 2, %0;" ::"r"(n) : "memory");
}

__device__ inline void
barrier_init (uint32_t barrier, int arrivals)
{
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

__device__ inline void
barrier_arrive (uint32_t barrier)
{
  asm volatile("{\n"
               ".reg .b64 state;\n"
               "mbarrier.arrive.shared.b64 state, [%0];\n"
               "}" ::"r"(barrier)
               : "memory");
}

/* Arrives once this thread's copies so far have. */
__device__ inline void
barrier_arrive_after_copies (uint32_t barrier)
{
  asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(barrier) : "memory");
}

__device__ inline void
barrier_wait (uint32_t barrier, uint32_t parity)
{
#if CONVOLVE_HAS_BULK
#define CONVOLVE_BARRIER_TEST "mbarrier.try_wait.parity.shared.b64"
#else
#define CONVOLVE_BARRIER_TEST "mbarrier.test_wait.parity.shared.b64"
#endif
  asm volatile("{\n"
               ".reg .pred done;\n"
               "again_%=:\n" CONVOLVE_BARRIER_TEST " done, [%0], %1;\n"
               "@!done bra again_%=;\n"
               "}" ::"r"(barrier),
               "r"(parity)
               : "memory");
}

/* Bytes from global to shared memory by the copy engine (9.0); addresses and bytes are multiples of 16. The barrier
 * counts them off what barrier_arrive_expecting announced. */
__device__ inline void
copy_bulk (uint32_t to, const uint8_t *from, int bytes, uint32_t barrier)
{
#if CONVOLVE_HAS_BULK
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
               "l"(from), "r"(bytes), "r"(barrier)
               : "memory");
#endif
}

/* Arrives, and makes the barrier wait for bytes of copy_bulk. */
__device__ inline void
barrier_arrive_expecting (uint32_t barrier, int bytes)
{
#if CONVOLVE_HAS_BULK
  asm volatile("{\n"
               ".reg .b64 state;\n"
               "mbarrier.arrive.expect_tx.shared.b64 state, [%0], %1;\n"
               "}" ::"r"(barrier),
               "r"(bytes)
               : "memory");
#else
  barrier_arrive (barrier);
#endif
}

/* Between this thread's ordinary accesses to shared memory and later ones of the copy engine. */
__device__ inline void
fence_copies ()
{
#if CONVOLVE_HAS_BULK
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}

#endif
