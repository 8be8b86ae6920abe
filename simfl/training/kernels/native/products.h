/* Matrix products of a few rows, or of the pixels of a picture, with a matrix of weights.
 *
 * A matrix of weights `(terms, columns)` lies in panels of PANEL columns, the last one narrower:
 * panel after panel, in each of them row after row.  Sums are interrupted, and go on from memory,
 * where what they need next would no longer fit the nearest cache. */
#ifndef SIMFL_PRODUCTS_H
#define SIMFL_PRODUCTS_H

#include "vectors.h"

/* Where the terms of a sum are found: `runs` runs of `length` floats, `stride` floats apart. */
typedef struct { int runs, length; long stride; } Window;

#define NEAR 64  /* terms, or rows, of PANEL columns that fit the nearest cache beside all else */
#define ALWAYS static inline __attribute__((always_inline))
#ifdef __AVX512F__
#define MOST_VECTORS 4  /* side by side: sums and weights should stay in registers */
#define MOST_ROWS(V) ((V) >= 4 ? 6 : 8)
#else
#define MOST_VECTORS 2
#define MOST_ROWS(V) ((V) >= 2 ? 3 : 6)
#endif

/* For vectors `T`:
 * rows_times: out[r] += sum over the window of a[r] of term * weights, R rows, V vectors of columns,
 * beginning with `bias` (or 0) if `fresh`; outer_sum: g[k] += sum over n rows of a[k] * d, K terms,
 * beginning with 0 if `fresh`. */
