/* What callers fill: a network (convolutions, then fully connected layers), and how to train it. */
#ifndef SIMFL_NETWORK_H
#define SIMFL_NETWORK_H

#include <stdint.h>

#define MOST_LAYERS 16
#define MOST_AFTER 4

enum { RELU = 1, SIGMOID = 2, TANH = 3, DROPOUT = 4 };

/* A convolution with stride 1; then, if asked for, ReLU and max-pooling over squares. */
typedef struct {
    int channels, height, width;  /* of its input */
    int outputs, kernel, padding, relu, pool, bias;
} Convolution;

/* A fully connected layer and the elementwise layers after it. */
typedef struct {
    int inputs, outputs, bias, after[MOST_AFTER];
    int dropouts;  /* where its masks begin in a row of masks */
} Linear;

typedef struct {
    int convolutions, linears, masks;  /* masks: numbers a row */
    Convolution convolution[MOST_LAYERS];
    Linear linear[MOST_LAYERS];
} Network;

enum { SGD = 0, ADAM = 1, ADAMW = 2 };

/* How parameters change: the order of `torch.optim`, with FedProx's pull and clipping before. */
typedef struct {
    int kind;
    int nesterov;
    float momentum, weight_decay, proximal, clip, beta1, beta2, epsilon, smoothing;
} Settings;

/* What becomes of pictures `(channels, height, width)` before a step: a border, then a window of
 * their own size cut out again, and mirrored or not. */
typedef struct {
    int channels, height, width, padding;
    const float *border;          /* (channels) */
    const int64_t *down, *right;  /* of each row: where in the bordered picture the window begins */
    const uint8_t *mirrored;
} Crops;

/* Some clients' training.  What is said of rows, and of steps, lies one client behind the other. */
typedef struct {
    int count;
    long row_size;
    const Crops *crops;     /* or NULL */
    const float *x;         /* (n, row_size) inputs */
    const int64_t *labels;  /* (n) */
    const int32_t *steps;   /* (count) */
    const int64_t *sizes;   /* of each step's batch */
    const float *rates;     /* of each step */
    const int64_t *rows;    /* of x: each batch's */
    const float *weights;   /* of each row in its batch's loss */
    const float *masks;     /* dropout factors of each row, or NULL */
    const float *const *starts, *const *bases, *const *offsets;  /* flat vectors, or NULL */
    float *const *results;
    double *losses, *squares;  /* (count) sums over the steps of batch size times mean loss (squared) */
} Clients;

#endif
