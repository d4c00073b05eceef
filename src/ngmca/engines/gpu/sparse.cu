// Draws of the sparse sources of sampling/sparse_kernels.py and sampling/shearing.py, many channels at once.

#include "blocks.h"
#include "draws.h"

#define EVERY_CHANNEL for (long long j = BLOCK * THREADS + THREAD; j < n; j += BLOCKS * THREADS)

// Which of the states of the neighbours entry j of source i sees: before + 2 after, as `neighbour_odds`.
DEVICE int neighbours(const double* X, long long n, long long j, int i) {
    const int before = j > 0 && X[(j - 1) * R + i] > 0;
    if (j + 1 == n) return before + 4;
    return before + 2 * (X[(j + 1) * R + i] > 0);
}

// Draw each entry of every second row of X (n, R), in turn given the others; `sums` (3, n, R) if collected.
KERNEL drawn(
    const double* G, const double* C, const double* rate, const double* root, const double* ratio,
    const double* every_table, int passes, unsigned long long key, int parity, long long n, int collected,
    double* X, double* sums) {
    SHARED;
    double* g = reinterpret_cast<double*>(memory);
    for (int e = THREAD; e < R * R; e += THREADS) g[e] = G[e];
    TOGETHER;
    const Tables tables = tables_of(every_table);
    const double share = 1.0 / passes;
    for (long long j = 2 * (BLOCK * THREADS + THREAD) + parity; j < n; j += 2 * BLOCKS * THREADS) {
        unsigned long long state = stream(key, j);
        double x[R], h[R], total[3][R];
        for (int k = 0; k < R; ++k) {
            x[k] = X[j * R + k];
            h[k] = total[0][k] = total[1][k] = total[2][k] = 0;
        }
        for (int i = 0; i < R; ++i)
            if (x[i] != 0)
                for (int k = 0; k < R; ++k) h[k] += g[i * R + k] * x[i];
        for (int pass = 0; pass < passes; ++pass)
            for (int i = 0; i < R; ++i) {
                const double old = x[i];
                const double t = (C[j * R + i] - h[i] + g[i * R + i] * old - rate[i]) * root[i];
                double excess;
                const double inverse = inverse_mills(tables, t, excess);
                const double here = ratio[neighbours(X, n, j, i) * R + i];
                const double active = here / (here + inverse), spread = 1 + t * excess;
                total[0][i] += share * active;
                total[1][i] += share * active * excess * root[i];
                total[2][i] += share * active * (spread > 0 ? spread : 0) * root[i] * root[i];
                double value = 0;
                if (uniform(state) < active) value = positive_normal(tables, state, t) * root[i];
                if (value == old) continue;
                x[i] = value;
                for (int k = 0; k < R; ++k) h[k] += g[i * R + k] * (value - old);
            }
        for (int k = 0; k < R; ++k) {
            X[j * R + k] = x[k];
            if (collected)
                for (int part = 0; part < 3; ++part) sums[(part * n + j) * R + k] += total[part][k];
        }
    }
}

// What a shear of source k by source i is about.
struct Pair {
    int k, i;
    double rate, start, stay, g, root, scale;  // of source i
};

DEVICE Pair pair_of(int k, int i, const double* law) {
    return {k, i, law[0], law[1], law[2], law[3], law[4], law[5]};
}

DEVICE double chance(int after, double p) { return after == 1 ? p : after == 0 ? 1 - p : 1; }

DEVICE bool on(const double* X, long long n, long long j, int k) {
    return j >= 0 && j < n && X[j * R + k] > 0;
}

// u (n) := a_i' (Y - A S without source i) where source k is active.
KERNEL rest_of(const double* G, const double* C, const double* X, int k, int i, long long n, double* u) {
    EVERY_CHANNEL {
        if (!on(X, n, j, k)) continue;
        double rest = C[j * R + i] + G[i * R + i] * X[j * R + i];
        for (int q = 0; q < R; ++q) rest -= G[i * R + q] * X[j * R + q];
        u[j] = rest;
    }
}

