/* Convolutions of few outputs: pixels side by side in a vector, instead of outputs.
 *
 * A picture lies plane by plane, border included.  Its pixels are taken one behind the other, those
 * of the border too: what comes out for these is never looked at.  Every output is summed in the
 * same order as by `multiply`, so the bits are the same. */
#ifndef SIMFL_PIXELS_H
#define SIMFL_PIXELS_H

#include "vectors.h"

#ifdef __AVX512F__
typedef wide Pixels;
#define BESIDE(O) 2  /* vectors of pixels: with O outputs of each their sums stay in registers */
#else
typedef narrow Pixels;
#define BESIDE(O) ((O) > 6 ? 1 : 2)
#endif
enum { PIXELS = sizeof(Pixels) / sizeof(float), MOST_PIXELS = 2 * PIXELS };

/* Where the terms of a sum are found: `kernel` lines of as many pixels, in each of the planes. */
typedef struct { int kernel, channels; long line, plane; } Square;

/* out `(PIXELS * V, PAD)`: O outputs, and zeros, of the squares that begin at `at` and behind it. */
static inline __attribute__((always_inline)) void some_pixels(
        const int O, const int V, Square w, const float *at, const float *weights, const float *bias, float *out) {
    Pixels sum[8][2];
    for (int o = 0; o < O; o++)
        for (int v = 0; v < V; v++) sum[o][v] = bias[o] - (Pixels){0};
    for (int y = 0; y < w.kernel; y++)
        for (int x = 0; x < w.kernel; x++)
            for (int i = 0; i < w.channels; i++, weights += PAD) {
                const float *here = at + i * w.plane + y * w.line + x;
                Pixels value[2];
                for (int v = 0; v < V; v++) value[v] = *(const Pixels *)(here + v * PIXELS);
                for (int o = 0; o < O; o++)
                    for (int v = 0; v < V; v++)
                        sum[o][v] = __builtin_elementwise_fma(value[v], weights[o] - (Pixels){0}, sum[o][v]);
            }
    for (int v = 0; v < V; v++)
        for (int p = 0; p < PIXELS; p += 8) {
            narrow some[8];
            for (int o = 0; o < 8; o++) some[o] = o < O ? *(const narrow *)((const float *)&sum[o][v] + p) : (narrow){0};
            turn(some, out + (v * PIXELS + p) * PAD);
        }
}

/* out `(count, PAD)`: `outputs` sums, PAD at most, of each of `count` pixels and up to MOST_PIXELS
 * behind them; weights `(kernel, kernel, channels, PAD)`, bias `(PAD)`. */
static void convolve_pixels(long count, int outputs, Square w, const float *planes, const float *weights,
                            const float *bias, float *out) {
#define PIXELS_OF(O)                                                                                 \
    case O:                                                                                          \
        for (long p = 0; p < count; p += PIXELS * BESIDE(O))                                         \
            some_pixels(O, BESIDE(O), w, planes + p, weights, bias, out + p * PAD);                  \
        break;
    switch (outputs) {
        PIXELS_OF(1) PIXELS_OF(2) PIXELS_OF(3) PIXELS_OF(4) PIXELS_OF(5) PIXELS_OF(6) PIXELS_OF(7) PIXELS_OF(8)
    }
}

#endif
