/* What a network is: convolutions, then fully connected layers; see `network.c`. */
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

/* How parameters change: the order of `torch.optim`, with FedProx's pull and clipping before. */
typedef struct {
    int kind;  /* 0: SGD, 1: Adam, 2: AdamW */
    int nesterov;
    float momentum, weight_decay, proximal, clip, beta1, beta2, epsilon, smoothing;
} Settings;

#endif
