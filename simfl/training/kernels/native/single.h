/* Steps of a single linear layer of few outputs by plain SGD: logistic regression.
 *
 * Forward, eight rows go side by side, and so do their losses; back, the inputs do: no vector has
 * columns that nobody needs.  Weights lie in blocks of BLOCK inputs, in each of them output after
 * output; the last block ends with the last input, so its first inputs may be in the one before, too.
 * The operations are those of `forward`, `cross_entropy`, `backward` and `update` in the same order,
 * and so are the bits. */
#ifndef SIMFL_SINGLE_H
#define SIMFL_SINGLE_H

#include "cross_entropy.h"

#define FEW 16  /* outputs at most */
#define BLOCK 16
#define TURNED 64  /* inputs of eight rows that are turned at once */
#ifdef __AVX512F__
#define AT_ONCE(OUTPUTS) ((OUTPUTS) == 10 ? 10 : 8)  /* whose sums stay in registers on the way back */
#else
#define AT_ONCE(OUTPUTS) ((OUTPUTS) == 10 ? 5 : 4)
#endif

static int is_single(const Network *n, const Settings *s, const Clients *all) {
    const Linear *l = &n->linear[0];
    int few = !n->convolutions && n->linears == 1 && l->outputs <= FEW && l->inputs >= BLOCK;
    int simple = !l->after[0] || (l->after[0] == SIGMOID && !l->after[1]);
    int plain = s->kind == SGD && s->momentum == 0 && s->weight_decay == 0 && s->proximal == 0 && !(s->clip > 0);
    return few && simple && plain && !all->crops && !all->offsets;
}

/* Outputs that are computed: no fewer than there are. */
static int computed(const Linear *l) { return l->outputs == 10 ? 10 : padded(l->outputs); }

/* The first input of a block that should begin with `input`. */
ALWAYS int begins(int input, int inputs) { return smaller(input, inputs - BLOCK); }

/* Between the flat vector and the blocks, with the biases in `params`; `out` of here, or into. */
static void exchange_blocks(const Memory *m, const Linear *l, float *flat, const int32_t *index, int out) {
    int columns = padded(l->outputs);
    const int32_t *places = index + (long)l->inputs * columns;
    float *block = m->turned;
    for (int k = 0; k < l->inputs; k += BLOCK, block += computed(l) * BLOCK)
        for (int o = 0; o < computed(l); o++) {
            wide *here = (wide *)(block + o * BLOCK), *there = (wide *)(flat + index[o] + begins(k, l->inputs));
            if (out && o < l->outputs) *there = *here;
            else *here = o < l->outputs ? *there : (wide){0};
        }
    for (int o = 0; o < columns; o++)
        if (!out) m->params[o] = places[o] < 0 ? 0.0f : flat[places[o]];
        else if (places[o] >= 0) flat[places[o]] = m->params[o];
}

