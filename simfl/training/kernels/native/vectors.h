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

typedef float quarter __attribute__((vector_size(16), aligned(4)));
typedef float narrow __attribute__((vector_size(32), aligned(4)));
typedef float wide __attribute__((vector_size(64), aligned(4)));
typedef int32_t choices __attribute__((vector_size(32), aligned(4)));
typedef int32_t wide_choices __attribute__((vector_size(64), aligned(4)));
typedef uint8_t bytes __attribute__((vector_size(8), aligned(1)));

/* `yes` where `test` is -1, `no` where it is 0. */
static inline narrow choose(choices test, narrow yes, narrow no) {
    return (narrow)((test & (choices)yes) | (~test & (choices)no));
}

static inline int padded(int n) { return (n + PAD - 1) / PAD * PAD; }

/* Eight rows of eight numbers, column by column. */
static inline void turn(const narrow r[8], float *to) {
    narrow t[8], s[8];
    for (int i = 0; i < 8; i += 2) {
        t[i] = __builtin_shufflevector(r[i], r[i + 1], 0, 8, 2, 10, 4, 12, 6, 14);
        t[i + 1] = __builtin_shufflevector(r[i], r[i + 1], 1, 9, 3, 11, 5, 13, 7, 15);
    }
    for (int i = 0; i < 8; i += i % 4 == 1 ? 3 : 1) {
        s[i] = __builtin_shufflevector(t[i], t[i + 2], 0, 1, 8, 9, 4, 5, 12, 13);
        s[i + 2] = __builtin_shufflevector(t[i], t[i + 2], 2, 3, 10, 11, 6, 7, 14, 15);
    }
    for (int i = 0; i < 4; i++) {
        *(narrow *)(to + i * PAD) = __builtin_shufflevector(s[i], s[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
        *(narrow *)(to + (i + 4) * PAD) = __builtin_shufflevector(s[i], s[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
    }
}

/* Store the first `count` of eight numbers. */
static inline void store(float *to, narrow value, int count) {
    if (count >= 8) *(narrow *)to = value;
    else for (int i = 0; i < count; i++) to[i] = value[i];
}

/* a * x + b. */
static inline narrow fused(narrow a, narrow x, float b) { return __builtin_elementwise_fma(a, x, b - (narrow){0}); }

/* exp(x) for |x| <= 87, clamped beyond: 2^n * p(r), |r| <= ln(2) / 2 (Cephes, S. Moshier). */
#define EXPONENTIAL(T, INTEGERS, NAME)                                                               \
    static inline T NAME(T x) {                                                                      \
        const T most = 87.0f - (T){0}, one = 1.0f - (T){0};                                          \
        INTEGERS low = x < -most;                                                                    \
        x = (T)((low & (INTEGERS)-most) | (~low & (INTEGERS)x));                                     \
        INTEGERS high = x > most;                                                                    \
        x = (T)((high & (INTEGERS)most) | (~high & (INTEGERS)x));                                    \
        T n = (x * 1.44269504f + 12582912.0f) - 12582912.0f;  /* rounded to the nearest integer */   \
        T r = __builtin_elementwise_fma(n, -0.693359375f * one, x);                                  \
        r = __builtin_elementwise_fma(n, 2.12194440e-4f * one, r);                                   \
        T p = __builtin_elementwise_fma(1.9875691500e-4f * one, r, 1.3981999507e-3f - (T){0});       \
        p = __builtin_elementwise_fma(p, r, 8.3334519073e-3f - (T){0});                              \
        p = __builtin_elementwise_fma(p, r, 4.1665795894e-2f - (T){0});                              \
        p = __builtin_elementwise_fma(p, r, 1.6666665459e-1f - (T){0});                              \
        p = __builtin_elementwise_fma(p, r, 5.0000001201e-1f - (T){0});                              \
        p = __builtin_elementwise_fma(p, r * r, r) + 1.0f;                                           \
        return p * (T)((__builtin_convertvector(n, INTEGERS) + 127) << 23);                          \
    }
EXPONENTIAL(narrow, choices, exponential)
EXPONENTIAL(wide, wide_choices, wide_exponential)

/* log(x) for finite x >= 1 (Cephes). */
static inline narrow logarithm(narrow x) {
    const narrow one = 1.0f - (narrow){0};
    narrow e = __builtin_convertvector(((choices)x >> 23) - 126, narrow);
    narrow m = (narrow)(((choices)x & 0x007fffff) | 0x3f000000);  /* the mantissa, in [0.5, 1) */
    choices small = m < 0.70710678f;
    e = choose(small, e - 1.0f, e);
    m = choose(small, m + m, m) - 1.0f;
    narrow z = m * m, p = fused(7.0376836292e-2f * one, m, -1.1514610310e-1f);
    p = fused(p, m, 1.1676998740e-1f);
    p = fused(p, m, -1.2420140846e-1f);
    p = fused(p, m, 1.4249322787e-1f);
    p = fused(p, m, -1.6668057665e-1f);
    p = fused(p, m, 2.0000714765e-1f);
    p = fused(p, m, -2.4999993993e-1f);
    p = fused(p, m, 3.3333331174e-1f);
    p = p * m * z;
    p = __builtin_elementwise_fma(e, -2.12194440e-4f * one, p);
    p = __builtin_elementwise_fma(-0.5f * one, z, p);
    return __builtin_elementwise_fma(e, 0.693359375f * one, m + p);
}

#endif
