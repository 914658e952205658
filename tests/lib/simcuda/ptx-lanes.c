/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Instructions of PTX that lanes do each for itself, or a warp together,
 * without memory: one table by name. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ptx.h"

#define OPERAND(k) (w->registers[i->operand[k]])

#define PREDICATE(k) ((guint32) w->registers[i->operand[k]][0])

#define BODY(name, ...) \
  static void name (const PtxInstruction *i, PtxWarp *w, guint32 mask) \
  { \
    PTX_EACH_LANE (mask, __VA_ARGS__); \
  }

static gfloat
to_float (guint64 bits)
{
  guint32 low = bits;
  gfloat f;

  memcpy (&f, &low, 4);
  return f;
}

static guint64
from_float (gfloat f)
{
  guint32 bits;

  memcpy (&bits, &f, 4);
  return bits;
}

static void
set_predicate (const PtxInstruction * i, PtxWarp * w, guint k, guint32 bits,
    guint32 mask)
{
  guint64 *p = OPERAND (k);

  *p = (*p & ~mask) | (bits & mask);
}

/* *INDENT-OFF* */

/* ---- whole numbers ---- */

#define A(T) ((T) OPERAND (1)[l])

#define B(T) ((T) OPERAND (2)[l])

#define C(T) ((T) OPERAND (3)[l])

#define D OPERAND (0)[l]

/* Shifts by more than there are bits leave none. */
#define SHIFT(T, U) (B (guint32) >= 8 * sizeof (T))

#define COMPARE(name, T, condition) \
  static void name (const PtxInstruction *i, PtxWarp *w, guint32 mask) \
  { \
    guint32 bits = 0; \
    PTX_EACH_LANE (mask, bits |= (guint32) (condition) << l); \
    set_predicate (i, w, 0, bits, mask); \
  }

