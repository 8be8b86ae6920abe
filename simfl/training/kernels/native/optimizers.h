/* What a step makes of a gradient: FedProx's pull, clipping, then SGD, Adam or AdamW. */
#ifndef SIMFL_OPTIMIZERS_H
#define SIMFL_OPTIMIZERS_H

#include "network.h"

#include <math.h>

static void clip(float *g, long size, float most) {
    double squares = 0.0;
    for (long i = 0; i < size; i++) squares += (double)g[i] * (double)g[i];
    double scale = (double)most / (sqrt(squares) + 1e-6);
    if (scale >= 1.0) return;
    for (long i = 0; i < size; i++) g[i] *= (float)scale;
}

static double power(double base, int exponent) {
    double result = 1.0;
    for (; exponent; exponent >>= 1, base *= base)
        if (exponent & 1) result *= base;
    return result;
}

/* Sums of a step, which begin at zero with every client. */
typedef struct { float *first, *second; } State;

static void update(const Settings *s, long size, int step, float rate, float *restrict p, float *restrict g,
                   const float *base, const float *offset, State state) {
    float *restrict first = state.first, *restrict second = state.second;
    if (offset) for (long i = 0; i < size; i++) g[i] += offset[i];
    if (s->proximal != 0) for (long i = 0; i < size; i++) g[i] += s->proximal * (p[i] - base[i]);
    if (s->clip > 0) clip(g, size, s->clip);
    if (s->kind == ADAMW) for (long i = 0; i < size; i++) p[i] *= 1.0f - rate * s->weight_decay;
    else if (s->weight_decay != 0) for (long i = 0; i < size; i++) g[i] += s->weight_decay * p[i];
    if (s->kind != SGD) {
        double c1 = 1.0 - power(s->beta1, step + 1), c2 = 1.0 - power(s->beta2, step + 1);
        float scaled = (float)(rate / c1), root = (float)sqrt(c2), new1 = 1.0f - s->beta1, new2 = 1.0f - s->beta2;
        for (long i = 0; i < size; i++) {
            first[i] += new1 * (g[i] - first[i]);
            second[i] = s->beta2 * second[i] + new2 * g[i] * g[i];
            p[i] -= scaled * first[i] / (sqrtf(second[i]) / root + s->epsilon);
        }
        return;
    }
    if (s->momentum != 0) {
        for (long i = 0; i < size; i++) first[i] = step ? s->momentum * first[i] + g[i] : g[i];
        for (long i = 0; i < size; i++) g[i] = s->nesterov ? g[i] + s->momentum * first[i] : first[i];
    }
    for (long i = 0; i < size; i++) p[i] = __builtin_fmaf(-rate, g[i], p[i]);
}

#endif
