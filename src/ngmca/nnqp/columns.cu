// min_{x >= 0} 1/2 x'Gx - c'x for every column, from a guess of its support.
//
// Block pivoting as in pivoting.py: the minimum on the support by a Cholesky factor, and what breaks its
// sign changes sides, until nothing does. Where that fails (supports larger than MOST, sources that are
// nearly alike) coordinate descent goes on from the guess, and the violation tells how far it came.
//
// Compiled for one number of sources R and one type REAL; a column has LANES threads, a warp or part of
// one, each with every LANES-th entry. The same source compiled as C++ has one lane, and is what tests
// run where there is no card.
//
// G comes with a diagonal between 1/2 and 2, or 0 (see `equilibrate`); `scale` takes C and X there.

#ifdef __CUDACC__
#define DEVICE static __device__ __forceinline__
#define UNROLL _Pragma("unroll")
#define INVERSE_ROOT(value) rsqrt(value)
#else
#include <cmath>
#include <cstring>
#define DEVICE static inline
#define UNROLL
#define INVERSE_ROOT(value) (1 / sqrt(value))
using std::fabs;
using std::sqrt;
#endif

constexpr int OWN = (R + LANES - 1) / LANES;  // entries of a column in each lane
constexpr int WIDE = OWN * LANES;             // a row of G, padded with zeros
constexpr int MOST = R < 48 ? R : 48;         // entries of a support that is factored
constexpr int ROWS = (MOST + LANES - 1) / LANES;                              // of its factor, in each lane
constexpr int FACTOR = 32 * ((MOST + 7) / 8) * ((MOST + 7) / 8 + 2);           // entries of it
constexpr int PATIENCE = 3;                   // exchanges without progress before one at a time
constexpr int REFRESHED = 4;                  // times that rounding is cleared from a gradient, at most
constexpr bool SINGLE = sizeof(REAL) == 4;
constexpr REAL MOST_OF_ALL = SINGLE ? 3e38 : 1.7e308;
constexpr REAL ROUNDING = SINGLE ? 1e-6 : 2e-15 * R;  // share of the largest entry that is none
constexpr REAL DEPENDENT = SINGLE ? 1e-5 : 1e-11;     // share of a diagonal that is none

DEVICE REAL larger(REAL a, REAL b) { return a > b ? a : b; }
DEVICE REAL smaller(REAL a, REAL b) { return a < b ? a : b; }

#if LANES > 1
DEVICE int lane() { return threadIdx.x % LANES; }
DEVICE unsigned team() {
    return LANES == 32 ? 0xffffffffu : ((1u << (LANES % 32)) - 1) << (threadIdx.x % 32 / LANES * LANES);
}
DEVICE REAL from_lane(REAL value, int which) { return __shfl_sync(team(), value, which, LANES); }
DEVICE unsigned lanes_with(bool is) {
    const unsigned found = __ballot_sync(team(), is);
    return LANES == 32 ? found : found >> (threadIdx.x % 32 / LANES * LANES);
}
DEVICE int first_of(unsigned mask) { return __ffs(mask) - 1; }
DEVICE int last_of(unsigned mask) { return 31 - __clz(mask); }
DEVICE int count_of(unsigned mask) { return __popc(mask); }
DEVICE void together() { __syncwarp(team()); }
DEVICE unsigned largest_key(unsigned key) {
    for (int step = LANES / 2; step; step /= 2) key = max(key, __shfl_xor_sync(team(), key, step));
    return key;
}
DEVICE REAL largest(REAL value) {
    for (int step = LANES / 2; step; step /= 2)
        value = larger(value, __shfl_xor_sync(team(), value, step));
    return value;
}
#else
DEVICE int lane() { return 0; }
DEVICE REAL from_lane(REAL value, int) { return value; }
DEVICE unsigned lanes_with(bool is) { return is; }
DEVICE int first_of(unsigned) { return 0; }
DEVICE int last_of(unsigned) { return 0; }
DEVICE int count_of(unsigned mask) { return int(mask); }
DEVICE void together() {}
DEVICE unsigned largest_key(unsigned key) { return key; }
DEVICE REAL largest(REAL value) { return value; }
#endif

