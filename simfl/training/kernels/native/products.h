/* Matrix products of a few rows, or of the pixels of a picture, with a matrix of weights.
 *
 * A matrix of weights `(terms, columns)` lies in panels of PANEL columns, the last one narrower:
 * panel after panel, in each of them row after row. */
#ifndef SIMFL_PRODUCTS_H
#define SIMFL_PRODUCTS_H

#include "vectors.h"

/* Where the terms of a sum are found: `runs` runs of `length` floats, `stride` floats apart. */
typedef struct { int runs, length; long stride; } Window;

/* Rows that lie `step` floats apart, in lines `skip` floats apart: the pixels of a picture, or, in
 * one line, the rows of a matrix. */
typedef struct { const float *first; long step, skip; } Grid;

#define ALWAYS static inline __attribute__((always_inline))
#ifdef __AVX512F__
#define MOST_VECTORS 4  /* side by side: sums and weights should stay in registers */
#define MOST_ROWS(V) ((V) >= 4 ? 6 : 8)
#else
#define MOST_VECTORS 2
#define MOST_ROWS(V) 3
#endif

/* For vectors `T`:
 * rows_times: out[r][column..] = bias + sum over the window of a[r] of term * weights, R rows, V
 * vectors of columns; outer_sum: g[k][:] += sum over the grids of a[k] * d[:], K terms. */
#define PRODUCTS(T)                                                                                  \
    ALWAYS void rows_times_##T(const int R, const int V, Window w, const float *const *a,           \
                               const float *weights, int pitch, const float *bias, float *const *out, \
                               int column) {                                                         \
        enum { WIDTH = sizeof(T) / sizeof(float) };                                                  \
        T sum[8][4];                                                                                 \
        for (int r = 0; r < R; r++)                                                                  \
            for (int v = 0; v < V; v++)                                                              \
                sum[r][v] = bias ? *(const T *)(bias + column + v * WIDTH) : (T){0};                 \
        for (int run = 0; run < w.runs; run++) {                                                     \
            const float *term[8];                                                                    \
            for (int r = 0; r < R; r++) term[r] = a[r] + run * w.stride;                             \
            for (int k = 0; k < w.length; k++, weights += pitch) {                                   \
                T weight[4];                                                                         \
                for (int v = 0; v < V; v++) weight[v] = *(const T *)(weights + v * WIDTH);           \
                for (int r = 0; r < R; r++)                                                          \
                    for (int v = 0; v < V; v++)                                                      \
                        sum[r][v] = __builtin_elementwise_fma(term[r][k] - (T){0}, weight[v], sum[r][v]); \
            }                                                                                        \
        }                                                                                            \
        for (int r = 0; r < R; r++)                                                                  \
            for (int v = 0; v < V; v++) *(T *)(out[r] + column + v * WIDTH) = sum[r][v];             \
    }                                                                                                \
    ALWAYS void outer_sum_##T(const int K, const int V, int lines, int length, Grid a, Grid d,       \
                              float *g, int pitch) {                                                 \
        enum { WIDTH = sizeof(T) / sizeof(float) };                                                  \
        T sum[8][4];                                                                                 \
        for (int k = 0; k < K; k++)                                                                  \
            for (int v = 0; v < V; v++) sum[k][v] = *(const T *)(g + k * pitch + v * WIDTH);         \
        for (int line = 0; line < lines; line++) {                                                   \
            const float *x = a.first + line * a.skip, *y = d.first + line * d.skip;                  \
            for (int i = 0; i < length; i++, x += a.step, y += d.step) {                             \
                T delta[4];                                                                          \
                for (int v = 0; v < V; v++) delta[v] = *(const T *)(y + v * WIDTH);                  \
                for (int k = 0; k < K; k++)                                                          \
                    for (int v = 0; v < V; v++)                                                      \
                        sum[k][v] = __builtin_elementwise_fma(x[k] - (T){0}, delta[v], sum[k][v]);   \
            }                                                                                        \
        }                                                                                            \
        for (int k = 0; k < K; k++)                                                                  \
            for (int v = 0; v < V; v++) *(T *)(g + k * pitch + v * WIDTH) = sum[k][v];               \
    }
PRODUCTS(wide)
PRODUCTS(narrow)

