// What concerns whole rows: their sums and their medians.

#include "blocks.h"
#ifndef __CUDACC__
#include <cstring>
using std::memcpy;
#endif

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

// The number whose bits are those of a key, and the key, which has the order of the numbers.
DEVICE unsigned long long key_of(double value) {
    unsigned long long bits;
    memcpy(&bits, &value, sizeof bits);
    return bits >> 63 ? ~bits : bits | 1ull << 63;
}
DEVICE double value_of(unsigned long long key) {
    const unsigned long long bits = key >> 63 ? key & ~(1ull << 63) : ~key;
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

// A row, or its distances from a centre.
DEVICE double seen(const REAL* row, long long e, bool apart, double centre) {
    return apart ? fabs(row[e] - centre) : double(row[e]);
}

// The median of a row of any length: its key bit by bit, from how many entries are below.
DEVICE double long_median(const REAL* row, long long n, bool apart, double centre, double* room) {
    unsigned long long lower = 0;
    for (int bit = 63; bit >= 0; --bit) {
        const unsigned long long tried = lower | 1ull << bit;
        double below = 0;
        for (long long e = THREAD; e < n; e += THREADS)
            below += key_of(seen(row, e, apart, centre)) < tried;
        if (in_block(below, room) <= double((n - 1) / 2)) lower = tried;
    }
    const double value = value_of(lower);
    if (n % 2) return value;
    double upto = 0, above = 1.7976931348623157e308;  // the next one, where this one is not there again
    for (long long e = THREAD; e < n; e += THREADS) {
        const double x = seen(row, e, apart, centre);
        upto += x <= value;
        if (x > value && x < above) above = x;
    }
    upto = in_block(upto, room);
    TOGETHER;
    double* least = room + 32;
    least[THREAD] = above;
    TOGETHER;
    for (int k = 0; k < THREADS; ++k) above = least[k] < above ? least[k] : above;
    TOGETHER;
    return upto > double(n / 2) ? value : (value + above) / 2;
}

// Median and median absolute deviation of every row of X (rows, n), however long; (2, rows).
KERNEL long_deviations(const REAL* X, long long n, double* found) {
    SHARED;
    double* room = reinterpret_cast<double*>(memory);
    const double centre = long_median(X + BLOCK * n, n, false, 0, room);
    const double spread = long_median(X + BLOCK * n, n, true, centre, room);
    if (THREAD == 0) {
        found[BLOCK] = centre;
        found[BLOCKS + BLOCK] = spread;
    }
}

#ifndef __CUDACC__
extern "C" void run_long_deviations(int blocks, const REAL* X, long long n, double* found) {
    EVERY_BLOCK long_deviations(X, n, found);
}
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
