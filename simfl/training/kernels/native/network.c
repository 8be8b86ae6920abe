/* Local training of one client after the other, for stacks of convolutions and linear layers.
 *
 * Pictures lie pixel by pixel, the channels of a pixel together; the input of a padded convolution
 * has a border of zeros.  Outputs, and what is propagated back to them, take `padded(outputs)`
 * floats a pixel, the rest of which is zero or never looked at. */

#include "network.h"
#include "pixels.h"
#include "products.h"

#include <math.h>

/* Sizes ------------------------------------------------------------------------------------------ */

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

/* Memory ----------------------------------------------------------------------------------------- */

typedef struct {
    float *inputs[MOST_LAYERS];     /* (batch, framed_size) of each convolution */
    uint8_t *winners[MOST_LAYERS];  /* (batch, pooled_size): who was largest in its square */
    float *planes;                  /* (channels, height, width), border included, one picture */
    float *output;                  /* (pixels, padded outputs) of a convolution, one picture */
    float *deltas;                  /* (delta_size), one picture */
    float *belows[MOST_LAYERS];     /* (batch, framed_size): what goes back to the inputs */
    float *columns;                 /* (out_width, padded terms): the same, window by window */
    float *turned;                  /* weights for going back */
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
        turned = largest(turned, (long)padded(l->inputs) * padded(l->outputs));
    }
    m->flat[n->linears] = floats(&at, batch * m->pitch[n->linears]);
    m->back[n->linears] = floats(&at, batch * m->pitch[n->linears]);
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

/* Convolutions ------------------------------------------------------------------------------------ */

/* Let `rows` point to where the window of each pixel begins. */
static Window windows(Memory *m, const Convolution *c, const float *input) {
    long p = 0, line = (long)framed_width(c) * c->channels;
    for (int y = 0; y < out_height(c); y++)
        for (int x = 0; x < out_width(c); x++) m->rows[p++] = input + y * line + (long)x * c->channels;
    return (Window){c->kernel, c->kernel * c->channels, line};
}

static void convolve(Memory *m, const Convolution *c, const float *input, const float *weights) {
    int columns = padded(c->outputs);
    Window window = windows(m, c, input);
    const float *bias = weights + convolution_terms(c) * columns;
    multiply((int)pixels(c), window, m->rows, weights, columns, bias, m->output, columns);
}

/* The same of the picture in `planes`; the border's pixels are in the output, too. */
static void convolve_few(Memory *m, const Convolution *c, const float *weights) {
    long line = framed_width(c), plane = line * (c->height + 2 * c->padding);
    const float *bias = weights + convolution_terms(c) * PAD;
    Square square = {c->kernel, c->channels, line, plane};
    convolve_pixels(framed_pixels(c), c->outputs, square, m->planes, weights, bias, m->output);
}

/* Store the first `count` of eight numbers. */
static void store(float *to, narrow value, int count) {
    if (count >= 8) *(narrow *)to = value;
    else for (int i = 0; i < count; i++) to[i] = value[i];
}

/* Pool and rectify `output`, lines of `width` pixels, into lines `skip` floats apart; note who won,
 * NOBODY beside the outputs. */
#define NOBODY 255
static void pool(const Memory *m, const Convolution *c, int width, float *into, long skip, uint8_t *winners) {
    int columns = padded(c->outputs), side = c->pool;
    const choices places = {0, 1, 2, 3, 4, 5, 6, 7};
    for (int y = 0; y < pooled_height(c); y++)
        for (int x = 0; x < pooled_width(c); x++, winners += columns) {
            const float *corner = m->output + ((long)y * side * width + x * side) * columns;
            for (int o = 0; o < columns; o += 8) {
                narrow best = *(const narrow *)(corner + o);
                choices winner = {0};
                for (int dy = 0, s = 0; dy < side; dy++)
                    for (int dx = 0; dx < side; dx++, s++) {
                        narrow other = *(const narrow *)(corner + ((long)dy * width + dx) * columns + o);
                        choices wins = other > best;
                        best = choose(wins, other, best);
                        winner = (wins & s) | (~wins & winner);
                    }
                if (c->relu) best = choose(best > 0.0f, best, (narrow){0});
                winner |= NOBODY & (places >= c->outputs - o);
                *(bytes *)(winners + o) = __builtin_convertvector(winner, bytes);
                store(into + y * skip + (long)x * c->outputs + o, best, c->outputs - o);
            }
        }
}

