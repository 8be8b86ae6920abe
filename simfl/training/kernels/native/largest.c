/* The largest number of each row, where rows are short: PyTorch's reductions begin anew for each of them. */

#include <stdint.h>

#define ROWS 4  /* side by side */
typedef float numbers __attribute__((vector_size(4 * ROWS)));
typedef int32_t choices __attribute__((vector_size(4 * ROWS)));

/* Column `i` of `ROWS` rows. */
static numbers column(const float *const *rows, int64_t i) {
    return (numbers){rows[0][i], rows[1][i], rows[2][i], rows[3][i]};
}

static numbers choose(choices which, numbers a, numbers b) {
    return (numbers)((which & (choices)a) | (~which & (choices)b));
}

/* Of `n` rows `a` of so many `columns`: the largest number (NaN, if that is among them), the first place that
 * has it, and the numbers less the largest. */
void simfl_largest(int64_t n, int32_t columns, const float *a, float *largest, int64_t *places, float *differences) {
    for (int64_t first = 0; first < n; first += ROWS) {
        int64_t count = n - first < ROWS ? n - first : ROWS;
        const float *rows[ROWS];
        for (int r = 0; r < ROWS; r++) rows[r] = a + (first + (r < count ? r : 0)) * columns;
        numbers most = column(rows, 0);
        choices place = {0};
        for (int32_t i = 1; i < columns; i++) {
            numbers here = column(rows, i);
            choices more = (here > most) | ((here != here) & (most == most));
            most = choose(more, here, most);
            place = (more & i) | (~more & place);
        }
        for (int r = 0; r < count; r++) {
            largest[first + r] = most[r];
            places[first + r] = place[r];
            for (int32_t i = 0; i < columns; i++) differences[(first + r) * columns + i] = rows[r][i] - most[r];
        }
    }
}
