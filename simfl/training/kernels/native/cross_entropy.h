/* The loss: weighted cross-entropy, with label smoothing as in torch. */
#ifndef SIMFL_CROSS_ENTROPY_H
#define SIMFL_CROSS_ENTROPY_H

#include "memory.h"
#include "products.h"

#include <math.h>

/* Eight rows `(columns)`, those behind `count` as the first, class by class. */
static void by_class(const float *rows, int columns, int count, narrow *into) {
    for (int o = 0; o < columns; o += 8) {
        narrow square[8];
        for (int i = 0; i < 8; i++) square[i] = *(const narrow *)(rows + (i < count ? i : 0) * (long)columns + o);
        turn(square, (float *)(into + o));
    }
}

/* The first `count` of them, row by row again. */
static void by_row(const narrow *classes, int columns, int count, float *rows) {
    for (int o = 0; o < columns; o += 8) {
        narrow square[8];
        turn(classes + o, (float *)square);
        for (int i = 0; i < count; i++) *(narrow *)(rows + (long)i * columns + o) = square[i];
    }
}

/* Number `i` of each of eight rows. */
static inline narrow column(const float *const *rows, int i) {
    return (narrow){rows[0][i], rows[1][i], rows[2][i], rows[3][i], rows[4][i], rows[5][i], rows[6][i], rows[7][i]};
}

/* The cross-entropy of the first `count` of eight rows of logits, and whether the first of the largest is the
 * label's. */
static void judge_eight(const float *const *rows, int classes, const int64_t *labels, int count, double *losses,
                        uint8_t *right) {
    narrow most = column(rows, 0), sum = {0};
    choices place = {0};
    for (int o = 1; o < classes; o++) {
        narrow z = column(rows, o);
        choices more = z > most;
        most = choose(more, z, most);
        place = (more & o) | (~more & place);
    }
    for (int o = 0; o < classes; o += 2) {
        narrow d[2] = {column(rows, o) - most, column(rows, o + 1 < classes ? o + 1 : o) - most};
        *(wide *)d = wide_exponential(*(const wide *)d);
        sum += d[0];
        if (o + 1 < classes) sum += d[1];
    }
    narrow logarithms = logarithm(sum);
    for (int r = 0; r < count; r++) {
        losses[r] = sum[r] < INFINITY ? logarithms[r] - (rows[r][labels[r]] - most[r]) : NAN;
        right[r] = place[r] == labels[r];
    }
}

/* Eight rows side by side, so that each one's sums go class after class. */
static void cross_entropy(Memory *m, const Network *n, const float *logits, const int64_t *labels,
                          const int64_t *rows, const float *weights, int count, float smoothing) {
    const Linear *last = &n->linear[n->linears - 1];
    int columns = padded(last->outputs), classes = last->outputs;
    narrow *z = m->across, *d = z + columns;
    float even = smoothing / (float)classes;
    for (int first = 0; first < count; first += 8) {
        int here = smaller(count - first, 8);
        float *back = m->back[n->linears] + (long)first * columns;
        narrow weight = {0}, right = {0}, sum = {0}, rest = {0};
        for (int i = 0; i < here; i++) weight[i] = weights[first + i];
        by_class(logits + (long)first * columns, columns, here, z);
        narrow most = z[0];
        for (int o = 1; o < classes; o++) most = choose(z[o] > most, z[o], most);
        const wide most_twice = __builtin_shufflevector(most, most, 0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7);
        for (int o = 0; o < classes; o += 2)  /* columns are a multiple of 8 */
            *(wide *)(d + o) = wide_exponential(*(const wide *)(z + o) - most_twice);
        for (int o = 0; o < classes; o++) {
            sum += d[o];
            rest += z[o] - most;
        }
        narrow share = weight / sum;
        for (int o = 0; o < classes; o++) d[o] = d[o] * share - weight * even;
        for (int o = classes; o < columns; o++) d[o] = (narrow){0};
        by_row(d, columns, here, back);
        for (int i = 0; i < here; i++) {
            int64_t label = labels[rows[first + i]];
            back[(long)i * columns + label] -= weight[i] * (1.0f - smoothing);
            right[i] = z[label][i];
        }
        narrow loss = logarithm(sum) - (1.0f - smoothing) * (right - most) - even * rest;
        store(m->losses + first, choose(sum < INFINITY, loss, NAN - (narrow){0}), here);
    }
}

#endif
