// The part of a step of ADMM that is done channel by channel: the quadratic term, and the orthant.

#include "blocks.h"

// S := inverse (C + rho (Q + |Z|)) and Z += relaxation (S - max(Z, 0)) for C, Z, S (R, n); Q (R, n) is
// weight (folded[near] + folded[far]) for `folded` (R, period).
KERNEL quadratic(
    const REAL* C, const REAL* folded, const long long* near, const long long* far, REAL weight,
    long long period, const REAL* inverse, REAL rho, REAL relaxation, long long n, REAL* Z, REAL* S) {
    SHARED;
    REAL* M = reinterpret_cast<REAL*>(memory);
    for (int e = THREAD; e < R * R; e += THREADS) M[e] = inverse[e];
    TOGETHER;
    for (long long j = BLOCK * THREADS + THREAD; j < n; j += BLOCKS * THREADS) {
        REAL b[R];
        for (int i = 0; i < R; ++i) {
            const REAL* q = folded + i * period;
            b[i] = C[i * n + j] + rho * (weight * (q[near[j]] + q[far[j]]) + fabs(Z[i * n + j]));
        }
        for (int i = 0; i < R; ++i) {
            REAL s = 0;
            for (int k = 0; k < R; ++k) s += M[i * R + k] * b[k];
            const REAL z = Z[i * n + j];
            S[i * n + j] = s;
            Z[i * n + j] = z + relaxation * (s - (z > 0 ? z : 0));
        }
    }
}

#ifndef __CUDACC__
extern "C" void run_quadratic(
    int blocks, const REAL* C, const REAL* folded, const long long* near, const long long* far,
    REAL weight, long long period, const REAL* inverse, REAL rho, REAL relaxation, long long n, REAL* Z,
    REAL* S) {
    EVERY_BLOCK quadratic(C, folded, near, far, weight, period, inverse, rho, relaxation, n, Z, S);
}
#endif
