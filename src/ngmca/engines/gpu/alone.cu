// min_{x >= 0} 1/2 x'Gx - c'x for every column, from a guess of its support: few sources, one thread each.
//
// Block pivoting as in columns.cu, in single precision, with the whole factor in the registers of a thread.
// Entries that are not in the support take part in all steps, with an inverse pivot of 0, so that every
// register has its fixed place. A column that is not solved within ROUNDS, or without progress, gets a
// violation beyond all bounds, and X stays as it is: columns.cu goes on.
//
// G comes with a diagonal between 1/2 and 2, or 0 (see `equilibrate`); `scale` takes C and X there.

#ifdef __CUDACC__
#define DEVICE static __device__ __forceinline__
#define UNROLL _Pragma("unroll")
#define INVERSE_ROOT(value) rsqrt(value)
#else
#include <cmath>
#define DEVICE static inline
#define UNROLL
#define INVERSE_ROOT(value) (1 / sqrt(value))
using std::fabs;
using std::sqrt;
#endif

constexpr int WIDE = (R + 3) / 4 * 4;  // a row of G, padded with zeros
constexpr int ROUNDS = 8;              // exchanges at most
constexpr REAL MOST_OF_ALL = 3e38;
constexpr REAL ROUNDING = 1e-6;   // share of the largest entry that is none
constexpr REAL DEPENDENT = 1e-5;  // share of a diagonal that is none

DEVICE REAL larger(REAL a, REAL b) { return a > b ? a : b; }
DEVICE REAL smaller(REAL a, REAL b) { return a < b ? a : b; }

// Row i of G, up to its entry `end`. It is read anew each time: there are too few registers to keep it, which
// the compiler would try.
DEVICE void row_of(const REAL* G, int i, int end, REAL* row) {
    UNROLL for (int m = 0; m < end; m += 4) {
        const REAL* from = G + i * WIDE + m;
#ifdef __CUDACC__
        asm volatile("ld.volatile.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
                     : "=f"(row[m]), "=f"(row[m + 1]), "=f"(row[m + 2]), "=f"(row[m + 3])
                     : "r"(unsigned(__cvta_generic_to_shared(from))));
#else
        for (int q = 0; q < 4; ++q) row[m + q] = from[q];
#endif
    }
}

// z := G^-1 c on the support, and 0 elsewhere; false if G is singular there.
DEVICE bool minimum(const REAL* G, const REAL* c, unsigned support, REAL* z) {
    REAL L[R][WIDE], inverse[R];
    bool sound = true;
    UNROLL for (int i = 0; i < R; ++i) {
        row_of(G, i, i + 1, L[i]);
        z[i] = c[i];
    }
    UNROLL for (int j = 0; j < R; ++j) {
        const bool in = support >> j & 1;
        sound = sound && (!in || L[j][j] > DEPENDENT);  // not so for NaN
        inverse[j] = in ? INVERSE_ROOT(L[j][j]) : 0;
        z[j] *= inverse[j];
        UNROLL for (int i = j + 1; i < R; ++i) {
            L[i][j] *= inverse[j];
            z[i] -= L[i][j] * z[j];
            UNROLL for (int m = j + 1; m <= i; ++m) L[i][m] -= L[i][j] * L[m][j];
        }
    }
    UNROLL for (int j = R - 1; j >= 0; --j) {
        z[j] *= inverse[j];
        UNROLL for (int i = 0; i < j; ++i) z[i] -= L[j][i] * z[j];
    }
    return sound;
}

// Signs that z or its gradient break; the violation, relative to the largest entry of |c| or z.
DEVICE unsigned broken_by(const REAL* G, const REAL* c, unsigned support, const REAL* z, REAL& violation) {
    REAL size = 0, most = 0;
    UNROLL for (int i = 0; i < R; ++i) size = larger(size, larger(fabs(c[i]), fabs(z[i])));
    const REAL rounding = ROUNDING * size;
    unsigned broken = 0;
    bool finite = true;
    UNROLL for (int i = 0; i < R; ++i) {
        REAL row[WIDE], y = -c[i];
        row_of(G, i, R, row);
        UNROLL for (int j = 0; j < R; ++j) y += row[j] * z[j];
        finite = finite && fabs(y) <= MOST_OF_ALL;
        most = larger(most, fabs(smaller(z[i], y)));
        broken |= unsigned(support >> i & 1 ? z[i] < 0 : y < -rounding) << i;
    }
    violation = !finite ? MOST_OF_ALL : size > 0 ? most / size : 0;
    return broken;
}