/* Give what comes back to a pooled pixel to the winner of its square; `skip` and `back_skip` are
 * how far the lines of the pooled picture, and of what comes back, are apart. */
static void unpool(Memory *m, const Convolution *c, const float *value, long skip, const uint8_t *winners,
                   const float *back, long back_skip) {
    int columns = padded(c->outputs), side = c->pool, width = out_width(c);
    if (pooled_height(c) * side < out_height(c) || pooled_width(c) * side < width)
        memset(m->deltas, 0, sizeof(float) * delta_size(c));
    for (int y = 0; y < pooled_height(c); y++)
        for (int x = 0; x < pooled_width(c); x++, winners += columns)
            for (int o = 0; o < columns; o += 8) {
                narrow best = *(const narrow *)(value + y * skip + (long)x * c->outputs + o);
                narrow from = *(const narrow *)(back + y * back_skip + (long)x * c->outputs + o);
                choices winner = __builtin_convertvector(*(const bytes *)(winners + o), choices);
                choices lives = c->relu ? best > 0.0f : ~(choices){0};
                float *corner = m->deltas + ((long)y * side * width + x * side) * columns + o;
                for (int dy = 0, s = 0; dy < side; dy++)
                    for (int dx = 0; dx < side; dx++, s++) {
                        narrow *to = (narrow *)(corner + ((long)dy * width + dx) * columns);
                        *to = choose((winner == s) & lives, from, (narrow){0});
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

static void convolution_gradient(Memory *m, const Convolution *c, const float *input, int fresh,
                                 float *gradient) {
    int columns = padded(c->outputs);
    Window window = windows(m, c, input);
    accumulate((int)pixels(c), window, m->rows, m->deltas, columns, fresh, gradient);
    float *bias = gradient + convolution_terms(c) * columns;
    bias_gradient(m->deltas, c->bias ? pixels(c) : 0, c->outputs, fresh, bias);
}

/* What goes back to the input, border included: window by window, and overlapping windows added. */
static void convolve_back(Memory *m, const Convolution *c, float *below) {
    int columns = padded(c->outputs), terms = padded((int)convolution_terms(c)), width = out_width(c);
    int run = c->kernel * c->channels;
    long line = (long)framed_width(c) * c->channels;
    Window window = {1, c->outputs, 0};
    const choices places = {0, 1, 2, 3, 4, 5, 6, 7};
    memset(below, 0, sizeof(float) * framed_size(c));
    for (int y = 0; y < out_height(c); y++) {
        point(m, m->deltas + (long)y * width * columns, columns, width);
        multiply(width, window, m->rows, m->turned, terms, NULL, m->columns, terms);
        for (int x = 0; x < width; x++)
            for (int k = 0; k < c->kernel; k++) {
                float *restrict to = below + (y + k) * line + (long)x * c->channels;
                const float *restrict from = m->columns + (long)x * terms + k * run;
                int i = 0;
                for (; i + 8 <= run; i += 8) *(narrow *)(to + i) += *(const narrow *)(from + i);
                if (i < run) *(narrow *)(to + i) += choose(places < run - i, *(const narrow *)(from + i), (narrow){0});
            }
    }
}

/* Linear layers ----------------------------------------------------------------------------------- */

static float *apply(Memory *m, const Linear *l, int layer, long count, int rows, const float *masks, int n_masks) {
    float *value = m->flat[layer + 1];
    int columns = padded(l->outputs), drop = l->dropouts;
    for (int a = 0; a < MOST_AFTER && l->after[a]; a++) {
        float *next = m->applied[layer][a];
        switch (l->after[a]) {
            case RELU: for (long i = 0; i < count; i++) next[i] = value[i] > 0 ? value[i] : 0.0f; break;
            case SIGMOID:
                for (long i = 0; i < count; i += 8)
                    *(narrow *)(next + i) = 1.0f / (1.0f + exponential(-*(const narrow *)(value + i)));
                break;
            case TANH:
                for (long i = 0; i < count; i += 8)
                    *(narrow *)(next + i) = 1.0f - 2.0f / (1.0f + exponential(2.0f * *(const narrow *)(value + i)));
                break;
            case DROPOUT:
                for (int r = 0; r < rows; r++)
                    for (int o = 0; o < columns; o++) {
                        float kept = masks && o < l->outputs ? masks[(long)r * n_masks + drop + o] : 1.0f;
                        next[(long)r * columns + o] = kept * value[(long)r * columns + o];
                    }
                drop += l->outputs;
                break;
        }
        value = next;
    }
    return value;
}

static void undo(Memory *m, const Linear *l, int layer, long count, int rows, const float *masks, int n_masks) {
    float *back = m->back[layer + 1];
    int columns = padded(l->outputs), many = 0, drop = l->dropouts;
    for (; many < MOST_AFTER && l->after[many]; many++) drop += l->after[many] == DROPOUT ? l->outputs : 0;
    for (int a = many - 1; a >= 0; a--) {
        const float *value = m->applied[layer][a];
        switch (l->after[a]) {
            case RELU: for (long i = 0; i < count; i++) back[i] = value[i] > 0 ? back[i] : 0.0f; break;
            case SIGMOID: for (long i = 0; i < count; i++) back[i] *= value[i] * (1.0f - value[i]); break;
            case TANH: for (long i = 0; i < count; i++) back[i] *= 1.0f - value[i] * value[i]; break;
            case DROPOUT:
                drop -= l->outputs;
                if (masks)
                    for (int r = 0; r < rows; r++)
                        for (int o = 0; o < l->outputs; o++)
                            back[(long)r * columns + o] *= masks[(long)r * n_masks + drop + o];
                break;
        }
    }
}

/* Forward and back -------------------------------------------------------------------------------- */

static long clamped(long p, long most) { return p < 0 ? 0 : p > most ? most : p; }

/* Where pixels, lines and channels of a picture lie: so many floats apart. */
typedef struct { long pixel, line, channel; } Strides;

ALWAYS void spread(const float *from, const long step, float *to, const long pixel, long first, long last) {
    for (long p = first; p < last; p++) to[p * pixel] = from[step * p];
}

/* Copy the window of one picture, channel by channel, and what of the border is in it. */
static void cut(const Crops *c, int row, const float *x, float *into, Strides s) {
    long down = c->padding ? c->down[row] - c->padding : 0, right = c->padding ? c->right[row] - c->padding : 0;
    int mirrored = c->mirrored && c->mirrored[row];
    long step = mirrored ? -1 : 1, begin = mirrored ? c->width - 1 + right : right;
    long first = clamped(mirrored ? right : -right, c->width), last = clamped(c->width - step * right, c->width);
    for (long y = 0; y < c->height; y++)
        for (int i = 0; i < c->channels; i++) {
            float *to = into + i * s.channel + y * s.line;
            const float *from = x + ((long)i * c->height + y + down) * c->width;
            int inside = y + down >= 0 && y + down < c->height;
            long head = inside ? first : c->width;
            for (long p = 0; p < head; p++) to[p * s.pixel] = c->border[i];
            if (step == 1 && s.pixel == 3) spread(from + begin, 1, to, 3, head, last);
            else if (step == 1 && s.pixel == 1) spread(from + begin, 1, to, 1, head, last);
            else spread(from + begin, step, to, s.pixel, head, last);
            for (long p = largest(head, last); p < c->width; p++) to[p * s.pixel] = c->border[i];
        }
}

/* Bring the picture of a row into the first layer's input; return where a linear layer finds it.
 * Who takes pixels side by side needs it otherwise only where its gradient is asked for. */
static const float *picture(Memory *m, const Network *n, const Crops *crops, int row, const float *x, int learning) {
    float *flat = m->flat[0] + row * m->pitch[0];
    const Convolution *c = &n->convolution[0];
    if (!n->convolutions && !crops) return x;
    if (!n->convolutions) {
        cut(crops, row, x, flat, (Strides){1, crops->width, (long)crops->width * crops->height});
        return flat;
    }
    const Crops whole = {.channels = c->channels, .height = c->height, .width = c->width};
    Strides strides = {c->channels, (long)framed_width(c) * c->channels, 1};
    float *frame = m->inputs[0] + row * framed_size(c), *corner = frame + c->padding * (strides.line + strides.pixel);
    if (by_pixels(n)) {
        Strides plain = {1, framed_width(c), (long)framed_width(c) * (c->height + 2 * c->padding)};
        cut(crops ? crops : &whole, row, x, m->planes + c->padding * (plain.line + 1), plain);
    }
    if (learning || !by_pixels(n)) cut(crops ? crops : &whole, row, x, corner, strides);
    return flat;
}

/* Where the pooled output of convolution `i` goes for row `r`, and how far its lines are apart. */
static float *destination(Memory *m, const Network *n, int i, int r, long *skip) {
    const Convolution *c = &n->convolution[i];
    if (i + 1 < n->convolutions) {
        const Convolution *next = &n->convolution[i + 1];
        *skip = (long)framed_width(next) * next->channels;
        long corner = ((long)next->padding * framed_width(next) + next->padding) * next->channels;
        return m->inputs[i + 1] + r * framed_size(next) + corner;
    }
    *skip = (long)pooled_width(c) * c->outputs;
    return m->flat[0] + r * m->pitch[0];
}

/* Where what comes back to the pooled output of convolution `i` for row `r` is. */
static const float *coming_back(const Memory *m, const Network *n, int i, int r, long *skip) {
    const Convolution *c = &n->convolution[i];
    if (i + 1 < n->convolutions) {
        const Convolution *next = &n->convolution[i + 1];
        *skip = (long)framed_width(next) * next->channels;
        long corner = ((long)next->padding * framed_width(next) + next->padding) * next->channels;
        return m->belows[i + 1] + r * framed_size(next) + corner;
    }
    *skip = (long)pooled_width(c) * c->outputs;
    return m->back[0] + r * m->pitch[0];
}

static const float *forward(Memory *m, const Network *n, const float *params, const float *x, long row_size,
                            const int64_t *rows, int count, const float *masks, const Crops *crops, int learning) {
    for (int r = 0; r < count; r++) {
        const float *at = params;
        m->first[r] = picture(m, n, crops, r, x + rows[r] * row_size, learning);
        for (int i = 0; i < n->convolutions; i++) {
            const Convolution *c = &n->convolution[i];
            int few = !i && by_pixels(n);
            long skip;
            if (few) convolve_few(m, c, at);
            else convolve(m, c, m->inputs[i] + r * framed_size(c), at);
            float *into = destination(m, n, i, r, &skip);
            pool(m, c, few ? framed_width(c) : out_width(c), into, skip, m->winners[i] + r * pooled_size(c));
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
            long skip, back_skip;
            const float *value = destination(m, n, i, r, &skip), *back = coming_back(m, n, i, r, &back_skip);
            unpool(m, c, value, skip, m->winners[i] + r * pooled_size(c), back, back_skip);
            convolution_gradient(m, c, m->inputs[i] + r * framed_size(c), !r, m->gradient + at);
            if (i) convolve_back(m, c, m->belows[i] + r * framed_size(c));
        }
    }
}

/* Loss: weighted cross-entropy, with label smoothing as in torch ---------------------------------- */

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
        for (int o = 0; o < classes; o++) {
            d[o] = exponential(z[o] - most);
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

/* Optimizers ------------------------------------------------------------------------------------- */

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

/* Entry points ------------------------------------------------------------------------------------ */

#define JOIN(a, b) a##b
#define NAMED(a, b) JOIN(a, b)

/* Bytes of memory that `train` and `infer` need for batches of so many rows. */
long NAMED(simfl_memory_, LEVEL)(const Network *n, int batch) {
    Memory m;
    return lay_out(&m, n, batch, NULL);
}

/* Rows of a matrix that are taken together: near ones in the flat vector, where columns are rows. */
#define TAKEN 16

/* Between one matrix here and the flat vector that everybody else knows, in tiles that fit the cache. */
static void exchange(long terms, int columns, float *here, float *flat, const int32_t *index, int out) {
    for (int panel = 0; panel < columns; panel += PANEL) {
        int pitch = smaller(columns - panel, PANEL);
        for (long first = 0; first < terms; first += TAKEN) {
            long rows = terms - first < TAKEN ? terms - first : TAKEN, tile = terms * panel + first * pitch;
            for (int o = 0; o < pitch; o++)
                for (long at = tile + o; at < tile + rows * pitch; at += pitch) {
                    int32_t place = index[at];
                    if (!out) here[at] = place < 0 ? 0.0f : flat[place];
                    else if (place >= 0) flat[place] = here[at];
                }
        }
    }
}

/* The same for all parameters: `out` of here, or into. */
static void exchange_all(const Network *n, float *here, float *flat, const int32_t *index, int out) {
    long at = 0;
    for (int i = 0; i < n->convolutions + n->linears; i++) {
        const Convolution *c = &n->convolution[i];
        const Linear *l = &n->linear[i - n->convolutions];
        long terms = i < n->convolutions ? convolution_terms(c) : l->inputs;
        int columns = padded(i < n->convolutions ? c->outputs : l->outputs);
        exchange(terms, columns, here + at, flat, index + at, out);
        at += terms * columns;
        exchange(1, columns, here + at, flat, index + at, out);
        at += columns;
    }
}

static void take_in(const Network *n, float *here, const float *flat, const int32_t *index) {
    exchange_all(n, here, (float *)flat, index, 0);
}

static void hand_out(const Network *n, const float *here, float *flat, const int32_t *index) {
    exchange_all(n, (float *)here, flat, index, 1);
}

/* Leave `rows` rows behind. */
static void advance(Crops *crops, int rows) {
    if (crops->mirrored) crops->down += rows, crops->right += rows, crops->mirrored += rows;
}

/* Train clients one after the other: see `Clients`. */
void NAMED(simfl_train_, LEVEL)(const Network *n, const Settings *s, char *memory, int batch,
                                const int32_t *index, const Clients *all) {
    Memory m;
    long size = parameters(n);
    lay_out(&m, n, batch, memory);
    const int64_t *rows = all->rows, *sizes = all->sizes;
    const float *weights = all->weights, *rates = all->rates, *masks = all->masks;
    Crops crops = all->crops ? *all->crops : (Crops){0};
    for (int client = 0; client < all->count; client++) {
        double loss = 0.0, square = 0.0;
        State state = {m.kept[0], m.kept[1]};
        const float *base = all->bases ? m.kept[2] : NULL, *offset = all->offsets ? m.kept[3] : NULL;
        take_in(n, m.params, all->starts[client], index);
        if (base) take_in(n, m.kept[2], all->bases[client], index);
        if (offset) take_in(n, m.kept[3], all->offsets[client], index);
        if (s->kind != SGD) {
            memset(state.first, 0, sizeof(float) * size);
            memset(state.second, 0, sizeof(float) * size);
        }
        for (int step = 0; step < all->steps[client]; step++) {
            int count = (int)*sizes++;
            const float *logits = forward(&m, n, m.params, all->x, all->row_size, rows, count, masks,
                                          all->crops ? &crops : NULL, 1);
            cross_entropy(&m, n, logits, all->labels, rows, weights, count, s->smoothing);
            double mean = 0.0, mean_square = 0.0;
            for (int r = 0; r < count; r++) {
                mean += (double)weights[r] * m.losses[r];
                mean_square += (double)weights[r] * m.losses[r] * m.losses[r];
            }
            loss += count * mean;
            square += count * mean_square;
            backward(&m, n, m.params, count, masks);
            update(s, size, step, *rates++, m.params, m.gradient, base, offset, state);
            rows += count;
            weights += count;
            masks = masks ? masks + (long)count * n->masks : NULL;
            advance(&crops, count);
        }
        hand_out(n, m.params, all->results[client], index);
        all->losses[client] = loss;
        all->squares[client] = square;
    }
}

/* Logits `(count, outputs)` of some rows under the flat vector `flat`. */
void NAMED(simfl_infer_, LEVEL)(const Network *n, char *memory, int batch, const int32_t *index,
                                const float *flat, const float *x, long row_size, const int64_t *rows,
                                long count, float *logits) {
    Memory m;
    lay_out(&m, n, batch, memory);
    take_in(n, m.params, flat, index);
    int outputs = n->linear[n->linears - 1].outputs, columns = padded(outputs);
    for (long done = 0; done < count; done += batch) {
        int now = count - done < batch ? (int)(count - done) : batch;
        const float *some = forward(&m, n, m.params, x, row_size, rows + done, now, NULL, NULL, 0);
        for (int r = 0; r < now; r++)
            memcpy(logits + (done + r) * outputs, some + (long)r * columns, sizeof(float) * outputs);
    }
}
