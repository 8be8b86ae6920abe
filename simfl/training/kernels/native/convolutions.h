/* A convolution of one picture, its pooling, and the way back through both. */
#ifndef SIMFL_CONVOLUTIONS_H
#define SIMFL_CONVOLUTIONS_H

#include "memory.h"
#include "pixels.h"
#include "products.h"

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

/* Give what comes back to a pooled pixel to the winner of its square; the lines of the pooled
 * picture, and of what comes back, are `skip` floats apart. */
static void unpool(Memory *m, const Convolution *c, const float *value, const float *back, long skip,
                   const uint8_t *winners) {
    int columns = padded(c->outputs), side = c->pool, width = out_width(c);
    if (pooled_height(c) * side < out_height(c) || pooled_width(c) * side < width)
        memset(m->deltas, 0, sizeof(float) * delta_size(c));
    for (int y = 0; y < pooled_height(c); y++)
        for (int x = 0; x < pooled_width(c); x++, winners += columns)
            for (int o = 0; o < columns; o += 8) {
                narrow best = *(const narrow *)(value + y * skip + (long)x * c->outputs + o);
                narrow from = *(const narrow *)(back + y * skip + (long)x * c->outputs + o);
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

#endif