/* Four numbers of each of eight rows, number by number. */
ALWAYS void turn_four(const float *const *a, int first, narrow *into) {
    narrow r[4], t[4];
    for (int i = 0; i < 4; i++) {
        quarter low = *(const quarter *)(a[i] + first), high = *(const quarter *)(a[i + 4] + first);
        r[i] = __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7);
    }
    for (int i = 0; i < 4; i += 2) {
        t[i] = __builtin_shufflevector(r[i], r[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
        t[i + 1] = __builtin_shufflevector(r[i], r[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
    }
    for (int i = 0; i < 2; i++) {
        into[2 * i] = __builtin_shufflevector(t[i], t[i + 2], 0, 1, 8, 9, 4, 5, 12, 13);
        into[2 * i + 1] = __builtin_shufflevector(t[i], t[i + 2], 2, 3, 10, 11, 6, 7, 14, 15);
    }
}

/* What the layer makes of eight rows, output by output. */
ALWAYS void eight_rows(const int outputs, const float *const *a, int inputs, const float *weights,
                       const float *bias, narrow *into) {
    narrow turned[4 + TURNED], *x = turned + 4;
    for (int o = 0; o < outputs; o++) into[o] = bias[o] - (narrow){0};
    for (int from = 0; from < inputs; from += TURNED) {
        int end = smaller(from + TURNED, inputs);
        for (int k = from; k < end; k += 4)
            turn_four(a, smaller(k, end - 4), x + smaller(k, end - 4) - from);
        narrow sum[FEW];
        for (int o = 0; o < outputs; o++) sum[o] = into[o];
        for (int k = from; k < end; weights += outputs * BLOCK)
            for (int place = k - begins(k, inputs); place < BLOCK; place++, k++)
                for (int o = 0; o < outputs; o++)
                    sum[o] = __builtin_elementwise_fma(weights[o * BLOCK + place] - (narrow){0}, x[k - from], sum[o]);
        for (int o = 0; o < outputs; o++) into[o] = sum[o];
    }
}

/* Return the losses of eight rows of outputs `z`; `d`: what goes back. */
ALWAYS narrow eight_losses(const int outputs, const int classes, int sigmoid, narrow *z, choices label,
                           narrow weight, float smoothing, narrow *d) {
    narrow right = {0}, sum = {0}, rest = {0};
    float even = smoothing / (float)classes;
    if (sigmoid)
        for (int o = 0; o < classes; o += 2)  /* outputs are even */
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
    for (int o = 0; o < classes; o++) d[o] = d[o] * share - weight * even - choose(label == o, whole, (narrow){0});
    if (sigmoid)
        for (int o = 0; o < classes; o++) d[o] *= z[o] * (1.0f - z[o]);
    for (int o = classes; o < outputs; o++) d[o] = (narrow){0};
    narrow loss = logarithm(sum) - (1.0f - smoothing) * (right - most) - even * rest;
    return choose(sum < INFINITY, loss, NAN - (narrow){0});
}

/* Add what the deltas of some of eight rows ask for to the gradients of a block's weights of some outputs. */
ALWAYS void add_deltas(const int outputs, const int rows, const float *const *a, int first, const narrow *deltas,
                       wide *sum) {
    for (int i = 0; i < rows; i++) {
        wide x = *(const wide *)(a[i] + first);
        for (int o = 0; o < outputs; o++)
            sum[o] = __builtin_elementwise_fma(x, ((const float *)(deltas + o))[i] - (wide){0}, sum[o]);
    }
}

/* Change a block's weights of some outputs, as the deltas of `count` rows ask for. */
ALWAYS void change_weights(const int outputs, const float *const *a, int first, int count, const narrow *deltas,
                           const int skip, float rate, float *weights) {
    wide sum[FEW];
    for (int o = 0; o < outputs; o++) sum[o] = (wide){0};
    for (; count >= PAD; a += PAD, count -= PAD, deltas += skip) add_deltas(outputs, PAD, a, first, deltas, sum);
    add_deltas(outputs, count, a, first, deltas, sum);
    for (int o = 0; o < outputs; o++) {
        wide *here = (wide *)(weights + o * BLOCK);
        *here = __builtin_elementwise_fma(-rate - (wide){0}, sum[o], *here);
    }
}

ALWAYS void step_of(Memory *m, const Linear *l, const int outputs, const int classes, const Clients *all,
                    const int64_t *rows, const float *row_weights, int count, float smoothing, float rate) {
    narrow *deltas = (narrow *)m->back[1], z[FEW];
    float *weights = m->turned, *bias = m->params;
    for (int first = 0; first < count; first += PAD) {
        const float *at[PAD];
        choices label;
        narrow weight = {0};
        int here = smaller(count - first, PAD);
        for (int i = 0; i < PAD; i++) {  /* those behind the last one as the first */
            int64_t row = rows[first + (i < here ? i : 0)];
            at[i] = all->x + row * all->row_size;
            label[i] = (int32_t)all->labels[row];
            if (i < here) m->first[first + i] = at[i];
        }
        if (here == PAD) weight = *(const narrow *)(row_weights + first);
        else for (int i = 0; i < here; i++) weight[i] = row_weights[first + i];
        eight_rows(outputs, at, l->inputs, weights, bias, z);
        narrow loss = eight_losses(outputs, classes, l->after[0], z, label, weight, smoothing,
                                   deltas + first / PAD * outputs);
        store(m->losses + first, loss, here);
    }
    for (int k = 0; k < l->inputs; k += BLOCK)
        for (int o = 0; o < outputs; o += AT_ONCE(outputs), weights += AT_ONCE(outputs) * BLOCK)
            change_weights(AT_ONCE(outputs), m->first, begins(k, l->inputs), count, deltas + o, outputs, rate, weights);
    for (int o = 0; l->bias && o < classes; o++) {
        const narrow *delta = deltas + o;
        float sum = 0.0f;
        for (int r = 0; r < count; r += PAD, delta += outputs)  /* those behind the last one are zero */
            for (int i = 0; i < PAD; i++) sum += ((const float *)delta)[i];
        bias[o] = __builtin_fmaf(-rate, sum, bias[o]);
    }
}

/* Make one step along a batch of `count` rows; note their losses. */
static void single_step(Memory *m, const Network *n, const Clients *all, const int64_t *rows,
                        const float *weights, int count, float smoothing, float rate) {
    const Linear *l = &n->linear[0];
    if (l->outputs == 10) step_of(m, l, 10, 10, all, rows, weights, count, smoothing, rate);
    else if (l->outputs > PAD) step_of(m, l, FEW, l->outputs, all, rows, weights, count, smoothing, rate);
    else step_of(m, l, PAD, l->outputs, all, rows, weights, count, smoothing, rate);
}

#endif
