/* Orders of batches: what NumPy's `Generator(Philox(key)).permuted` makes of a client's rows, to the bit.
 *
 * Philox 4x64-10: Salmon, Moraes, Dror & Shaw, "Parallel random numbers: as easy as 1, 2, 3", 2011. */

#include <stdint.h>
#include <string.h>

#define BLOCKS 16  /* drawn at once, as none depends on another */
#define DRAWN (BLOCKS * 8)

typedef struct {
    uint64_t key[2], count;
    int next;
    uint32_t drawn[DRAWN];
} Stream;

static uint64_t high(uint64_t a, uint64_t b) { return (uint64_t)((unsigned __int128)a * b >> 64); }

/* Draw the next numbers: the halves of numbers of 64 bits, the lower one first. */
static void draw(Stream *s) {
    const uint64_t first = 0xD2E7470EE14C6C93u, second = 0xCA5A826395121157u;
    for (int block = 0; block < BLOCKS; block++) {
        uint64_t c[4] = {++s->count, 0, 0, 0}, k0 = s->key[0], k1 = s->key[1];
        for (int round = 0; round < 10; round++, k0 += 0x9E3779B97F4A7C15u, k1 += 0xBB67AE8584CAA73Bu) {
            uint64_t c0 = high(second, c[2]) ^ c[1] ^ k0, c2 = high(first, c[0]) ^ c[3] ^ k1;
            c[1] = second * c[2], c[3] = first * c[0], c[0] = c0, c[2] = c2;
        }
        for (int i = 0; i < 4; i++) {
            s->drawn[block * 8 + 2 * i] = (uint32_t)c[i];
            s->drawn[block * 8 + 2 * i + 1] = (uint32_t)(c[i] >> 32);
        }
    }
    s->next = 0;
}

/* Shuffle `a` `(n)`: Fisher and Yates, from the end.  As many low bits of a number count as the largest place
 * has; where they make a larger one it is passed over. */
static void shuffle(Stream *s, int64_t n, int64_t *a) {
    for (int64_t last = n - 1; last > 0;) {
        uint32_t mask = ~0u >> __builtin_clz((uint32_t)last);
        int64_t least = (int64_t)(mask >> 1) + 1;  /* down to there the mask stays */
        while (last >= least) {
            if (s->next == DRAWN) draw(s);
            int64_t place = s->drawn[s->next++] & mask, taken = place <= last;
            place = taken ? place : last;  /* exchanged with itself: no branch */
            int64_t kept = a[last];
            a[last] = a[place];
            a[place] = kept;
            last -= taken;
        }
    }
}

/* Write down each client's passes over its rows, in an order of their own, by the numbers of its seed's key.
 *
 * Of each of so many `clients`: `seeds`, how many `passes`, and `sizes`, how many of the `rows`, which lie one
 * client's behind the other's, as `passes_over` them do. */
void simfl_passes(int64_t clients, uint64_t purpose, const uint64_t *seeds, const int64_t *passes,
                  const int64_t *sizes, const int64_t *rows, int64_t *passes_over) {
    for (int64_t client = 0; client < clients; rows += sizes[client++]) {
        Stream s = {.key = {seeds[client], purpose}, .next = DRAWN};
        for (int64_t pass = 0; pass < passes[client]; pass++, passes_over += sizes[client]) {
            memcpy(passes_over, rows, sizeof(int64_t) * sizes[client]);
            shuffle(&s, sizes[client], passes_over);
        }
    }
}
