/* Which of the compiled levels this processor can run, and what they are given; compiled for any processor. */

#include "network.h"

/* Bytes of the structures that callers fill: those of another version have others. */
int simfl_bytes(void) { return (int)(sizeof(Network) + sizeof(Settings) + sizeof(Crops) + sizeof(Clients)); }

#ifdef __x86_64__
#include <cpuid.h>

static int has(unsigned bits, unsigned wanted) { return (bits & wanted) == wanted; }

/* 4 and 3: x86-64-v4 and x86-64-v3, with an operating system that keeps their registers. */
int simfl_level(void) {
    unsigned a, b, c, d, kept, rest;
    const unsigned fma_movbe_xsave_avx_f16c = 1u << 12 | 1u << 22 | 1u << 27 | 1u << 28 | 1u << 29;
    const unsigned bmi_avx2 = 1u << 3 | 1u << 5 | 1u << 8;
    const unsigned avx512_f_dq_cd_bw_vl = 1u << 16 | 1u << 17 | 1u << 28 | 1u << 30 | 1u << 31;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !has(c, fma_movbe_xsave_avx_f16c)) return 0;
    __asm__("xgetbv" : "=a"(kept), "=d"(rest) : "c"(0));
    if (!__get_cpuid(0x80000001, &a, &b, &c, &d) || !has(c, 1u << 5)) return 0;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !has(b, bmi_avx2) || !has(kept, 6)) return 0;
    return has(b, avx512_f_dq_cd_bw_vl) && has(kept, 0xe6) ? 4 : 3;
}
#else
int simfl_level(void) { return 0; }
#endif