DEVICE int count_of(unsigned mask) {
#ifdef __CUDACC__
    return __popc(mask);
#else
    return __builtin_popcount(mask);
#endif
}

// Exchange broken signs, from a support, until none is left: z, and the violation.
DEVICE REAL pivoted(const REAL* G, const REAL* c, unsigned support, REAL* z) {
    int fewest = R + 1;
    for (int tried = 0; tried < ROUNDS; ++tried) {
        REAL violation;
        if (!minimum(G, c, support, z)) return MOST_OF_ALL;
        const unsigned broken = broken_by(G, c, support, z, violation);
        if (!broken) return violation;
        const int count = count_of(broken);
        if (count >= fewest) return MOST_OF_ALL;  // no progress wants more care
        fewest = count;
        support ^= broken;
    }
    return MOST_OF_ALL;
}

struct Given {
    const REAL *G, *scale, *shift, *C, *guess;  // (R, R), (R,), (R,), (n, R), (n, R)
    REAL* X;                                    // (n, R), the answer; it may be the guess
    float* violation;                           // (n,)
};

DEVICE void solve_column(const Given& g, const REAL* G, const REAL* scale, const REAL* shift, long long t) {
    REAL c[R], z[R];
    unsigned support = 0;
    UNROLL for (int i = 0; i < R; ++i) {
        c[i] = (g.C[t * R + i] - shift[i]) * scale[i];
        support |= unsigned(scale[i] > 0 && g.guess[t * R + i] > 0) << i;
    }
    const REAL violation = pivoted(G, c, support, z);
    g.violation[t] = violation;
    if (violation < MOST_OF_ALL)
        UNROLL for (int i = 0; i < R; ++i) g.X[t * R + i] = z[i] * scale[i];
}

// G in padded rows, scales and shifts, by all threads of a block together.
DEVICE void prepare(const Given& g, REAL* G, int thread, int threads) {
    for (int k = thread; k < R * WIDE; k += threads)
        G[k] = k % WIDE < R ? g.G[k / WIDE * R + k % WIDE] : 0;
    for (int i = thread; i < R; i += threads) {
        G[R * WIDE + i] = g.scale[i];
        G[R * WIDE + WIDE + i] = g.shift[i];
    }
}

#ifdef __CUDACC__
extern "C" __global__ void __launch_bounds__(128) alone(
    const REAL* G, const REAL* scale, const REAL* shift, const REAL* C, const REAL* guess, REAL* X,
    float* violation, long long n) {
    __shared__ __align__(16) REAL shared[(R + 2) * WIDE];
    const long long k = blockIdx.y;
    const Given g = {G + k * R * R, scale + k * R, shift + k * R, C + k * n * R, guess + k * n * R,
                     X + k * n * R, violation + k * n};
    prepare(g, shared, threadIdx.x, blockDim.x);
    __syncthreads();
    for (long long t = (long long)blockIdx.x * blockDim.x + threadIdx.x; t < n;
         t += (long long)gridDim.x * blockDim.x)
        solve_column(g, shared, shared + R * WIDE, shared + (R + 1) * WIDE, t);
}
#else
extern "C" void run_alone(
    int, int problems, const REAL* G, const REAL* scale, const REAL* shift, const REAL* C,
    const REAL* guess, REAL* X, float* violation, long long n) {
    for (long long k = 0; k < problems; ++k) {
        const Given g = {G + k * R * R, scale + k * R, shift + k * R, C + k * n * R, guess + k * n * R,
                         X + k * n * R, violation + k * n};
        alignas(16) REAL shared[(R + 2) * WIDE];
        prepare(g, shared, 0, 1);
        for (long long t = 0; t < n; ++t)
            solve_column(g, shared, shared + R * WIDE, shared + (R + 1) * WIDE, t);
    }
}
#endif