// The logarithm of the sum over all patterns of source i along the run of channels that begins at j, and its
// end. With `forward` (n), also the probability of each entry to be active given those before it.
DEVICE double along_run(
    const Pair& p, const Tables& tables, const double* X, const double* u, long long n, double c, long long j,
    double* forward, long long& end) {
    double total = 0, active = on(X, n, j - 1, p.i);
    for (end = j; on(X, n, end, p.k); ++end) {
        const double move = c * X[end * R + p.k];
        total += move * (u[end] - 0.5 * move * p.g);
        const double likely = active * p.stay + (1 - active) * p.start;
        const double weight = p.scale + log_mills(tables, (u[end] - move * p.g - p.rate) * p.root);
        double yes = likely, no = 1 - likely;
        if (weight > 0) {
            total += weight;
            no *= exp(-weight);
        } else {
            yes *= exp(weight);
        }
        total += log(yes + no);
        active = yes / (yes + no);
        if (forward) forward[end] = active;
    }
    if (end < n) {
        const int after = X[end * R + p.i] > 0;
        total += log(active * chance(after, p.stay) + (1 - active) * chance(after, p.start));
    }
    return total;
}

// The logarithm of the density of c, as a sum for each block of threads.
KERNEL density(
    int k, int i, const double* law, const double* every_table, const double* X, const double* u, long long n,
    double c, double* found) {
    SHARED;
    const Pair p = pair_of(k, i, law);
    const Tables tables = tables_of(every_table);
    double total = 0;
    EVERY_CHANNEL {
        long long end;
        if (on(X, n, j, k) && !on(X, n, j - 1, k)) total += along_run(p, tables, X, u, n, c, j, nullptr, end);
    }
    total = in_block(total, reinterpret_cast<double*>(memory));
    if (THREAD == 0) found[BLOCK] = total;
}

// Draw source i where source k is active, each run of channels backwards from its end.
KERNEL drawn_runs(
    int k, int i, const double* law, const double* every_table, const double* u, long long n, double c,
    unsigned long long key, double* forward, double* X) {
    const Pair p = pair_of(k, i, law);
    const Tables tables = tables_of(every_table);
    EVERY_CHANNEL {
        if (!on(X, n, j, k) || on(X, n, j - 1, k)) continue;
        long long end;
        along_run(p, tables, X, u, n, c, j, forward, end);
        unsigned long long state = stream(key, j);
        int after = end == n ? 2 : X[end * R + i] > 0;
        for (long long e = end - 1; e >= j; --e) {
            const double yes = forward[e] * chance(after, p.stay);
            const double no = (1 - forward[e]) * chance(after, p.start);
            after = uniform(state) * (yes + no) < yes;
            double value = 0;
            if (after) value = positive_normal(tables, state, (u[e] - c * X[e * R + k] * p.g - p.rate) * p.root);
            X[e * R + i] = value * p.root;
        }
    }
}

#ifndef __CUDACC__
extern "C" void run_drawn(
    int blocks, const double* G, const double* C, const double* rate, const double* root, const double* ratio,
    const double* every_table, int passes, unsigned long long key, int parity, long long n, int collected,
    double* X, double* sums) {
    EVERY_BLOCK drawn(
        G, C, rate, root, ratio, every_table, passes, key, parity, n, collected, X, sums);
}
extern "C" void run_rest_of(
    int blocks, const double* G, const double* C, const double* X, int k, int i, long long n, double* u) {
    EVERY_BLOCK rest_of(G, C, X, k, i, n, u);
}
extern "C" void run_density(
    int blocks, int k, int i, const double* law, const double* every_table, const double* X, const double* u,
    long long n, double c, double* found) {
    EVERY_BLOCK density(k, i, law, every_table, X, u, n, c, found);
}
extern "C" void run_drawn_runs(
    int blocks, int k, int i, const double* law, const double* every_table, const double* u, long long n,
    double c, unsigned long long key, double* forward, double* X) {
    EVERY_BLOCK drawn_runs(k, i, law, every_table, u, n, c, key, forward, X);
}
#endif
