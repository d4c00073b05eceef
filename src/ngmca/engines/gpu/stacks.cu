// What many starts on small data ask for at once: scales, norms, sums and noise, one start a block.

#include "blocks.h"

// A power of 2 that brings a diagonal entry of G between 1/2 and 2, 0 where there is none: `scales`.
DEVICE double unit_for(double diagonal) {
    int exponent = 0;
    if (diagonal <= 0) return 0;
    frexp(diagonal, &exponent);
    return ldexp(1.0, -(exponent >> 1));
}

// `equilibrate` for a problem a block: D G D and the diagonal of D, in the precision of the data. The
// shifts change their precision with them.
KERNEL equilibrated(const double* G, const double* shift, int r, REAL* scaled, REAL* scale, REAL* shifts) {
    G += BLOCK * r * r;
    for (int e = THREAD; e < r * r; e += THREADS) {
        const double rows = unit_for(G[e / r * (r + 1)]), columns = unit_for(G[e % r * (r + 1)]);
        scaled[BLOCK * r * r + e] = REAL(G[e] * columns * rows);
        if (e < r) {
            scale[BLOCK * r + e] = REAL(columns);  // e is its own column here
            shifts[BLOCK * r + e] = REAL(shift[BLOCK * r + e]);
        }
    }
}

// A (m, r) of a problem a block, moved on by a share of its move from `last`, never below 0, and then
// with columns of norm 1; as it is where the share is 0. A warp has a column.
KERNEL moved(
    const REAL* A, const REAL* last, const double* share, int m, int r, REAL* found, REAL* norms) {
    A += BLOCK * m * r;
    last += BLOCK * m * r;
    found += BLOCK * m * r;
    const REAL by = REAL(share[BLOCK]);
    for (int c = THREAD / WARP; c < r; c += THREADS / WARP) {
        double square = 0;
        for (int i = THREAD % WARP; i < m; i += WARP) {
            const REAL value = A[i * r + c] + by * (A[i * r + c] - last[i * r + c]);
            found[i * r + c] = value > 0 ? value : 0;
            square += double(found[i * r + c]) * found[i * r + c];
        }
        const REAL norm = REAL(sqrt(in_warp(square)));
        if (THREAD % WARP == 0) norms[BLOCK * r + c] = norm;
        for (int i = THREAD % WARP; i < m; i += WARP)
            found[i * r + c] = by == 0 ? A[i * r + c] : found[i * r + c] / (norm > 0 ? norm : 1);
    }
}

// What new sources X (n, r) of a problem a block have come to: 1/2 |Y - AX'|^2 from their sums and the
// energy of Y, the share of entries that are not 0, and the sum of each; (2 + r).
KERNEL summary(
    const REAL* A, const double* G, const REAL* X, const double* SS, const double* YS, int m, int n, int r,
    double energy, double* found) {
    SHARED;
    double *room = reinterpret_cast<double*>(memory), fit = 0, size = 0, count = 0;
    A += BLOCK * m * r;
    YS += BLOCK * m * r;
    G += BLOCK * r * r;
    SS += BLOCK * r * r;
    X += BLOCK * n * r;
    found += BLOCK * (2 + r);
    for (int e = THREAD; e < m * r; e += THREADS) fit += A[e] * YS[e];
    for (int e = THREAD; e < r * r; e += THREADS) size += G[e] * SS[e];
    for (int c = THREAD / WARP; c < r; c += THREADS / WARP) {
        double sum = 0;
        for (int j = THREAD % WARP; j < n; j += WARP) {
            sum += X[j * r + c];
            count += X[j * r + c] != 0;
        }
        sum = in_warp(sum);
        if (THREAD % WARP == 0) found[2 + c] = sum;
    }
    const double cost = energy / 2 - in_block(fit, room) + in_block(size, room) / 2;
    count = in_block(count, room);
    if (THREAD == 0) {
        found[0] = cost > 0 ? cost : 0;
        found[1] = count / (double(n) * r);
    }
}

// What choosing the support of a sample tells: constants and steps are those of data/freedom.py.
constexpr double LEAST = 1.0 / 9, LEAST_NOISE = 1.0 / 4, NOTHING = 1e-3, DEPENDENT = 1e-8;
constexpr double QUARTILE = 0.6744897501960817, GAUSSIAN = 1.4826;

struct Samples {      // b of them, side by side: entry (a, c) of sample j is at (a r + c) b + j
    double *factor;   // (r, r, b) of G on the support, then the inverse of that
    double *inverse;  // (r, r, b) of G on the support, 0 elsewhere
    double *rest;     // (r, b) A' times the residual
    double *u;        // (r, b) what the threshold took off
    double *extra;    // (r, b) weights of entries near 0
    double *support;  // (r, b) which entries are not 0
    double *left;     // (b,) their number, then what is left of unit noise
    double *added;    // (b,) by u
};

