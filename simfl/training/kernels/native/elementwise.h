/* The layers after a linear one, which take each number by itself, and the way back through them. */
#ifndef SIMFL_ELEMENTWISE_H
#define SIMFL_ELEMENTWISE_H

#include "memory.h"

static float *apply(Memory *m, const Linear *l, int layer, long count, int rows, const float *masks, int n_masks) {
    float *value = m->flat[layer + 1];
    int columns = padded(l->outputs), drop = l->dropouts;
    for (int a = 0; a < MOST_AFTER && l->after[a]; a++) {
        float *next = m->applied[layer][a];
        long done = 0;
        switch (l->after[a]) {
            case RELU: for (long i = 0; i < count; i++) next[i] = value[i] > 0 ? value[i] : 0.0f; break;
            case SIGMOID:
                for (; done + 16 <= count; done += 16)
                    *(wide *)(next + done) = 1.0f / (1.0f + wide_exponential(-*(const wide *)(value + done)));
                for (; done < count; done += 8)
                    *(narrow *)(next + done) = 1.0f / (1.0f + exponential(-*(const narrow *)(value + done)));
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

#endif