/* How many columns are computed at once, of `left` ones: so many vectors, wide ones while they fit. */
static int vectors(int left) {
    int wides = left / 16;
    return wides > MOST_VECTORS ? MOST_VECTORS : wides;
}

#define EACH(CASE, V) CASE(1, V) CASE(2, V) CASE(3, V) CASE(4, V) CASE(5, V) CASE(6, V) CASE(7, V) CASE(8, V)
#define CHOOSE(NAME, n, V, ...)                                                                      \
    switch ((n) * 8 + (V)) { EACH(NAME##_NARROW, 0) EACH(NAME##_WIDE, 1) EACH(NAME##_WIDE, 2)        \
                             EACH(NAME##_WIDE, 3) EACH(NAME##_WIDE, 4) }
#define ROWS_WIDE(R, V) case (R) * 8 + (V): rows_times_wide(R, V, w, a + first, at, pitch, bias, out + first, column); break;
#define ROWS_NARROW(R, V) case (R) * 8: rows_times_narrow(R, 1, w, a + first, at, pitch, bias, out + first, column); break;
#define OUTER_WIDE(K, V) case (K) * 8 + (V): outer_sum_wide(K, V, lines, length, terms_at, deltas, at, pitch); break;
#define OUTER_NARROW(K, V) case (K) * 8: outer_sum_narrow(K, 1, lines, length, terms_at, deltas, at, pitch); break;

/* out[r] `(columns)` of `n` rows; `columns` is a multiple of PAD; bias may be NULL. */
static void multiply(int n, Window w, const float *const *a, const float *weights, int columns,
                     const float *bias, float *const *out) {
    long terms = (long)w.runs * w.length;
    for (int panel = 0; panel < columns; panel += PANEL) {
        int pitch = columns - panel < PANEL ? columns - panel : PANEL;
        for (int done = 0, V; done < pitch; done += V ? V * 16 : 8) {
            V = vectors(pitch - done);
            const float *at = weights + terms * panel + done;
            int most = V ? MOST_ROWS(V) : 8, column = panel + done;
            for (int first = 0, R; first < n; first += R) {
                R = n - first < most ? n - first : most;
                CHOOSE(ROWS, R, V)
            }
        }
    }
}

/* Add to the gradient `(runs * length, columns)` what a grid of deltas `(columns)` asks for; `a` is
 * the grid of the windows that the deltas belong to. */
static void accumulate(Window w, int lines, int length, Grid a, Grid d, float *gradient, int columns) {
    long terms = (long)w.runs * w.length;
    for (int panel = 0; panel < columns; panel += PANEL) {
        int pitch = columns - panel < PANEL ? columns - panel : PANEL;
        for (int done = 0, V; done < pitch; done += V ? V * 16 : 8) {
            V = vectors(pitch - done);
            int most = V ? MOST_ROWS(V) : 8;
            Grid deltas = {d.first + panel + done, d.step, d.skip};
            for (int run = 0; run < w.runs; run++)
                for (int k = 0, K; k < w.length; k += K) {
                    K = w.length - k < most ? w.length - k : most;
                    Grid terms_at = {a.first + run * w.stride + k, a.step, a.skip};
                    float *at = gradient + terms * panel + ((long)run * w.length + k) * pitch + done;
                    CHOOSE(OUTER, K, V)
                }
        }
    }
}

/* Weights `(terms, columns)` as `(outputs, padded(terms))`. */
static void transpose(const float *weights, long terms, int outputs, float *into) {
    int columns = padded(outputs), rows = padded((int)terms);
    memset(into, 0, sizeof(float) * outputs * rows);
    for (int op = 0; op < columns; op += PANEL) {
        int ow = columns - op < PANEL ? columns - op : PANEL;
        for (int ip = 0; ip < rows; ip += PANEL) {
            int iw = rows - ip < PANEL ? rows - ip : PANEL, end = terms - ip < iw ? (int)terms - ip : iw;
            float *to = into + (long)outputs * ip;
            for (int o = 0; o < ow && op + o < outputs; o++)
                for (int i = 0; i < end; i++)
                    to[(long)(op + o) * iw + i] = weights[terms * op + (long)(ip + i) * ow + o];
        }
    }
}

#endif