// inverse := G^-1 on the support of sample j, without dependent entries; how many are left.
DEVICE int inverted(const Samples& s, const double* G, const REAL* x, int r, int b, int j) {
    double *L = s.factor + j, *P = s.support + j, *inverse = s.inverse + j;
    for (int e = 0; e < r * r; ++e) inverse[e * b] = 0;
    int p = 0;
    for (int k = 0; k < r; ++k) {
        if (x[k] == 0) continue;
        double rest = G[k * (r + 1)];
        for (int a = 0; a < p; ++a) {
            double entry = G[k * r + int(P[a * b])];
            for (int c = 0; c < a; ++c) entry -= L[(p * r + c) * b] * L[(a * r + c) * b];
            entry *= L[a * (r + 1) * b];
            L[(p * r + a) * b] = entry;
            rest -= entry * entry;
        }
        if (rest > DEPENDENT * G[k * (r + 1)]) {
            L[p * (r + 1) * b] = 1 / sqrt(rest);
            P[p++ * b] = k;
        }
    }
    for (int a = 0; a < p; ++a)
        for (int c = 0; c < a; ++c) {
            double entry = 0;
            for (int e = c; e < a; ++e) entry -= L[(a * r + e) * b] * L[(e * r + c) * b];
            L[(a * r + c) * b] = entry * L[a * (r + 1) * b];
        }
    for (int a = 0; a < p; ++a)
        for (int c = 0; c <= a; ++c) {
            double entry = 0;
            for (int e = a; e < p; ++e) entry += L[(e * r + a) * b] * L[(e * r + c) * b];
            const int i = int(P[a * b]), k = int(P[c * b]);
            inverse[(i * r + k) * b] = inverse[(k * r + i) * b] = entry;
        }
    return p;
}

// u, extra and added of sample j, whose inverse and rest are known; the sum of extra.
DEVICE double taken_off(const Samples& s, const REAL* x, int p, int r, int b, int j) {
    for (int k = 0; k < r; ++k) s.u[k * b + j] = s.extra[k * b + j] = 0;
    double near = 0, added = 0;
    for (int a = 0; a < p; ++a) {
        const int i = int(s.support[a * b + j]);
        double u = 0;
        for (int c = 0; c < p; ++c) {
            const int k = int(s.support[c * b + j]);
            u += s.inverse[(i * r + k) * b + j] * s.rest[k * b + j];
        }
        const double own = x[i], extra = own * u > 0 && fabs(own) < fabs(u) ? 4 - 6 * own / u : 0;
        s.u[i * b + j] = u;
        s.extra[i * b + j] = extra;
        near += extra;
        added += u * s.rest[i * b + j];
    }
    s.added[j] = added;
    return near;
}

// What a median deviation tells, `square`, over the mean of the variances noise * left + added.
DEVICE double typical(const Samples& s, int b, double square, double* room) {
    double low = log(LEAST_NOISE), high = log(1 / LEAST), noise = 1, left = 0, added = 0;
    for (int tried = 0; tried < 10; ++tried) {
        noise = exp((low + high) / 2);
        double below = 0;
        for (int j = THREAD; j < b; j += THREADS)
            below += erf(QUARTILE / sqrt(2 * (noise * s.left[j] + s.added[j] / square)));
        if (in_block(below, room) > b / 2.0)
            low = log(noise);
        else
            high = log(noise);
    }
    for (int j = THREAD; j < b; j += THREADS) {
        left += s.left[j] / b;
        added += s.added[j] / b;
    }
    left = in_block(left, room);
    return 1 / (noise * left + in_block(added, room) / square);
}