/* A type T of the name s, and its unsigned one. */
#define WHOLE(s, T, U) \
  BODY (add_##s, D = (U) (A (U) + B (U))) \
  BODY (sub_##s, D = (U) (A (U) - B (U))) \
  BODY (mul_lo_##s, D = (U) ((guint64) A (U) * B (U))) \
  BODY (mad_lo_##s, D = (U) ((guint64) A (U) * B (U) + C (U))) \
  BODY (and_##s, D = (U) (A (U) & B (U))) \
  BODY (or_##s, D = (U) (A (U) | B (U))) \
  BODY (xor_##s, D = (U) (A (U) ^ B (U))) \
  BODY (not_##s, D = (U) ~A (U)) \
  BODY (neg_##s, D = (U) -A (U)) \
  BODY (mov_##s, D = (U) A (U)) \
  BODY (selp_##s, D = PREDICATE (3) >> l & 1 ? (U) A (U) : (U) B (U)) \
  BODY (shl_##s, D = SHIFT (T, U) ? 0 : (U) (A (U) << B (guint32))) \
  BODY (shr_##s, D = (U) (A (T) >> MIN (B (guint32), 8 * sizeof (T) - 1)) \
      & (SHIFT (T, U) && (T) -1 > 0 ? 0 : (U) -1)) \
  BODY (div_##s, D = B (T) == 0 ? (U) -1 : (U) (A (T) / B (T))) \
  BODY (rem_##s, D = B (T) == 0 ? A (U) : (U) (A (T) % B (T))) \
  BODY (min_##s, D = (U) MIN (A (T), B (T))) \
  BODY (max_##s, D = (U) MAX (A (T), B (T))) \
  BODY (abs_##s, D = (U) (A (T) < (T) 1 ? -A (U) : A (U))) \
  COMPARE (setp_eq_##s, T, A (U) == B (U)) \
  COMPARE (setp_ne_##s, T, A (U) != B (U)) \
  COMPARE (setp_lt_##s, T, A (T) < B (T)) \
  COMPARE (setp_le_##s, T, A (T) <= B (T)) \
  COMPARE (setp_gt_##s, T, A (T) > B (T)) \
  COMPARE (setp_ge_##s, T, A (T) >= B (T))

#define WHOLE_TYPES(X) \
  X (s16, gint16, guint16) X (u16, guint16, guint16) X (b16, guint16, guint16) \
  X (s32, gint32, guint32) X (u32, guint32, guint32) X (b32, guint32, guint32) \
  X (s64, gint64, guint64) X (u64, guint64, guint64) X (b64, guint64, guint64)
WHOLE_TYPES (WHOLE)

BODY (mul_wide_u16, D = (guint32) A (guint16) * B (guint16))
BODY (mul_wide_s16, D = (guint32) (A (gint16) * B (gint16)))
BODY (mul_wide_u32, D = (guint64) A (guint32) * B (guint32))
BODY (mul_wide_s32, D = (gint64) A (gint32) * B (gint32))
BODY (mul_hi_u32, D = (guint64) A (guint32) * B (guint32) >> 32)
BODY (mul_hi_s32, D = (guint32) ((gint64) A (gint32) * B (gint32) >> 32))
BODY (popc_b32, D = __builtin_popcount (A (guint32)))

/* Bits of length n from position p on. */
static guint64
insert_bits (guint64 a, guint64 b, guint p, guint n, guint width)
{
  guint64 ones;

  if (p >= width || n == 0)
    return b;
  ones = (n >= 64 ? G_MAXUINT64 : (1ULL << n) - 1) << p;
  return (b & ~ones) | (a << p & ones);
}

BODY (bfi_b32, D = (guint32) insert_bits (A (guint32), B (guint32),
        C (guint8), OPERAND (4)[l] & 0xff, 32))
BODY (bfi_b64, D = insert_bits (A (guint64), B (guint64), C (guint8),
        OPERAND (4)[l] & 0xff, 64))

static guint32
permute (guint32 a, guint32 b, guint32 selector)
{
  guint64 bytes = (guint64) b << 32 | a;
  guint32 result = 0;

  for (guint k = 0; k < 4; k++) {
    guint nibble = selector >> 4 * k & 15;
    guint8 byte = bytes >> 8 * (nibble & 7);

    if (nibble & 8)
      byte = byte & 0x80 ? 0xff : 0;
    result |= (guint32) byte << 8 * k;
  }
  return result;
}

BODY (prmt_b32, D = permute (A (guint32), B (guint32), C (guint32)))

static guint32
dot (guint32 a, guint32 b, guint32 c, gboolean b_is_signed)
{
  for (guint k = 0; k < 4; k++) {
    gint y = b_is_signed ? (gint8) (b >> 8 * k) : (guint8) (b >> 8 * k);

    c += (guint8) (a >> 8 * k) * y;
  }
  return c;
}

BODY (dp4a_u32_u32, D = dot (A (guint32), B (guint32), C (guint32), FALSE))
BODY (dp4a_u32_s32, D = dot (A (guint32), B (guint32), C (guint32), TRUE))
BODY (convert_whole, D = ptx_extend (ptx_extend (OPERAND (1)[l],
            i->from_bytes, i->from_signed), i->bytes, i->is_signed))

/* Vectors of two into one register, and back. */
BODY (pack_2x16, D = (guint16) OPERAND (1)[l] | (guint32) OPERAND (2)[l] << 16)
BODY (pack_2x32, D = (guint32) OPERAND (1)[l] | OPERAND (2)[l] << 32)
BODY (unpack_2x16, guint32 v = OPERAND (2)[l]; OPERAND (0)[l] = v & 0xffff;
    OPERAND (1)[l] = v >> 16)
BODY (unpack_2x32, guint64 v = OPERAND (2)[l]; OPERAND (0)[l] = (guint32) v;
    OPERAND (1)[l] = v >> 32)

/* ---- predicates: a bit a lane ---- */
#define BITS(name, expression) \
  static void name (const PtxInstruction *i, PtxWarp *w, guint32 mask) \
  { \
    set_predicate (i, w, 0, expression, mask); \
  }
BITS (and_pred, PREDICATE (1) & PREDICATE (2))
BITS (or_pred, PREDICATE (1) | PREDICATE (2))
BITS (xor_pred, PREDICATE (1) ^ PREDICATE (2))
BITS (not_pred, ~PREDICATE (1))

/* A constant fills every lane with its value. */
BITS (mov_pred, i->operand[1] >= (gint) w->run->function->first_constant
    ? -(guint32) (OPERAND (1)[0] & 1) : PREDICATE (1))

/* ---- floats ---- */
#define FA to_float (OPERAND (1)[l])

#define FB to_float (OPERAND (2)[l])

#define FC to_float (OPERAND (3)[l])
BODY (add_f32, D = from_float (FA + FB))
BODY (sub_f32, D = from_float (FA - FB))
BODY (mul_f32, D = from_float (FA * FB))
BODY (fma_f32, D = from_float (fmaf (FA, FB, FC)))
BODY (div_f32, D = from_float (FA / FB))
BODY (sqrt_f32, D = from_float (sqrtf (FA)))
BODY (min_f32, D = from_float (fminf (FA, FB)))
BODY (max_f32, D = from_float (fmaxf (FA, FB)))
BODY (abs_f32, D = OPERAND (1)[l] & 0x7fffffff)
BODY (neg_f32, D = (guint32) OPERAND (1)[l] ^ 0x80000000)
COMPARE (setp_eq_f32, gfloat, FA == FB)
COMPARE (setp_neu_f32, gfloat, !(FA == FB))
COMPARE (setp_lt_f32, gfloat, FA < FB)
COMPARE (setp_le_f32, gfloat, FA <= FB)
COMPARE (setp_gt_f32, gfloat, FA > FB)
COMPARE (setp_ge_f32, gfloat, FA >= FB)
COMPARE (setp_ltu_f32, gfloat, !(FA >= FB))
COMPARE (setp_leu_f32, gfloat, !(FA > FB))
COMPARE (setp_gtu_f32, gfloat, !(FA <= FB))
COMPARE (setp_geu_f32, gfloat, !(FA < FB))

/* What does not fit becomes the next that does; not a number: 0. */
static gint64
to_whole (gdouble value, gdouble low, gdouble high)
{
  return isnan (value) ? 0 : (gint64) CLAMP (value, low, high);
}

#define TO_S32(v) ((guint32) to_whole (v, G_MININT32, G_MAXINT32))

#define TO_U32(v) ((guint32) to_whole (v, 0, G_MAXUINT32))
BODY (cvt_rn_f32_s32, D = from_float (A (gint32)))
BODY (cvt_rn_f32_u32, D = from_float (A (guint32)))
BODY (cvt_rzi_s32_f32, D = TO_S32 (trunc (FA)))
BODY (cvt_rzi_u32_f32, D = TO_U32 (trunc (FA)))
BODY (cvt_rni_s32_f32, D = TO_S32 (rint (FA)))
BODY (cvt_rni_u32_f32, D = TO_U32 (rint (FA)))
BODY (cvt_rni_f32_f32, D = from_float (rintf (FA)))
BODY (cvt_sat_f32_f32, D = from_float (isnan (FA) ? 0 : CLAMP (FA, 0, 1)))
BODY (cvt_pack_u8, D = (guint32) CLAMP (B (gint32), 0, 255)
    | (guint32) CLAMP (A (gint32), 0, 255) << 8 | C (guint32) << 16)

/* ---- half floats ---- */
static gfloat
half_value (guint16 bits)
{
  gint exponent = bits >> 10 & 31;
  gfloat fraction = bits & 1023;
  gfloat value = exponent == 31 ? (fraction > 0 ? NAN : INFINITY)
      : exponent > 0 ? ldexpf (1024 + fraction, exponent - 25)
      : ldexpf (fraction, -24);

  return bits & 0x8000 ? -value : value;
}

static gfloat
from_half (guint16 bits)
{
  static gfloat *table;

  if (table == NULL) {
    table = g_new (gfloat, 65536);
    for (guint k = 0; k < 65536; k++)
      table[k] = half_value (k);
  }
  return table[bits];
}

/* The nearest; of two the even one. */
static guint16
to_half (gdouble value)
{
  guint16 sign = signbit (value) ? 0x8000 : 0;
  gdouble rounded = fabs (sim_to_half (value));
  gint exponent;

  if (isnan (value))
    return 0x7fff;
  if (fabs (value) >= 65520)
    return sign | 0x7c00;
  if (rounded < ldexp (1, -14))
    return sign | (guint16) ldexp (rounded, 24);
  frexp (rounded, &exponent);
  return sign | (guint16) (((exponent + 14) << 10)
      + (guint16) (ldexp (rounded, 11 - exponent) - 1024));
}

static guint32
two_halves (gdouble low, gdouble high)
{
  return to_half (low) | (guint32) to_half (high) << 16;
}

#define LOW(k) ((gdouble) from_half (OPERAND (k)[l]))
#define HIGH(k) ((gdouble) from_half (OPERAND (k)[l] >> 16))

BODY (cvt_f32_f16, D = from_float (from_half (OPERAND (1)[l])))
BODY (cvt_rn_f16_f32, D = to_half (FA))
BODY (cvt_rn_f16x2_f32, D = two_halves (FB, FA))
BODY (add_f16x2, D = two_halves (LOW (1) + LOW (2), HIGH (1) + HIGH (2)))
BODY (sub_f16x2, D = two_halves (LOW (1) - LOW (2), HIGH (1) - HIGH (2)))
BODY (mul_f16x2, D = two_halves (LOW (1) * LOW (2), HIGH (1) * HIGH (2)))
BODY (fma_f16x2, D = two_halves (LOW (1) * LOW (2) + LOW (3),
        HIGH (1) * HIGH (2) + HIGH (3)))

/* ---- a warp together ---- */

/* Lanes read each the value of another: its index, and which are allowed, by
 * the mode: PTX ISA, shfl.sync. */
typedef enum
{ BY_INDEX, BY_BITS, DOWN, UP } Shuffle;

static void
shuffle (const PtxInstruction * i, PtxWarp * w, guint32 mask, Shuffle mode)
{
  PtxRegister values;
  guint32 inside = 0;

  memcpy (values, OPERAND (2), sizeof (values));
  for (gint l = 0; l < PTX_LANES; l++) {
    gint b = OPERAND (3)[l] & 31, c = OPERAND (4)[l];
    gint segment = c >> 8 & 31, least = l & segment;
    gint most = least | (c & 31 & ~segment);
    gint from = mode == BY_INDEX ? least | (b & ~segment)
        : mode == BY_BITS ? l ^ b : mode == DOWN ? l + b : l - b;
    gboolean in = mode == UP ? from >= most : from <= most;

    if ((mask >> l & 1) == 0)
      continue;
    inside |= (guint32) in << l;
    OPERAND (0)[l] = (guint32) values[in ? from : l];
  }
  set_predicate (i, w, 1, inside, mask);
}

#define SHUFFLE(name, mode) \
  static void name (const PtxInstruction *i, PtxWarp *w, guint32 mask) \
  { \
    shuffle (i, w, mask, mode); \
  }

SHUFFLE (shfl_idx, BY_INDEX)
SHUFFLE (shfl_bfly, BY_BITS)
SHUFFLE (shfl_down, DOWN)
SHUFFLE (shfl_up, UP)
BITS (vote_all, (PREDICATE (1) & mask) == mask ? mask : 0)
BITS (vote_any, (PREDICATE (1) & mask) != 0 ? mask : 0)
BODY (vote_ballot, D = PREDICATE (1) & mask)
/* *INDENT-ON* */

static void
elect (const PtxInstruction * i, PtxWarp * w, guint32 mask)
{
  set_predicate (i, w, 1, mask & -mask, mask);
}

/* The fragments' lanes: PTX ISA, matrix fragments for mma.m16n8k16 and
 * mma.m16n8k8 with half floats. */
static void
multiply (const PtxInstruction * i, PtxWarp * w, guint k_steps)
{
  gfloat a[16][16], b[16][8], c[16][8];
  guint nb = k_steps, na = 2 * k_steps;
  guint first_b = 4 + na, first_c = first_b + nb;

  for (guint l = 0; l < PTX_LANES; l++) {
    guint group = l / 4, pair = l % 4 * 2;

    for (guint k = 0; k < na; k++) {
      guint32 v = OPERAND (4 + k)[l];
      gfloat *to = &a[group + k % 2 * 8][pair + k / 2 * 8];

      to[0] = from_half (v);
      to[1] = from_half (v >> 16);
    }
    for (guint k = 0; k < nb; k++) {
      guint32 v = OPERAND (first_b + k)[l];

      b[pair + 8 * k][group] = from_half (v);
      b[pair + 8 * k + 1][group] = from_half (v >> 16);
    }
    for (guint k = 0; k < 4; k++)
      c[group + k / 2 * 8][pair + k % 2] = to_float (OPERAND (first_c + k)[l]);
  }
  for (guint m = 0; m < 16; m++)
    for (guint k = 0; k < 8 * k_steps; k++)
      for (guint n = 0; n < 8; n++)
        c[m][n] += a[m][k] * b[k][n];
  for (guint l = 0; l < PTX_LANES; l++)
    for (guint k = 0; k < 4; k++)
      OPERAND (k)[l] = from_float (c[l / 4 + k / 2 * 8][l % 4 * 2 + k % 2]);
}

static void
mma_k16 (const PtxInstruction * i, PtxWarp * w, guint32 mask)
{
  multiply (i, w, 2);
}

static void
mma_k8 (const PtxInstruction * i, PtxWarp * w, guint32 mask)
{
  multiply (i, w, 1);
}

/* What others see to, and what makes no difference here. */
void
ptx_nothing (const PtxInstruction * i, PtxWarp * w, guint32 mask)
{
}

/* ---- names ---- */

typedef struct
{
  const gchar *name;
  PtxDo function;
  PtxKind kind;
} Known;

#define WHOLE_NAMES(s, T, U) \
  {"add." #s, add_##s}, {"sub." #s, sub_##s}, {"mul.lo." #s, mul_lo_##s}, \
  {"mad.lo." #s, mad_lo_##s}, {"and." #s, and_##s}, {"or." #s, or_##s}, \
  {"xor." #s, xor_##s}, {"not." #s, not_##s}, {"neg." #s, neg_##s}, \
  {"mov." #s, mov_##s}, {"selp." #s, selp_##s}, {"shl." #s, shl_##s}, \
  {"shr." #s, shr_##s}, {"div." #s, div_##s}, {"rem." #s, rem_##s}, \
  {"min." #s, min_##s}, {"max." #s, max_##s}, {"abs." #s, abs_##s}, \
  {"setp.eq." #s, setp_eq_##s}, {"setp.ne." #s, setp_ne_##s}, \
  {"setp.lt." #s, setp_lt_##s}, {"setp.le." #s, setp_le_##s}, \
  {"setp.gt." #s, setp_gt_##s}, {"setp.ge." #s, setp_ge_##s},

/* *INDENT-OFF* */
static const Known known[] = {
WHOLE_TYPES (WHOLE_NAMES)
      {"mul.wide.u16", mul_wide_u16}, {"mul.wide.s16", mul_wide_s16},
  {"mul.wide.u32", mul_wide_u32}, {"mul.wide.s32", mul_wide_s32},
  {"mul.hi.u32", mul_hi_u32}, {"mul.hi.s32", mul_hi_s32},
  {"popc.b32", popc_b32}, {"bfi.b32", bfi_b32}, {"bfi.b64", bfi_b64},
  {"prmt.b32", prmt_b32},
  {"dp4a.u32.u32", dp4a_u32_u32}, {"dp4a.u32.s32", dp4a_u32_s32},
  {"cvta.to.global.u64", mov_u64}, {"cvta.param.u64", mov_u64},
  {"cvta.local.u64", mov_u64},
  {"pack.2x16", pack_2x16}, {"pack.2x32", pack_2x32},
  {"unpack.2x16", unpack_2x16}, {"unpack.2x32", unpack_2x32},
  {"and.pred", and_pred}, {"or.pred", or_pred}, {"xor.pred", xor_pred},
  {"not.pred", not_pred}, {"mov.pred", mov_pred},
  {"mov.f32", mov_u32}, {"selp.f32", selp_u32},
  {"add.f32", add_f32}, {"add.rn.f32", add_f32}, {"sub.f32", sub_f32},
  {"sub.rn.f32", sub_f32}, {"mul.f32", mul_f32}, {"mul.rn.f32", mul_f32},
  {"fma.rn.f32", fma_f32}, {"div.rn.f32", div_f32},
  {"div.approx.f32", div_f32}, {"sqrt.rn.f32", sqrt_f32},
  {"min.f32", min_f32}, {"max.f32", max_f32}, {"abs.f32", abs_f32},
  {"neg.f32", neg_f32},
  {"setp.eq.f32", setp_eq_f32}, {"setp.neu.f32", setp_neu_f32},
  {"setp.lt.f32", setp_lt_f32}, {"setp.le.f32", setp_le_f32},
  {"setp.gt.f32", setp_gt_f32}, {"setp.ge.f32", setp_ge_f32},
  {"setp.ltu.f32", setp_ltu_f32}, {"setp.leu.f32", setp_leu_f32},
  {"setp.gtu.f32", setp_gtu_f32}, {"setp.geu.f32", setp_geu_f32},
  {"cvt.rn.f32.s32", cvt_rn_f32_s32}, {"cvt.rn.f32.u32", cvt_rn_f32_u32},
  {"cvt.rzi.s32.f32", cvt_rzi_s32_f32}, {"cvt.rzi.u32.f32", cvt_rzi_u32_f32},
  {"cvt.rni.s32.f32", cvt_rni_s32_f32}, {"cvt.rni.u32.f32", cvt_rni_u32_f32},
  {"cvt.rni.f32.f32", cvt_rni_f32_f32}, {"cvt.sat.f32.f32", cvt_sat_f32_f32},
  {"cvt.pack.sat.u8.s32.b32", cvt_pack_u8},
  {"cvt.f32.f16", cvt_f32_f16}, {"cvt.rn.f16.f32", cvt_rn_f16_f32},
  {"cvt.rn.f16x2.f32", cvt_rn_f16x2_f32},
  {"add.rn.f16x2", add_f16x2}, {"sub.rn.f16x2", sub_f16x2},
  {"mul.rn.f16x2", mul_f16x2}, {"fma.rn.f16x2", fma_f16x2},
  {"add.f16x2", add_f16x2}, {"sub.f16x2", sub_f16x2}, {"mul.f16x2", mul_f16x2},
  {"shfl.sync.idx.b32", shfl_idx, PTX_TOGETHER},
  {"shfl.sync.bfly.b32", shfl_bfly, PTX_TOGETHER},
  {"shfl.sync.down.b32", shfl_down, PTX_TOGETHER},
  {"shfl.sync.up.b32", shfl_up, PTX_TOGETHER},
  {"vote.sync.all.pred", vote_all, PTX_TOGETHER},
  {"vote.sync.any.pred", vote_any, PTX_TOGETHER},
  {"vote.sync.ballot.b32", vote_ballot, PTX_TOGETHER},
  {"elect.sync", elect, PTX_TOGETHER},
  {"bar.warp.sync", ptx_nothing, PTX_TOGETHER},
  {"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", mma_k16,
      PTX_WARP},
  {"mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32", mma_k8, PTX_WARP},
  {"bar.sync", ptx_nothing, PTX_BARRIER},
  {"bra", ptx_nothing, PTX_BRANCH}, {"bra.uni", ptx_nothing, PTX_BRANCH},
  {"ret", ptx_nothing, PTX_EXIT}, {"exit", ptx_nothing, PTX_EXIT},
};
/* *INDENT-ON* */

/* cvt between whole numbers. */
static gboolean
known_conversion (const gchar * name, PtxInstruction * i)
{
  gchar to, from;
  guint to_bits, from_bits;
  gint end = 0;

  if (sscanf (name, "cvt.%c%u.%c%u%n", &to, &to_bits, &from, &from_bits,
          &end) != 4 || name[end] != '\0'
      || strchr ("su", to) == NULL || strchr ("su", from) == NULL)
    return FALSE;
  i->function = convert_whole;
  i->bytes = to_bits / 8;
  i->is_signed = to == 's';
  i->from_bytes = from_bits / 8;
  i->from_signed = from == 's';
  return TRUE;
}

gboolean
ptx_known (const gchar * name, PtxInstruction * i)
{
  static GHashTable *names;
  const Known *k;

  if (names == NULL) {
    names = g_hash_table_new (g_str_hash, g_str_equal);
    for (guint n = 0; n < G_N_ELEMENTS (known); n++)
      g_hash_table_insert (names, (gpointer) known[n].name,
          (gpointer) & known[n]);
  }
  k = g_hash_table_lookup (names, name);
  if (k == NULL)
    return known_conversion (name, i) || ptx_known_memory (name, i);
  i->function = k->function;
  i->kind = k->kind;
  return TRUE;
}
