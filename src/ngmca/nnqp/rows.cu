// What concerns whole rows: their products, their medians, their noise, and rows of bounded norm.
//
// A block of threads has a row, or a problem. The same source compiled as C++ has one thread a block.

#ifdef __CUDACC__
#define KERNEL extern "C" __global__ void __launch_bounds__(1024)
#define SHARED extern __shared__ __align__(16) unsigned char memory[]
#define TOGETHER __syncthreads()
#define THREAD int(threadIdx.x)
#define THREADS int(blockDim.x)
#define BLOCK (long long)(blockIdx.x)
#define BLOCKS (long long)(gridDim.x)
#define WARP 32
static __device__ double in_warp(double value) {
    for (int step = WARP / 2; step; step /= 2) value += __shfl_xor_sync(0xffffffffu, value, step);
    return value;
}
#define DEVICE static __device__ __forceinline__
#else
#include <cmath>
#include <vector>
using std::erf;
using std::exp;
using std::fabs;
using std::frexp;
using std::ldexp;
using std::log;
using std::sqrt;
static int block_now, blocks_now;
#define KERNEL static void
#define SHARED std::vector<double> rented(1 << 18); unsigned char* memory = (unsigned char*)rented.data()
#define TOGETHER
#define THREAD 0
#define THREADS 1
#define BLOCK (long long)block_now
#define BLOCKS (long long)blocks_now
#define WARP 1
#define DEVICE static inline
DEVICE double in_warp(double value) { return value; }
#endif

// The sum over all threads of a block, for each of them; `room` has a place for every warp.
DEVICE double in_block(double value, double* room) {
    value = in_warp(value);
    TOGETHER;
    if (THREAD % WARP == 0) room[THREAD / WARP] = value;
    TOGETHER;
    double total = 0;
    for (int w = 0; w < (THREADS + WARP - 1) / WARP; ++w) total += room[w];
    return total;
}

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

// Rounds of exact row updates in place of X (r, m), as `descend_rows` in bounded_rows.py: norms of rows
// are at most `bound`. One problem a block; `told` gets its rounds and the last largest change.
KERNEL bounded(
    const double* G, const double* C, const double* bound, double* X, int r, int m, int most, double tol,
    double* told) {
    SHARED;
    double *x = reinterpret_cast<double*>(memory), *y = x + r * m, *change = y + r * m, *room = change + m;
    G += BLOCK * r * r;
    C += BLOCK * r * m;
    bound += BLOCK * r;
    X += BLOCK * r * m;
    for (int k = THREAD; k < r * m; k += THREADS) x[k] = X[k];
    TOGETHER;
    // teams of threads share the rows of y where there are more threads than columns
    const int teams = THREADS / m > 0 ? THREADS / m : 1, width = THREADS / m > 0 ? m : THREADS;
    const int team = THREAD / width, own = THREAD % width;
    double largest = 0;
    int rounds = 0;
    while (rounds < most) {
        if (rounds % 32 == 0) {  // y := C - GX, from scratch now and then
            for (int k = THREAD; k < r * m; k += THREADS) {
                double sum = C[k];
                for (int j = 0; j < r; ++j) sum -= G[k / m * r + j] * x[j * m + k % m];
                y[k] = sum;
            }
            TOGETHER;
        }
        ++rounds;
        double moved = 0, total = 0;
        largest = 0;
        for (int i = 0; i < r; ++i) {
            const double curvature = G[i * (r + 1)];
            double square = 0;
            for (int t = THREAD; t < m; t += THREADS) {
                const double best = curvature > 0 ? x[i * m + t] + y[i * m + t] / curvature : 0;
                change[t] = best > 0 ? best : 0;
                square += change[t] * change[t];
            }
            const double size = sqrt(in_block(square, room));
            const double shrink = size > bound[i] ? bound[i] / size : 1;
            for (int t = THREAD; t < m; t += THREADS) {
                const double value = change[t] * shrink, step = value - x[i * m + t];
                moved += step * step;
                total += value * value;
                largest = fabs(step) > largest ? fabs(step) : largest;
                x[i * m + t] = value;
                change[t] = step;
            }
            TOGETHER;
            if (team < teams)
                for (int t = own; t < m; t += width)
                    for (int j = team; j < r; j += teams) y[j * m + t] -= G[j * r + i] * change[t];
            TOGETHER;
        }
        if (in_block(moved, room) <= tol * tol * in_block(total, room)) break;
    }
    for (int k = THREAD; k < r * m; k += THREADS) X[k] = x[k];
    TOGETHER;
    if (THREAD < m) change[THREAD] = largest;
    TOGETHER;
    if (THREAD == 0) {
        for (int k = 1; k < m && k < THREADS; ++k) largest = change[k] > largest ? change[k] : largest;
        told[BLOCK * 2] = rounds;
        told[BLOCK * 2 + 1] = largest;
    }
}

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

// What choosing the support of a sample tells: constants and steps are those of data/freedom.py.
constexpr double LEAST = 1.0 / 9, LEAST_NOISE = 1.0 / 4, NOTHING = 1e-3, DEPENDENT = 1e-8;
constexpr double QUARTILE = 0.6744897501960817;

