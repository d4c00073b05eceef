// What concerns whole rows: their sums and their medians.

#include "blocks.h"

// The sum over k of X (k, n) in double precision; n entries a block of 8 teams of 32.
KERNEL added(const REAL* X, int k, long long n, double* found) {
    SHARED;
    double* parts = reinterpret_cast<double*>(memory);
    for (long long first = BLOCK * 32; first < n && first < BLOCK * 32 + 32; first += WARP) {
        const int team = THREAD / WARP, teams = (THREADS + WARP - 1) / WARP, own = THREAD % WARP;
        const long long e = first + own;
        double sum = 0;
        if (e < n)
            for (int i = team; i < k; i += teams) sum += X[i * n + e];
        parts[team * WARP + own] = sum;
        TOGETHER;
        if (team == 0 && e < n) {
            for (int i = 1; i < teams; ++i) sum += parts[i * WARP + own];
            found[e] = sum;
        }
    }
}

// Sums, and numbers of entries that are not 0, of each source in part of X (n, r); (blocks, 2, r).
KERNEL tally(const REAL* X, long long n, int r, double* found) {
    SHARED;
    double *sums = reinterpret_cast<double*>(memory), *counts = sums + (THREADS > r ? THREADS : r);
    const int used = THREADS / r > 0 ? THREADS / r * r : THREADS;  // a thread has one source
    const int step = used < r ? r : used;
    for (int first = 0; first < r; first += used) {  // of one thread: one after the other
        double sum = 0, count = 0;
        if (THREAD < used)
            for (long long e = BLOCK * step + THREAD + first; e < n * r; e += BLOCKS * step) {
                sum += X[e];
                count += X[e] != 0;
            }
        sums[THREAD + first] = sum;
        counts[THREAD + first] = count;
    }
    TOGETHER;
    for (int i = THREAD; i < r; i += THREADS) {
        double sum = 0, count = 0;
        for (int k = i; k < step; k += r) {
            sum += sums[k];
            count += counts[k];
        }
        found[(BLOCK * 2) * r + i] = sum;
        found[(BLOCK * 2 + 1) * r + i] = count;
    }
}

// The median of n values, all threads together; `middle` has two places.
DEVICE double median(const double* values, int n, double* middle) {
    for (int e = THREAD; e < n; e += THREADS) {
        const double mine = values[e];
        int rank = 0;  // equal ones are in the order of their places
        for (int k = 0; k < e; ++k) rank += values[k] <= mine;
        for (int k = e + 1; k < n; ++k) rank += values[k] < mine;
        if (rank == (n - 1) / 2) middle[0] = mine;
        if (rank == n / 2) middle[1] = mine;
    }
    TOGETHER;
    return n % 2 ? middle[1] : (middle[0] + middle[1]) / 2;
}

// Median and median absolute deviation of every row of X (rows, n); (2, rows).
KERNEL deviations(const REAL* X, int n, double* found) {
    SHARED;
    double *middle = reinterpret_cast<double*>(memory), *values = middle + 4;
    for (int e = THREAD; e < n; e += THREADS) values[e] = X[BLOCK * n + e];
    TOGETHER;
    const double centre = median(values, n, middle);
    TOGETHER;
    for (int e = THREAD; e < n; e += THREADS) values[e] = fabs(values[e] - centre);
    TOGETHER;
    const double spread = median(values, n, middle + 2);
    if (THREAD == 0) {
        found[BLOCK] = centre;
        found[BLOCKS + BLOCK] = spread;
    }
}

#ifndef __CUDACC__
extern "C" void run_added(int blocks, const REAL* X, int k, long long n, double* found) {
    EVERY_BLOCK added(X, k, n, found);
}
extern "C" void run_tally(int blocks, const REAL* X, long long n, int r, double* found) {
    EVERY_BLOCK tally(X, n, r, found);
}
extern "C" void run_deviations(int blocks, const REAL* X, int n, double* found) {
    EVERY_BLOCK deviations(X, n, found);
}
#endif