DEVICE unsigned bits(float value) {
#ifdef __CUDACC__
    return __float_as_uint(value);
#else
    unsigned found;
    std::memcpy(&found, &value, sizeof found);
    return found;
#endif
}

struct alignas(16) Four { REAL of[4]; };  // read at once

// Where row i of a factor begins. Eight rows are equally long, an odd multiple of 16 bytes: lanes that
// read from them side by side meet in no bank of the shared memory.
DEVICE int row_at(int i) { return 4 * (i / 8 * (i / 8 + 2) * 8 + i % 8 * (i / 8 * 2 + 3)); }

// Entry i of a vector that lanes share, for all of them.
template <int SLOTS> DEVICE REAL entry(const REAL* values, int i) {
    REAL found = values[0];
    UNROLL for (int s = 1; s < SLOTS; ++s) found = i / LANES == s ? values[s] : found;
    return from_lane(found, i % LANES);
}

struct Team {             // what the lanes of a column share
    const REAL* G;        // (R, WIDE)
    const REAL* inverse;  // (WIDE,) of the diagonal of G, 0 where that is 0
    REAL* factor;         // (FACTOR,)
    unsigned char* place; // (MOST,) which entries the support has
};

// Whether all entries are numbers, and none is infinite.
DEVICE bool finite(const REAL* values) {
    unsigned bad = 0;
    UNROLL for (int a = 0; a < OWN; ++a) bad |= lanes_with(!(fabs(values[a]) <= MOST_OF_ALL));
    return !bad;
}

// y := Gx - c from scratch; the violation, relative to `size`, the largest entry of |c| or x.
DEVICE REAL certified(const Team& t, const REAL* c, const REAL* x, REAL* y, REAL& size) {
    UNROLL for (int a = 0; a < OWN; ++a) y[a] = -c[a];
    UNROLL for (int b = 0; b < OWN; ++b)
        for (unsigned left = lanes_with(x[b] != 0); left; left &= left - 1) {
            const int owner = first_of(left);
            const REAL value = from_lane(x[b], owner);
            const REAL* row = t.G + (b * LANES + owner) * WIDE + lane();
            UNROLL for (int a = 0; a < OWN; ++a) y[a] += value * row[a * LANES];
        }
    REAL wrong = 0, most = 0;
    UNROLL for (int a = 0; a < OWN; ++a) {
        wrong = larger(wrong, fabs(smaller(x[a], y[a])));
        most = larger(most, larger(fabs(c[a]), x[a]));
    }
    size = largest(most);
    wrong = largest(wrong);
    if (!finite(y)) return MOST_OF_ALL;
    return size > 0 ? wrong / size : 0;
}

// sum - <row, pivots> over their first j entries; pivots are 0 from there to the next multiple of 4.
DEVICE REAL reduced(REAL sum, const REAL* row, const REAL* pivots, int j) {
    for (int m = 0; m < j; m += 4) {
        const Four a = *reinterpret_cast<const Four*>(row + m);
        const Four b = *reinterpret_cast<const Four*>(pivots + m);
        UNROLL for (int q = 0; q < 4; ++q) sum -= a.of[q] * b.of[q];
    }
    return sum;
}

// Column j of the factor from its entries before they are divided, and z reduced by it.
DEVICE bool eliminated(const Team& t, int j, int k, REAL* entries, REAL* inverse, REAL* z) {
    const REAL pivot = entry<ROWS>(entries, j);
    if (!(pivot > DEPENDENT)) return false;  // not so for NaN
    const REAL shrink = INVERSE_ROOT(pivot), known = entry<ROWS>(z, j) * shrink;
    UNROLL for (int s = 0; s < ROWS; ++s) {
        const int i = s * LANES + lane();
        entries[s] *= shrink;
        if (i == j) {
            inverse[s] = shrink;
            z[s] = known;
        } else if (i > j && i < k) {
            z[s] -= entries[s] * known;
            t.factor[row_at(i) + j] = entries[s];
        }
    }
    return true;
}

