/* Steps of a single linear layer of few outputs by plain SGD: logistic regression.
 *
 * What lies between a batch and the new weights stays in registers.  The operations are those of
 * `forward`, `cross_entropy`, `backward` and `update` in the same order, and so are the bits. */
#ifndef SIMFL_SINGLE_H
#define SIMFL_SINGLE_H

#include "cross_entropy.h"

#define FEW 16  /* columns at most */
#ifdef __AVX512F__
#define AT_ONCE 8  /* rows, or terms, whose sums stay in registers */
#else
#define AT_ONCE 4
#endif

static int is_single(const Network *n, const Settings *s, const Clients *all) {
    const Linear *l = &n->linear[0];
    int few = !n->convolutions && n->linears == 1 && padded(l->outputs) <= FEW;
    int simple = !l->after[0] || (l->after[0] == SIGMOID && !l->after[1]);
    int plain = s->kind == SGD && s->momentum == 0 && s->weight_decay == 0 && s->proximal == 0 && !(s->clip > 0);
    return few && simple && plain && !all->crops && !all->offsets;
}

/* What the layer makes `(8, columns)` of eight rows. */
ALWAYS void eight_rows(const int columns, const float *const *a, int inputs, const float *params, float *into) {
    const Window window = {1, inputs, 0};
    const float *bias = params + (long)inputs * columns;
    for (int r = 0; r < 8; r += AT_ONCE) {
        float *to = into + r * columns;
        if (columns == FEW) rows_times_wide(AT_ONCE, 1, window, a + r, 0, params, FEW, 1, bias, to, FEW);
        else rows_times_narrow(AT_ONCE, 1, window, a + r, 0, params, PAD, 1, bias, to, PAD);
    }
}

/* Return the losses of eight rows; `deltas`: what goes back from those of the first `count`. */
ALWAYS narrow eight_losses(const int columns, const int classes, int sigmoid, const float *outputs, choices label,
                           narrow weight, int count, float smoothing, float *deltas) {
    narrow z[FEW], d[FEW], right = {0}, sum = {0}, rest = {0};
    float even = smoothing / (float)classes;
    by_class(outputs, columns, 8, z);
    if (sigmoid)
        for (int o = 0; o < classes; o += 2)  /* columns are a multiple of 8 */
            *(wide *)(z + o) = 1.0f / (1.0f + wide_exponential(-*(const wide *)(z + o)));
    narrow most = z[0];
    for (int o = 1; o < classes; o++) most = choose(z[o] > most, z[o], most);
    const wide most_twice = __builtin_shufflevector(most, most, 0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7);
    for (int o = 0; o < classes; o += 2) *(wide *)(d + o) = wide_exponential(*(const wide *)(z + o) - most_twice);
    for (int o = 0; o < classes; o++) {
        sum += d[o];
        rest += z[o] - most;
        right = choose(label == o, z[o], right);
    }
    narrow share = weight / sum, whole = weight * (1.0f - smoothing);
    for (int o = 0; o < classes; o++) {
        d[o] = d[o] * share - weight * even;
        d[o] -= choose(label == o, whole, (narrow){0});
        if (sigmoid) d[o] *= z[o] * (1.0f - z[o]);
    }
    for (int o = classes; o < columns; o++) d[o] = (narrow){0};
    if (count == 8) by_row(d, columns, 8, deltas);
    else by_row(d, columns, count, deltas);
    narrow loss = logarithm(sum) - (1.0f - smoothing) * (right - most) - even * rest;
    return choose(sum < INFINITY, loss, NAN - (narrow){0});
}

ALWAYS void descend(float *p, const float *gradient, float rate, int count) {
    for (int i = 0; i < count; i++) p[i] = __builtin_fmaf(-rate, gradient[i], p[i]);
}

/* Change the weights of `terms` inputs, from `first` on, as `count` deltas ask for. */
ALWAYS void change_weights(const int columns, const int terms, const float *const *a, int first, int count,
                           const float *deltas, float rate, float *params) {
    float gradient[AT_ONCE * FEW];
    if (columns == FEW) outer_sum_wide(terms, 1, count, a, first, deltas, FEW, 1, gradient, FEW);
    else outer_sum_narrow(terms, 1, count, a, first, deltas, PAD, 1, gradient, PAD);
    descend(params + (long)first * columns, gradient, rate, terms * columns);
}

ALWAYS void step_of(Memory *m, const Linear *l, const int columns, const int classes, const Clients *all,
                    const int64_t *rows, const float *weights, int count, float smoothing, float rate) {
    float *deltas = m->back[1], *params = m->params, outputs[8 * FEW], bias[FEW];
    for (int first = 0; first < count; first += 8) {
        const float *at[8];
        choices label;
        narrow weight = {0};
        int here = smaller(count - first, 8);
        for (int i = 0; i < 8; i++) {  /* those behind the last one as the first */
            int64_t row = rows[first + (i < here ? i : 0)];
            at[i] = all->x + row * all->row_size;
            label[i] = (int32_t)all->labels[row];
            if (i < here) m->first[first + i] = at[i];
        }
        if (here == 8) weight = *(const narrow *)(weights + first);
        else for (int i = 0; i < here; i++) weight[i] = weights[first + i];
        eight_rows(columns, at, l->inputs, params, outputs);
        narrow loss = eight_losses(columns, classes, l->after[0], outputs, label, weight, here, smoothing,
                                   deltas + (long)first * columns);
        store(m->losses + first, loss, here);
    }
    int k = 0;
    for (; k + AT_ONCE <= l->inputs; k += AT_ONCE)
        change_weights(columns, AT_ONCE, m->first, k, count, deltas, rate, params);
    if (k + 4 <= l->inputs) {
        change_weights(columns, 4, m->first, k, count, deltas, rate, params);
        k += 4;
    }
    for (; k < l->inputs; k++) change_weights(columns, 1, m->first, k, count, deltas, rate, params);
    bias_gradient(deltas, l->bias ? count : 0, l->outputs, 1, bias);
    descend(params + (long)l->inputs * columns, bias, rate, columns);
}

/* Make one step along a batch of `count` rows; note their losses. */
static void single_step(Memory *m, const Network *n, const Clients *all, const int64_t *rows,
                        const float *weights, int count, float smoothing, float rate) {
    const Linear *l = &n->linear[0];
    if (l->outputs == 10) step_of(m, l, FEW, 10, all, rows, weights, count, smoothing, rate);
    else if (l->outputs > PAD) step_of(m, l, FEW, l->outputs, all, rows, weights, count, smoothing, rate);
    else step_of(m, l, PAD, l->outputs, all, rows, weights, count, smoothing, rate);
}

#endif