// Levels of the noise in rows, for median deviations of the residual of a fit of n samples: `corrected`
// in data/freedom.py. One problem a block: A (m, r), G = A'A, sources X (n, r), of which every so many
// are looked at, b in all, and C = Y'A (n, r). `scratch` has `levels_room` places for each.
KERNEL levels(
    const double* given, const REAL* A, const double* G, const REAL* C, const REAL* X, int m, int n, int r,
    int every, double* scratch, double* found) {
    SHARED;
    double* room = reinterpret_cast<double*>(memory);
    given += BLOCK * m;
    A += BLOCK * m * r;
    G += BLOCK * r * r;
    C += BLOCK * n * r;
    X += BLOCK * n * r;
    found += BLOCK * m;
    const int square_of_r = r * r, b = (n + every - 1) / every, apart = every * r;
    double* at = scratch + BLOCK * ((2LL * b + 2) * square_of_r + (4LL * b + 2) * r + 2 * b);
    Samples s;
    s.factor = at;
    s.inverse = s.factor + (long long)square_of_r * b;
    s.rest = s.inverse + (long long)square_of_r * b;
    s.u = s.rest + r * b;
    s.extra = s.u + r * b;
    s.support = s.extra + r * b;
    s.left = s.support + r * b;
    s.added = s.left + b;
    double *sum = s.added + b, *spread = sum + square_of_r, *mean = spread + square_of_r, *live = mean + r;
    double near = 0, all = 0, square = 0;
    for (int j = THREAD; j < b; j += THREADS) {
        const REAL* x = X + j * apart;
        for (int k = 0; k < r; ++k) {
            double rest = C[j * apart + k];
            for (int a = 0; a < r; ++a) rest -= x[a] * G[k * r + a];
            s.rest[k * b + j] = rest;
        }
        const int p = inverted(s, G, x, r, b, j);
        near += taken_off(s, x, p, r, b, j);
        s.left[j] = p;
        all += p;
    }
    near = in_block(near, room);
    all = in_block(all, room);
    double sources = 0, everywhere = 0;
    for (int k = THREAD; k < r; k += THREADS) {
        double total = 0;
        int active = 0;
        for (int j = 0; j < b; ++j) {
            total += s.u[k * b + j];
            active += X[j * apart + k] != 0;
        }
        mean[k] = total / b;
        live[k] = active > 0;
        sources += active > 0;
        everywhere += active == b;
    }
    sources = in_block(sources, room);
    everywhere = in_block(everywhere, room);
    double whole = 0, around = 0;
    for (int e = THREAD; e < square_of_r; e += THREADS) {
        const int a = e / r, c = e % r;
        double first = 0, second = 0;
        for (int j = 0; j < b; ++j) {
            first += s.inverse[(long long)e * b + j];
            second += s.u[a * b + j] * s.u[c * b + j];
        }
        for (int k = 0; k < r; ++k)
            for (int j = 0; j < b; ++j)
                if (s.extra[k * b + j] != 0)
                    first += s.extra[k * b + j] / s.inverse[k * (r + 1LL) * b + j]
                             * s.inverse[(a * r + k) * (long long)b + j]
                             * s.inverse[(c * r + k) * (long long)b + j];
        sum[e] = first / b;
        spread[e] = second / b - mean[a] * mean[c];
        whole += second / b * G[e];
        around += spread[e] * G[e];
    }
    whole = in_block(whole, room);
    around = in_block(around, room);
    const double chosen = 1 + (near > 0 ? near : 0) / (all > 1 ? all : 1);
    for (int j = THREAD; j < b; j += THREADS) {
        const double left = 1 - chosen * s.left[j] / m;
        s.left[j] = left > NOTHING ? left : NOTHING;
        s.added[j] *= around > 0 ? around / whole / m : 0;
    }
    for (int i = THREAD; i < m; i += THREADS) square += GAUSSIAN * given[i] * GAUSSIAN * given[i] / m;
    square = in_block(square, room);
    const double ratio = square > 0 ? typical(s, b, square, room) : 1;
    // S makes up for a change of scale in A, and a source that is everywhere for a change by its column
    const double idle = sources + everywhere * (sources - 1), most = m * sources > 1 ? m * sources : 1;
    const double own = 1 - idle / most > 0 ? 1 - idle / most : 0;
    for (int i = THREAD; i < m; i += THREADS) {
        double taken = 0, added = 0;
        int fitted = 0;
        for (int k = 0; k < r; ++k) {
            double first = 0, second = 0;
            for (int a = 0; a < r; ++a) {
                first += A[i * r + a] * sum[a * r + k];
                second += A[i * r + a] * spread[a * r + k];
            }
            taken += first * A[i * r + k];
            added += second * A[i * r + k];
            fitted += live[k] > 0 && A[i * r + k] != 0;
        }
        const double level = GAUSSIAN * given[i], here = level * level, left = 1 - taken - own * fitted / n;
        const double total = here / ratio, noise = total - (added > 0 ? added : 0);
        const double clean = (noise > LEAST_NOISE * total ? noise : LEAST_NOISE * total)
                             / (left > LEAST ? left : LEAST);
        found[i] = sqrt(clean < here / LEAST ? clean : here / LEAST);
    }
}

#ifndef __CUDACC__
extern "C" void run_equilibrated(
    int blocks, const double* G, const double* shift, int r, REAL* scaled, REAL* scale, REAL* shifts) {
    EVERY_BLOCK equilibrated(G, shift, r, scaled, scale, shifts);
}
extern "C" void run_moved(
    int blocks, const REAL* A, const REAL* last, const double* share, int m, int r, REAL* found,
    REAL* norms) {
    EVERY_BLOCK moved(A, last, share, m, r, found, norms);
}
extern "C" void run_summary(
    int blocks, const REAL* A, const double* G, const REAL* X, const double* SS, const double* YS, int m,
    int n, int r, double energy, double* found) {
    EVERY_BLOCK summary(A, G, X, SS, YS, m, n, r, energy, found);
}
extern "C" void run_levels(
    int blocks, const double* given, const REAL* A, const double* G, const REAL* C, const REAL* X, int m,
    int n, int r, int every, double* scratch, double* found) {
    EVERY_BLOCK levels(given, A, G, C, X, m, n, r, every, scratch, found);
}
#endif
