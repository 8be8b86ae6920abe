/* Local training of one client after the other, for stacks of convolutions and linear layers. */

#include "cross_entropy.h"
#include "network.h"
#include "optimizers.h"
#include "passes.h"
#include "single.h"

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
    int single = is_single(n, s, all);
    const int64_t *rows = all->rows, *sizes = all->sizes;
    const float *weights = all->weights, *rates = all->rates, *masks = all->masks;
    Crops crops = all->crops ? *all->crops : (Crops){0};
    for (int client = 0; client < all->count; client++) {
        double loss = 0.0, square = 0.0;
        State state = {m.kept[0], m.kept[1]};
        const float *base = all->bases ? m.kept[2] : NULL, *offset = all->offsets ? m.kept[3] : NULL;
        if (single) exchange_blocks(&m, &n->linear[0], (float *)all->starts[client], index, 0);
        else take_in(n, m.params, all->starts[client], index);
        if (base) take_in(n, m.kept[2], all->bases[client], index);
        if (offset) take_in(n, m.kept[3], all->offsets[client], index);
        if (s->kind != SGD) {
            memset(state.first, 0, sizeof(float) * size);
            memset(state.second, 0, sizeof(float) * size);
        }
        for (int step = 0; step < all->steps[client]; step++) {
            int count = (int)*sizes++;
            float rate = *rates++;
            if (single) single_step(&m, n, all, rows, weights, count, s->smoothing, rate);
            else {
                const float *logits = forward(&m, n, m.params, all->x, all->row_size, rows, count, masks,
                                              all->crops ? &crops : NULL, 1);
                cross_entropy(&m, n, logits, all->labels, rows, weights, count, s->smoothing);
                backward(&m, n, m.params, count, masks);
                update(s, size, step, rate, m.params, m.gradient, base, offset, state);
            }
            double mean = 0.0, mean_square = 0.0;
            for (int r = 0; r < count; r++) {
                mean += (double)weights[r] * m.losses[r];
                mean_square += (double)weights[r] * m.losses[r] * m.losses[r];
            }
            loss += count * mean;
            square += count * mean_square;
            rows += count;
            weights += count;
            masks = masks ? masks + (long)count * n->masks : NULL;
            advance(&crops, count);
        }
        if (single) exchange_blocks(&m, &n->linear[0], all->results[client], index, 1);
        else hand_out(n, m.params, all->results[client], index);
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

/* Of `n` rows of logits `(classes)`: the cross-entropy, and whether the first of the largest is the label's. */
void NAMED(simfl_judge_, LEVEL)(long n, int classes, const float *logits, const int64_t *labels, double *losses,
                                uint8_t *right) {
    for (long first = 0; first < n; first += 8) {
        const float *rows[8];
        int here = n - first < 8 ? (int)(n - first) : 8;
        for (int r = 0; r < 8; r++) rows[r] = logits + (first + (r < here ? r : 0)) * classes;
        judge_eight(rows, classes, labels + first, here, losses + first, right + first);
    }
}
