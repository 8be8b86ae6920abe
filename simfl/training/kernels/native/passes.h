/* A batch's way through all layers, forward to the logits and back to the gradient. */
#ifndef SIMFL_PASSES_H
#define SIMFL_PASSES_H

#include "convolutions.h"
#include "elementwise.h"
#include "pictures.h"

/* Where the pooled output of convolution `i`, or what comes back to it, lies for row `r`: in `framed`,
 * the next convolution's pictures with their borders, or in `flat`, the first linear layer's rows. */
static float *pooled(const Memory *m, const Network *n, int i, int r, float *const *framed, float *flat) {
    const Convolution *next = &n->convolution[i + 1];
    if (i + 1 == n->convolutions) return flat + r * m->pitch[0];
    long corner = ((long)next->padding * framed_width(next) + next->padding) * next->channels;
    return framed[i + 1] + r * framed_size(next) + corner;
}

/* How far the lines of both are apart. */
static long pooled_line(const Network *n, int i) {
    const Convolution *c = &n->convolution[i], *next = c + 1;
    return i + 1 < n->convolutions ? (long)framed_width(next) * next->channels : (long)pooled_width(c) * c->outputs;
}

static const float *forward(Memory *m, const Network *n, const float *params, const float *x, long row_size,
                            const int64_t *rows, int count, const float *masks, const Crops *crops, int learning) {
    for (int r = 0; r < count; r++) {
        const float *at = params;
        m->first[r] = picture(m, n, crops, r, x + rows[r] * row_size, learning);
        for (int i = 0; i < n->convolutions; i++) {
            const Convolution *c = &n->convolution[i];
            int few = !i && by_pixels(n);
            if (few) convolve_few(m, c, at);
            else convolve(m, c, m->inputs[i] + r * framed_size(c), at);
            float *into = pooled(m, n, i, r, m->inputs, m->flat[0]);
            int width = few ? framed_width(c) : out_width(c);
            pool(m, c, width, into, pooled_line(n, i), m->winners[i] + r * pooled_size(c));
            at += (convolution_terms(c) + 1) * padded(c->outputs);
        }
    }
    const float *at = params, *value = NULL, *const *inputs = m->first;
    for (int i = 0; i < n->convolutions; i++)
        at += (convolution_terms(&n->convolution[i]) + 1) * padded(n->convolution[i].outputs);
    for (int i = 0; i < n->linears; i++) {
        const Linear *l = &n->linear[i];
        int columns = padded(l->outputs);
        Window window = {1, l->inputs, 0};
        if (i) point(m, value, m->pitch[i], count), inputs = m->rows;
        multiply(count, window, inputs, at, columns, at + (long)l->inputs * columns, m->flat[i + 1], columns);
        value = apply(m, l, i, (long)count * columns, count, masks, n->masks);
        at += ((long)l->inputs + 1) * columns;
    }
    return value;
}

/* Return the rows of what went into a linear layer. */
static const float *const *inputs_of(Memory *m, const Network *n, int layer, int count) {
    if (!layer) return m->first;
    const Linear *before = &n->linear[layer - 1];
    int many = 0;
    while (many < MOST_AFTER && before->after[many]) many++;
    point(m, many ? m->applied[layer - 1][many - 1] : m->flat[layer], m->pitch[layer], count);
    return m->rows;
}

/* From what comes back to the logits to the gradient of all parameters. */
static void backward(Memory *m, const Network *n, const float *params, int count, const float *masks) {
    long at = parameters(n);
    for (int i = n->linears - 1; i >= 0; i--) {
        const Linear *l = &n->linear[i];
        int columns = padded(l->outputs);
        at -= ((long)l->inputs + 1) * columns;
        undo(m, l, i, (long)count * columns, count, masks, n->masks);
        Window window = {1, l->inputs, 0};
        accumulate(count, window, inputs_of(m, n, i, count), m->back[i + 1], columns, 1, m->gradient + at);
        float *bias = m->gradient + at + (long)l->inputs * columns;
        bias_gradient(m->back[i + 1], l->bias ? count : 0, l->outputs, 1, bias);
        if (i || n->convolutions) {
            Window back = {1, l->outputs, 0};
            transpose(params + at, l->inputs, l->outputs, m->turned);
            point(m, m->back[i + 1], columns, count);
            multiply(count, back, m->rows, m->turned, padded(l->inputs), NULL, m->back[i], m->pitch[i]);
        }
    }
    for (int i = n->convolutions - 1; i >= 0; i--) {
        const Convolution *c = &n->convolution[i];
        at -= (convolution_terms(c) + 1) * padded(c->outputs);
        if (i) transpose(params + at, convolution_terms(c), c->outputs, m->turned);
        for (int r = 0; r < count; r++) {
            const float *value = pooled(m, n, i, r, m->inputs, m->flat[0]);
            const float *back = pooled(m, n, i, r, m->belows, m->back[0]);
            unpool(m, c, value, back, pooled_line(n, i), m->winners[i] + r * pooled_size(c));
            convolution_gradient(m, c, m->inputs[i] + r * framed_size(c), !r, m->gradient + at);
            if (i) convolve_back(m, c, m->belows[i] + r * framed_size(c));
        }
    }
}

#endif