#define PRODUCTS(T)                                                                                  \
    ALWAYS void rows_times_##T(const int R, const int V, Window w, const float *const *a, long shift, \
                               const float *weights, int pitch, int fresh, const float *bias,        \
                               float *out, long skip) {                                              \
        enum { WIDTH = sizeof(T) / sizeof(float) };                                                  \
        T sum[8][4];                                                                                 \
        for (int r = 0; r < R; r++)                                                                  \
            for (int v = 0; v < V; v++)                                                              \
                sum[r][v] = !fresh ? *(const T *)(out + r * skip + v * WIDTH)                        \
                            : bias ? *(const T *)(bias + v * WIDTH) : (T){0};                        \
        for (int run = 0; run < w.runs; run++) {                                                     \
            const float *term[8];                                                                    \
            for (int r = 0; r < R; r++) term[r] = a[r] + shift + run * w.stride;                     \
            for (int k = 0; k < w.length; k++, weights += pitch) {                                   \
                T weight[4];                                                                         \
                for (int v = 0; v < V; v++) weight[v] = *(const T *)(weights + v * WIDTH);           \
                for (int r = 0; r < R; r++)                                                          \
                    for (int v = 0; v < V; v++)                                                      \
                        sum[r][v] = __builtin_elementwise_fma(term[r][k] - (T){0}, weight[v], sum[r][v]); \
            }                                                                                        \
        }                                                                                            \
        for (int r = 0; r < R; r++)                                                                  \
            for (int v = 0; v < V; v++) *(T *)(out + r * skip + v * WIDTH) = sum[r][v];              \
    }                                                                                                \
    ALWAYS void outer_sum_##T(const int K, const int V, int n, const float *const *a, long shift,    \
                              const float *d, int skip, int fresh, float *g, int pitch) {            \
        enum { WIDTH = sizeof(T) / sizeof(float) };                                                  \
        T sum[8][4];                                                                                 \
        for (int k = 0; k < K; k++)                                                                  \
            for (int v = 0; v < V; v++)                                                              \
                sum[k][v] = fresh ? (T){0} : *(const T *)(g + k * pitch + v * WIDTH);                \
        for (int i = 0; i < n; i++, d += skip) {                                                     \
            const float *x = a[i] + shift;                                                           \
            T delta[4];                                                                              \
            for (int v = 0; v < V; v++) delta[v] = *(const T *)(d + v * WIDTH);                      \
            for (int k = 0; k < K; k++)                                                              \
                for (int v = 0; v < V; v++)                                                          \
                    sum[k][v] = __builtin_elementwise_fma(x[k] - (T){0}, delta[v], sum[k][v]);       \
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

static int smaller(int a, int b) { return a < b ? a : b; }

#define EACH(CASE, V) CASE(1, V) CASE(2, V) CASE(3, V) CASE(4, V) CASE(5, V) CASE(6, V) CASE(7, V) CASE(8, V)
#define CHOOSE(NAME, n, V)                                                                           \
    switch ((n) * 8 + (V)) { EACH(NAME##_NARROW, 0) EACH(NAME##_WIDE, 1) EACH(NAME##_WIDE, 2)        \
                             EACH(NAME##_WIDE, 3) EACH(NAME##_WIDE, 4) }
#define ROWS_WIDE(R, V) case (R) * 8 + (V): rows_times_wide(R, V, some, a + r, shift, at, pitch, fresh, bias, to, skip); break;
#define ROWS_NARROW(R, V) case (R) * 8: rows_times_narrow(R, 1, some, a + r, shift, at, pitch, fresh, bias, to, skip); break;
#define OUTER_WIDE(K, V) case (K) * 8 + (V): outer_sum_wide(K, V, n, a, shift, d, skip, fresh, at, pitch); break;
#define OUTER_NARROW(K, V) case (K) * 8: outer_sum_narrow(K, 1, n, a, shift, d, skip, fresh, at, pitch); break;

/* Add `some` terms of the sums of `n` rows, `V` vectors of columns. */
static void add_terms(int n, Window some, const float *const *a, long shift, const float *at, int pitch,
                      int V, int fresh, const float *bias, float *out, long skip) {
    int most = V ? MOST_ROWS(V) : 8;
    for (int r = 0, R; r < n; r += R) {
        float *to = out + r * skip;
        R = smaller(n - r, most);
        CHOOSE(ROWS, R, V)
    }
}

/* out[r] `(columns)`, `skip` floats apart, of the windows at `a[r]`, `n` rows; `columns` is a
 * multiple of PAD; bias may be NULL. */
static void multiply(int n, Window w, const float *const *a, const float *weights, int columns,
                     const float *bias, float *out, long skip) {
    long terms = (long)w.runs * w.length;
    for (int panel = 0; panel < columns; panel += PANEL) {
        int pitch = smaller(columns - panel, PANEL), near = NEAR * PANEL / pitch;
        int runs = w.length < near ? near / w.length : 1, length = smaller(w.length, near);
        for (int done = 0, V; done < pitch; done += V ? V * 16 : 8) {
            const float *at = weights + terms * panel + done, *first = bias ? bias + panel + done : NULL;
            V = vectors(pitch - done);
            for (int run = 0; run < w.runs; run += runs)
                for (int k = 0; k < w.length; k += length) {
                    Window some = {smaller(w.runs - run, runs), smaller(w.length - k, length), w.stride};
                    add_terms(n, some, a, run * w.stride + k, at, pitch, V, !run && !k, first,
                              out + panel + done, skip);
                    at += (long)some.runs * some.length * pitch;
                }
        }
    }
}

/* Add to the gradient `(length, columns)` of one run of terms what `n` deltas ask for. */
static void add_rows(int n, int length, const float *const *a, long first, const float *d, int skip,
                     int V, int fresh, float *at, int pitch) {
    int most = V ? MOST_ROWS(V) : 8;
    for (int k = 0, K; k < length; k += K, at += K * pitch) {
        long shift = first + k;
        K = smaller(length - k, most);
        CHOOSE(OUTER, K, V)
    }
}

/* Add to the gradient `(runs * length, columns)` what `n` deltas `(columns)`, one behind the other,
 * ask for; `a` is where the windows that they belong to begin; `fresh`: there is no gradient yet. */
static void accumulate(int n, Window w, const float *const *a, const float *deltas, int columns, int fresh,
                       float *gradient) {
    long terms = (long)w.runs * w.length;
    for (int panel = 0; panel < columns; panel += PANEL) {
        int pitch = smaller(columns - panel, PANEL), near = NEAR * PANEL / pitch;
        for (int done = 0, V; done < pitch; done += V ? V * 16 : 8) {
            V = vectors(pitch - done);
            for (int i = 0; i < n; i += near)
                for (int run = 0; run < w.runs; run++)
                    add_rows(smaller(n - i, near), w.length, a + i, run * w.stride,
                             deltas + (long)i * columns + panel + done, columns, V, fresh && !i,
                             gradient + terms * panel + (long)run * w.length * pitch + done, pitch);
        }
    }
}

/* Add `rows` deltas `(columns)` to the gradient of the biases; `fresh`: there is none yet. */
static void bias_gradient(const float *deltas, long rows, int outputs, int fresh, float *gradient) {
    int columns = padded(outputs);
    for (int o = 0; o < columns; o += 8) {
        narrow sum = fresh ? (narrow){0} : *(const narrow *)(gradient + o);
        for (long r = 0; r < rows; r++) sum += *(const narrow *)(deltas + r * columns + o);
        *(narrow *)(gradient + o) = sum;
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