// z := G^-1 c on the k entries of the support, of which each lane has every LANES-th; false if singular.
DEVICE bool minimum(const Team& t, int k, REAL* z) {
    int mine[ROWS];
    REAL inverse[ROWS], entries[ROWS];
    UNROLL for (int s = 0; s < ROWS; ++s) {
        const int i = s * LANES + lane();
        mine[s] = i < k ? t.place[i] : 0;
        inverse[s] = entries[s] = 0;
        if (i < k)
            for (int m = i; m % 4; ++m) t.factor[row_at(i) + m] = 0;  // see `reduced`
    }
    together();
    for (int j = 0; j < k; ++j) {
        const REAL *G = t.G + t.place[j] * WIDE, *pivots = t.factor + row_at(j);
        UNROLL for (int s = 0; s < ROWS; ++s) {
            const int i = s * LANES + lane();
            if (i >= j && i < k) entries[s] = reduced(G[mine[s]], t.factor + row_at(i), pivots, j);
        }
        if (!eliminated(t, j, k, entries, inverse, z)) return false;
        together();
    }
    for (int j = k - 1; j >= 0; --j) {
        const REAL* row = t.factor + row_at(j);
        UNROLL for (int s = 0; s < ROWS; ++s)
            if (s * LANES + lane() == j) z[s] *= inverse[s];
        const REAL known = entry<ROWS>(z, j);
        UNROLL for (int s = 0; s < ROWS; ++s)
            if (s * LANES + lane() < j) z[s] -= row[s * LANES + lane()] * known;
    }
    return true;
}

// Exchange broken signs, from the support of x, until none is left. The violation: on success x is the
// answer and y = Gx - c; otherwise x is as it was, and it is -1.
DEVICE REAL pivoted(const Team& t, const REAL* c, REAL* x, REAL* y) {
    bool passive[OWN];
    UNROLL for (int a = 0; a < OWN; ++a) passive[a] = x[a] > 0;
    int fewest = R + 1, patience = PATIENCE;
    for (int tried = 0; tried < 10 + R; ++tried) {
        int k = 0, rank[OWN];
        UNROLL for (int a = 0; a < OWN; ++a) {
            const unsigned mask = lanes_with(passive[a]);
            rank[a] = k + count_of(mask & ((1u << lane()) - 1));
            k += count_of(mask);
        }
        if (k > MOST) return -1;
        together();
        UNROLL for (int a = 0; a < OWN; ++a)
            if (passive[a]) {
                t.place[rank[a]] = a * LANES + lane();
                t.factor[row_at(rank[a])] = c[a];  // for the lane that has this row
            }
        together();
        REAL z[ROWS];
        UNROLL for (int s = 0; s < ROWS; ++s) {
            const int i = s * LANES + lane();
            z[s] = i < k ? t.factor[row_at(i)] : 0;
        }
        together();
        if (!minimum(t, k, z)) return -1;
        UNROLL for (int a = 0; a < OWN; ++a) y[a] = -c[a];
        REAL size = 0, found[OWN];
        UNROLL for (int s = 0; s < ROWS; ++s) size = larger(size, fabs(z[s]));
        UNROLL for (int a = 0; a < OWN; ++a) {
            size = larger(size, fabs(c[a]));
            found[a] = 0;
        }
        size = largest(size);
        const REAL rounding = ROUNDING * size;
        for (int i = 0; i < k; ++i) {
            const REAL value = entry<ROWS>(z, i);
            const int place = t.place[i];
            const REAL* row = t.G + place * WIDE + lane();
            UNROLL for (int a = 0; a < OWN; ++a) {
                y[a] += value * row[a * LANES];
                if (place == a * LANES + lane()) found[a] = value;
            }
        }
        int broken = 0, last = 0;
        bool wrong[OWN];
        UNROLL for (int a = 0; a < OWN; ++a) {
            wrong[a] = passive[a] ? found[a] < 0 : y[a] < -rounding;
            const unsigned mask = lanes_with(wrong[a]);
            broken += count_of(mask);
            if (mask) last = a * LANES + last_of(mask);
        }
        if (!broken) {
            if (!finite(y)) return -1;
            REAL most = 0;
            UNROLL for (int a = 0; a < OWN; ++a) {
                x[a] = found[a];
                most = larger(most, fabs(smaller(x[a], y[a])));
            }
            most = largest(most);
            return size > 0 ? most / size : 0;
        }
        patience = broken < fewest ? PATIENCE : patience - 1;
        fewest = broken < fewest ? broken : fewest;
        UNROLL for (int a = 0; a < OWN; ++a)
            if (wrong[a] && (patience >= 0 || a * LANES + lane() == last)) passive[a] = !passive[a];
    }
    return -1;
}