struct Samples {      // b of them, side by side: entry (a, c) of sample j is at (a r + c) b + j
    double *factor;   // (r, r, b) of G on the support, then the inverse of that
    double *inverse;  // (r, r, b) of G on the support, 0 elsewhere
    double *u;        // (r, b) what the threshold took off
    double *extra;    // (r, b) weights of entries near 0
    double *support;  // (r, b) which entries are not 0
    double *left;     // (b,) their number, then what is left of unit noise
    double *added;    // (b,) by u
};

// inverse := G^-1 on the support of sample j, without dependent entries; how many are left.
DEVICE int inverted(const Samples& s, const double* G, const double* x, int r, int b, int j) {
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

// u, extra and added of sample j, whose inverse is known; the sum of extra.
DEVICE double taken_off(const Samples& s, const double* C, const double* x, int p, int r, int b, int j) {
    for (int k = 0; k < r; ++k) s.u[k * b + j] = s.extra[k * b + j] = 0;
    double near = 0, added = 0;
    for (int a = 0; a < p; ++a) {
        const int i = int(s.support[a * b + j]);
        double u = 0;
        for (int c = 0; c < p; ++c) {
            const int k = int(s.support[c * b + j]);
            u += s.inverse[(i * r + k) * b + j] * C[k];
        }
        const double extra = x[i] * u > 0 && fabs(x[i]) < fabs(u) ? 4 - 6 * x[i] / u : 0;
        s.u[i * b + j] = u;
        s.extra[i * b + j] = extra;
        near += extra;
        added += u * C[i];
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

// Levels of the noise in rows, for those of the residual of a fit of n samples: `corrected` in
// data/freedom.py. One problem a block: A (m, r), G = A'A, some sources X (b, r), and A'(Y - AX') as
// C (b, r). `scratch` has (2 b + 2) r r + (3 b + 2) r + 2 b places for each.
KERNEL levels(
    const double* given, const double* A, const double* G, const double* C, const double* X, int m, int r,
    int b, double n, double* scratch, double* found) {
    SHARED;
    double* room = reinterpret_cast<double*>(memory);
    given += BLOCK * m;
    A += BLOCK * m * r;
    G += BLOCK * r * r;
    C += BLOCK * b * r;
    X += BLOCK * b * r;
    found += BLOCK * m;
    const int square_of_r = r * r;
    double* at = scratch + BLOCK * ((2LL * b + 2) * square_of_r + (3LL * b + 2) * r + 2 * b);
    Samples s;
    s.factor = at;
    s.inverse = s.factor + (long long)square_of_r * b;
    s.u = s.inverse + (long long)square_of_r * b;
    s.extra = s.u + r * b;
    s.support = s.extra + r * b;
    s.left = s.support + r * b;
    s.added = s.left + b;
    double *sum = s.added + b, *spread = sum + square_of_r, *mean = spread + square_of_r, *live = mean + r;
    double near = 0, all = 0, square = 0;
    for (int j = THREAD; j < b; j += THREADS) {
        const int p = inverted(s, G, X + j * r, r, b, j);
        near += taken_off(s, C + j * r, X + j * r, p, r, b, j);
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
            active += X[j * r + k] != 0;
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
    for (int i = THREAD; i < m; i += THREADS) square += given[i] * given[i] / m;
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
        const double left = 1 - taken - own * fitted / (n > 1 ? n : 1), here = given[i] * given[i];
        const double total = here / ratio, noise = total - (added > 0 ? added : 0);
        const double clean = (noise > LEAST_NOISE * total ? noise : LEAST_NOISE * total)
                             / (left > LEAST ? left : LEAST);
        found[i] = sqrt(clean < here / LEAST ? clean : here / LEAST);
    }
}

#ifndef __CUDACC__
#define EVERY_BLOCK for (blocks_now = blocks, block_now = 0; block_now < blocks; ++block_now)
extern "C" void run_added(int blocks, const REAL* X, int k, long long n, double* found) {
    EVERY_BLOCK added(X, k, n, found);
}
extern "C" void run_tally(int blocks, const REAL* X, long long n, int r, double* found) {
    EVERY_BLOCK tally(X, n, r, found);
}
extern "C" void run_deviations(int blocks, const REAL* X, int n, double* found) {
    EVERY_BLOCK deviations(X, n, found);
}
extern "C" void run_bounded(
    int blocks, const double* G, const double* C, const double* bound, double* X, int r, int m, int most,
    double tol, double* told) {
    EVERY_BLOCK bounded(G, C, bound, X, r, m, most, tol, told);
}
extern "C" void run_equilibrated(
    int blocks, const double* G, const double* shift, int r, REAL* scaled, REAL* scale, REAL* shifts) {
    EVERY_BLOCK equilibrated(G, shift, r, scaled, scale, shifts);
}
extern "C" void run_moved(
    int blocks, const REAL* A, const REAL* last, const double* share, int m, int r, REAL* found,
    REAL* norms) {
    EVERY_BLOCK moved(A, last, share, m, r, found, norms);
}
extern "C" void run_levels(
    int blocks, const double* given, const double* A, const double* G, const double* C, const double* X,
    int m, int r, int b, double n, double* scratch, double* found) {
    EVERY_BLOCK levels(given, A, G, C, X, m, r, b, n, scratch, found);
}
#endif
