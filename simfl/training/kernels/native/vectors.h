/* Vectors of floats, the exponential and the logarithm: the same bits on every processor.
 *
 * No sum is ever split over the elements of a vector: an output is accumulated in one place, term
 * after term, by fused multiply-adds.  So how wide the vectors are changes no bit. */
#ifndef SIMFL_VECTORS_H
#define SIMFL_VECTORS_H

#include <stdint.h>
#include <string.h>

#define PAD 8  /* columns of every matrix of weights are a multiple of this */
#define PANEL 64  /* columns of a matrix of weights that lie together */

typedef float narrow __attribute__((vector_size(32), aligned(4)));
typedef float wide __attribute__((vector_size(64), aligned(4)));
typedef int32_t choices __attribute__((vector_size(32), aligned(4)));
typedef uint8_t bytes __attribute__((vector_size(8), aligned(1)));

/* `yes` where `test` is -1, `no` where it is 0. */
static inline narrow choose(choices test, narrow yes, narrow no) {
    return (narrow)((test & (choices)yes) | (~test & (choices)no));
}

static inline int padded(int n) { return (n + PAD - 1) / PAD * PAD; }

/* exp(x) for |x| <= 87, clamped beyond: 2^n * p(r), |r| <= ln(2) / 2 (Cephes, S. Moshier). */
static inline float exponential(float x) {
    x = x < -87.0f ? -87.0f : x > 87.0f ? 87.0f : x;
    float n = (x * 1.44269504f + 12582912.0f) - 12582912.0f;  /* rounded to the nearest integer */
    float r = __builtin_fmaf(n, -0.693359375f, x);
    r = __builtin_fmaf(n, 2.12194440e-4f, r);
    float p = 1.9875691500e-4f;
    p = __builtin_fmaf(p, r, 1.3981999507e-3f);
    p = __builtin_fmaf(p, r, 8.3334519073e-3f);
    p = __builtin_fmaf(p, r, 4.1665795894e-2f);
    p = __builtin_fmaf(p, r, 1.6666665459e-1f);
    p = __builtin_fmaf(p, r, 5.0000001201e-1f);
    p = __builtin_fmaf(p, r * r, r) + 1.0f;
    union { int32_t bits; float value; } scale = {.bits = ((int32_t)n + 127) << 23};
    return p * scale.value;
}

/* log(x) for finite x >= 1 (Cephes). */
static inline float logarithm(float x) {
    union { float value; int32_t bits; } in = {.value = x};
    float e = (float)((in.bits >> 23) - 126);
    in.bits = (in.bits & 0x007fffff) | 0x3f000000;  /* the mantissa, in [0.5, 1) */
    float m = in.value;
    if (m < 0.70710678f) { e -= 1.0f; m += m; }
    m -= 1.0f;
    float z = m * m, p = 7.0376836292e-2f;
    p = __builtin_fmaf(p, m, -1.1514610310e-1f);
    p = __builtin_fmaf(p, m, 1.1676998740e-1f);
    p = __builtin_fmaf(p, m, -1.2420140846e-1f);
    p = __builtin_fmaf(p, m, 1.4249322787e-1f);
    p = __builtin_fmaf(p, m, -1.6668057665e-1f);
    p = __builtin_fmaf(p, m, 2.0000714765e-1f);
    p = __builtin_fmaf(p, m, -2.4999993993e-1f);
    p = __builtin_fmaf(p, m, 3.3333331174e-1f);
    p = p * m * z;
    p = __builtin_fmaf(e, -2.12194440e-4f, p);
    p = __builtin_fmaf(-0.5f, z, p);
    return __builtin_fmaf(e, 0.693359375f, m + p);
}

#endif