// The coordinate that would move farthest, again and again, until none would by more than the limit. A
// move and its place travel in one integer: the last bits of the move make room for the place.
DEVICE void descend(const Team& t, REAL* x, REAL* y, REAL limit, int& left) {
    const REAL unit = 1 / limit;
    for (; left > 0; --left) {
        REAL step[OWN];
        unsigned key = 0;
        UNROLL for (int a = 0; a < OWN; ++a) {
            step[a] = larger(-x[a], -y[a] * t.inverse[a * LANES + lane()]);
            const unsigned size = bits(float(smaller(fabs(step[a]) * unit, REAL(1e30)))) & ~127u;
            const unsigned place = a * LANES + lane();
            key = size + place > key ? size + place : key;
        }
        key = largest_key(key);
        if ((key & ~127u) <= bits(1.0f)) break;
        const int place = key & 127u;
        const REAL move = entry<OWN>(step, place);
        const REAL* row = t.G + place * WIDE + lane();
        UNROLL for (int a = 0; a < OWN; ++a) {
            y[a] += move * row[a * LANES];
            if (a * LANES + lane() == place) x[a] += move;
        }
    }
}

// Solve one column from x; the violation, at most tol unless `left` moves do not suffice for that.
DEVICE REAL solve_column(const Team& t, const REAL* c, REAL* x, REAL tol, int left) {
    REAL y[OWN], size, wrong = pivoted(t, c, x, y);
    if (wrong >= 0 && wrong <= tol) return wrong;
    wrong = certified(t, c, x, y, size);
    for (int k = 0; k < REFRESHED && wrong > tol && wrong < MOST_OF_ALL && left > 0; ++k) {
        descend(t, x, y, tol * size / 2, left);
        wrong = certified(t, c, x, y, size);
    }
    return wrong;
}

struct Problem {       // arrays of one of several problems
    const REAL *G;     // (R, R)
    const REAL *scale; // (R,)
    const REAL *shift; // (R,), taken from every column of C
    const REAL *C;     // (n, R)
    const REAL *guess; // (n, R), which may be X
    REAL *X;           // (n, R), the answer
    float *violation;  // (n,)
    long long n;
};

struct Units {  // of the entries of a lane
    REAL scale[OWN], back[OWN], shift[OWN];
};

DEVICE Units units_of(const Problem& p) {
    Units u;
    UNROLL for (int a = 0; a < OWN; ++a) {
        const int i = a * LANES + lane();
        u.scale[a] = i < R ? p.scale[i] : 0;
        u.back[a] = u.scale[a] > 0 ? 1 / u.scale[a] : 0;
        u.shift[a] = i < R ? p.shift[i] : 0;
    }
    return u;
}

// Into the registers of a lane: entries past the last are 0, and stay so.
DEVICE void load(const Problem& p, const Units& u, long long t, REAL* c, REAL* x) {
    UNROLL for (int a = 0; a < OWN; ++a) {
        const int i = a * LANES + lane();
        c[a] = i < R ? (p.C[t * R + i] - u.shift[a]) * u.scale[a] : 0;
        const REAL guess = i < R ? p.guess[t * R + i] * u.back[a] : 0;
        x[a] = guess > 0 ? guess : 0;  // also where it is NaN
    }
}

