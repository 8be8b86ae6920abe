/* Pictures on their way into the first layer: cropped, mirrored, and laid out as it wants them. */
#ifndef SIMFL_PICTURES_H
#define SIMFL_PICTURES_H

#include "memory.h"
#include "products.h"

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

#endif
