/* How large everything is that a network needs for a batch, and where in memory it lies.
 *
 * Pictures lie pixel by pixel, the channels of a pixel together; the input of a padded convolution
 * has a border of zeros.  Outputs, and what is propagated back to them, take `padded(outputs)`
 * floats a pixel, the rest of which is zero or never looked at. */
#ifndef SIMFL_MEMORY_H
#define SIMFL_MEMORY_H

#include "network.h"
#include "pixels.h"

static int out_height(const Convolution *c) { return c->height + 2 * c->padding - c->kernel + 1; }
static int out_width(const Convolution *c) { return c->width + 2 * c->padding - c->kernel + 1; }
static int pooled_height(const Convolution *c) { return out_height(c) / c->pool; }
static int pooled_width(const Convolution *c) { return out_width(c) / c->pool; }
static int framed_width(const Convolution *c) { return c->width + 2 * c->padding; }

static long framed_size(const Convolution *c) {
    return (long)(c->height + 2 * c->padding) * framed_width(c) * c->channels;
}
static long pixels(const Convolution *c) { return (long)out_height(c) * out_width(c); }
static long pooled_size(const Convolution *c) {
    return (long)pooled_height(c) * pooled_width(c) * padded(c->outputs);
}
static long delta_size(const Convolution *c) { return pixels(c) * padded(c->outputs); }
static long convolution_terms(const Convolution *c) {
    return (long)c->kernel * c->kernel * c->channels;
}

/* Whether the first layer's outputs are so few that its pixels are taken side by side. */
static int by_pixels(const Network *n) { return n->convolutions && padded(n->convolution[0].outputs) == PAD; }
static long framed_pixels(const Convolution *c) { return (long)out_height(c) * framed_width(c); }

/* Numbers of all parameters: per layer the weights, then a bias for each (padded) output. */
static long parameters(const Network *n) {
    long size = 0;
    for (int i = 0; i < n->convolutions; i++)
        size += (convolution_terms(&n->convolution[i]) + 1) * padded(n->convolution[i].outputs);
    for (int i = 0; i < n->linears; i++)
        size += ((long)n->linear[i].inputs + 1) * padded(n->linear[i].outputs);
    return size;
}

typedef struct {
    float *inputs[MOST_LAYERS];     /* (batch, framed_size) of each convolution */
    uint8_t *winners[MOST_LAYERS];  /* (batch, pooled_size): who was largest in its square */
    float *planes;                  /* (channels, height, width), border included, one picture */
    float *output;                  /* (pixels, padded outputs) of a convolution, one picture */
    float *deltas;                  /* (delta_size), one picture */
    float *belows[MOST_LAYERS];     /* (batch, framed_size): what goes back to the inputs */
    float *columns;                 /* (out_width, padded terms): the same, window by window */
    float *turned;                  /* weights for going back; in single.h, all there are, in blocks */
    float *flat[MOST_LAYERS + 1];   /* (batch, pitch) input of each linear layer, and the logits */
    float *back[MOST_LAYERS + 1];   /* the same for what is propagated back */
    float *applied[MOST_LAYERS][MOST_AFTER];  /* (batch, padded) after each elementwise layer */
    float *params, *gradient;
    float *losses;                  /* (batch) */
    narrow *across;                 /* (2, padded outputs): the logits of eight rows, and what goes back */
    float *kept[4];                 /* the optimizer's two states, the base, the offset */
    const float **rows;             /* where the windows of a picture's pixels begin, or rows */
    const float **first;            /* (batch) the rows of the first linear layer's input */
    long pitch[MOST_LAYERS + 1];
} Memory;

static float *floats(char **at, long count) {
    float *here = (float *)*at;
    *at += (count * 4 + 127) / 64 * 64;
    return here;
}

static long largest(long a, long b) { return a > b ? a : b; }

/* Lay out memory from `base` on (NULL: only measure); return the bytes it takes. */
static long lay_out(Memory *m, const Network *n, int batch, char *base) {
    char *at = base;
    long rows = batch, output = 0, delta = 0, turned = 0, window = 0;
    for (int i = 0; i < n->convolutions; i++) {
        const Convolution *c = &n->convolution[i];
        m->inputs[i] = floats(&at, batch * framed_size(c) + PAD);
        m->winners[i] = (uint8_t *)floats(&at, (batch * pooled_size(c) + 3) / 4);
        output = largest(output, pixels(c) * padded(c->outputs));
        delta = largest(delta, delta_size(c));
        m->belows[i] = floats(&at, i ? batch * framed_size(c) : 0);
        turned = largest(turned, c->outputs * (convolution_terms(c) + PAD));
        window = largest(window, out_width(c) * (convolution_terms(c) + PAD));
        rows = largest(rows, pixels(c));
    }
    for (int i = 0; i < n->linears; i++) {
        const Linear *l = &n->linear[i];
        m->pitch[i] = padded(l->inputs);
        m->pitch[i + 1] = padded(l->outputs);
        m->flat[i] = floats(&at, batch * m->pitch[i]);
        m->back[i] = floats(&at, batch * m->pitch[i]);
        for (int a = 0; a < MOST_AFTER && l->after[a]; a++)
            m->applied[i][a] = floats(&at, batch * m->pitch[i + 1]);
        turned = largest(turned, (long)padded(l->inputs + PAD) * padded(l->outputs));
    }
    m->flat[n->linears] = floats(&at, batch * m->pitch[n->linears]);
    m->back[n->linears] = floats(&at, padded(batch) * m->pitch[n->linears]);
    if (by_pixels(n)) {
        const Convolution *c = &n->convolution[0];
        output = largest(output, (framed_pixels(c) + MOST_PIXELS) * PAD);
        m->planes = floats(&at, framed_size(c) + MOST_PIXELS);
    }
    m->output = floats(&at, output);
    m->deltas = floats(&at, delta);
    m->columns = floats(&at, window);
    m->turned = floats(&at, turned);
    m->params = floats(&at, parameters(n));
    m->gradient = floats(&at, parameters(n));
    for (int i = 0; i < 4; i++) m->kept[i] = floats(&at, parameters(n));
    m->losses = floats(&at, batch);
    m->across = (narrow *)floats(&at, 16 * m->pitch[n->linears]);
    m->rows = (const float **)floats(&at, 2 * rows);
    m->first = (const float **)floats(&at, 2 * batch);
    return at - base + 64;
}

/* Let `rows` point to the rows of a matrix. */
static void point(Memory *m, const float *a, long pitch, int rows) {
    for (int r = 0; r < rows; r++) m->rows[r] = a + r * pitch;
}

#endif