DEVICE void store(const Problem& p, const Units& u, long long t, const REAL* x) {
    UNROLL for (int a = 0; a < OWN; ++a) {
        const int i = a * LANES + lane();
        if (i < R) p.X[t * R + i] = x[a] * u.scale[a];
    }
}

DEVICE Problem problem_of(const Problem& first, long long k) {
    Problem p = first;
    p.G += k * R * R;
    p.scale += k * R;
    p.shift += k * R;
    p.C += k * p.n * R;
    p.guess += k * p.n * R;
    p.X += k * p.n * R;
    p.violation += k * p.n;
    return p;
}

// G in padded rows, and the inverse of its diagonal, by all threads of a block together.
DEVICE void prepare(const Problem& p, REAL* G, REAL* inverse, int thread, int threads) {
    for (int k = thread; k < R * WIDE; k += threads)
        G[k] = k % WIDE < R ? p.G[k / WIDE * R + k % WIDE] : 0;
    for (int i = thread; i < WIDE; i += threads)
        inverse[i] = i < R && p.G[i * (R + 1)] > 0 ? 1 / p.G[i * (R + 1)] : 0;
}

#ifdef __CUDACC__
// Shared memory: G, the inverse of its diagonal, and for each team its factor and its support.
#ifdef AT_ONCE  // blocks that share a multiprocessor: registers are what it has too few of
extern "C" __global__ void __launch_bounds__(256, AT_ONCE) solve(
#else
extern "C" __global__ void __launch_bounds__(256) solve(
#endif
    const REAL* G, const REAL* scale, const REAL* shift, const REAL* C, const REAL* guess, REAL* X,
    float* violation, long long n, REAL tol, int most) {
    extern __shared__ __align__(16) unsigned char memory[];
    const int teams = blockDim.x / LANES, team = threadIdx.x / LANES;
    REAL* g = reinterpret_cast<REAL*>(memory);
    REAL* inverse = g + R * WIDE;
    REAL* factors = inverse + WIDE;
    unsigned char* places = reinterpret_cast<unsigned char*>(factors + teams * FACTOR);
    const Problem p = problem_of({G, scale, shift, C, guess, X, violation, n}, blockIdx.y);
    prepare(p, g, inverse, threadIdx.x, blockDim.x);
    for (int k = threadIdx.x; k < teams * FACTOR; k += blockDim.x) factors[k] = 0;  // nothing but numbers
    __syncthreads();
    const Units units = units_of(p);
    const Team shared = {g, inverse, factors + team * FACTOR, places + team * MOST};
    for (long long t = (long long)blockIdx.x * teams + team; t < n; t += (long long)gridDim.x * teams) {
        REAL c[OWN], x[OWN];
        load(p, units, t, c, x);
        const REAL wrong = solve_column(shared, c, x, tol, most);
        store(p, units, t, x);
        if (lane() == 0) p.violation[t] = wrong;
    }
}
#else
extern "C" void solve(
    const REAL* G, const REAL* scale, const REAL* shift, const REAL* C, const REAL* guess, REAL* X,
    float* violation, long long n, REAL tol, int most, int problems) {
    for (int k = 0; k < problems; ++k) {
        const Problem p = problem_of({G, scale, shift, C, guess, X, violation, n}, k);
        REAL g[R * WIDE], inverse[WIDE];
        alignas(16) REAL factor[FACTOR] = {};
        unsigned char place[MOST];
        prepare(p, g, inverse, 0, 1);
        const Units units = units_of(p);
        for (long long t = 0; t < n; ++t) {
            REAL c[OWN], x[OWN];
            load(p, units, t, c, x);
            p.violation[t] = solve_column({g, inverse, factor, place}, c, x, tol, most);
            store(p, units, t, x);
        }
    }
}
#endif
