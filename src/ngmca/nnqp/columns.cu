// min_{x >= 0} 1/2 x'Gx - c'x for every column, from a guess of its support.
//
// Block pivoting as in pivoting.py: the minimum on the support by a Cholesky factor, and what breaks its
// sign changes sides, until nothing does. Where that fails (supports larger than MOST, sources that are
// nearly alike) coordinate descent goes on from the guess, and the violation tells how far it came.
//
// Compiled for one number of sources R and one type REAL; a column has a team of LANES threads, a warp or
// part of one, each with every LANES-th entry. The teams of a warp go through all steps together: what is
// left to do is asked of the warp, and a team that is done goes along idly. The same source compiled as C++
// has one lane, and is what tests run where there is no card.
//
// G comes with a diagonal between 1/2 and 2, or 0 (see `equilibrate`); `scale` takes C and X there.

#ifdef __CUDACC__
#define DEVICE static __device__ __forceinline__
#define UNROLL _Pragma("unroll")
#define SOME _Pragma("unroll 4")
#define INVERSE_ROOT(value) rsqrt(value)
#else
#include <cmath>
#include <cstring>
#define DEVICE static inline
#define UNROLL
#define SOME
#define INVERSE_ROOT(value) (1 / sqrt(value))
using std::fabs;
using std::sqrt;
#endif

constexpr int OWN = (R + LANES - 1) / LANES;  // entries of a column in each lane
constexpr int WIDE = OWN * LANES + 1;         // a row of G, padded with zeros to an odd length
#ifndef MOST
#define MOST (R < 64 ? R : 64)  // entries of a support that is factored
#endif
constexpr int ROWS = (MOST + LANES - 1) / LANES;  // of its factor, in each lane
constexpr int ALL = ROWS * LANES;
constexpr int FACTOR = (ALL * (ALL + 1) / 2 + 31) / 32 * 32 + LANES % 32;  // teams meet in no bank of memory
constexpr int PATIENCE = 3;                       // exchanges without progress before one at a time
constexpr int REFRESHED = 4;                      // times that rounding is cleared from a gradient, at most
constexpr bool SINGLE = sizeof(REAL) == 4;
constexpr REAL MOST_OF_ALL = SINGLE ? 3e38 : 1.7e308;
constexpr REAL ROUNDING = SINGLE ? 1e-6 : 2e-15 * R;  // share of the largest entry that is none
constexpr REAL DEPENDENT = SINGLE ? 1e-5 : 1e-11;     // share of a diagonal that is none

DEVICE REAL larger(REAL a, REAL b) { return a > b ? a : b; }
DEVICE REAL smaller(REAL a, REAL b) { return a < b ? a : b; }

#if LANES > 1
#define EVERY 0xffffffffu
DEVICE int lane() { return threadIdx.x % LANES; }
DEVICE REAL from_lane(REAL value, int which) { return __shfl_sync(EVERY, value, which, LANES); }
DEVICE unsigned lanes_with(bool is) {
    const unsigned found = __ballot_sync(EVERY, is);
    return LANES == 32 ? found : found >> (threadIdx.x % 32 / LANES * LANES) & ((1u << (LANES % 32)) - 1);
}
DEVICE int first_of(unsigned mask) { return __ffs(mask) - 1; }
DEVICE int last_of(unsigned mask) { return 31 - __clz(mask); }
DEVICE int count_of(unsigned mask) { return __popc(mask); }
DEVICE void together() { __syncwarp(); }
DEVICE unsigned largest_key(unsigned key) {
    for (int step = LANES / 2; step; step /= 2) key = max(key, __shfl_xor_sync(EVERY, key, step));
    return key;
}
DEVICE REAL largest(REAL value) {
    for (int step = LANES / 2; step; step /= 2)
        value = larger(value, __shfl_xor_sync(EVERY, value, step));
    return value;
}
DEVICE bool in_warp(bool is) { return __any_sync(EVERY, is); }  // of any team
DEVICE int most_in_warp(int k) { return __reduce_max_sync(EVERY, k); }
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
DEVICE bool in_warp(bool is) { return is; }
DEVICE int most_in_warp(int k) { return k; }
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

DEVICE int row_at(int i) { return i * (i - 1) / 2; }  // where row i of a factor begins, less its diagonal

// Entry i of a vector that lanes share, for all of them.
template <int SLOTS> DEVICE REAL entry(const REAL* values, int i) {
    REAL found = values[0];
    UNROLL for (int s = 1; s < SLOTS; ++s) found = i / LANES == s ? values[s] : found;
    return from_lane(found, i % LANES);
}

struct Team {             // what the lanes of a column share
    const REAL* G;        // (R, WIDE)
    const REAL* inverse;  // of the diagonal of G, 0 where that is 0
    REAL* factor;         // (FACTOR,)
    unsigned char* place; // (ALL,) which entries the support has; 0 past its end
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
        for (unsigned left = lanes_with(x[b] != 0); in_warp(left); left &= left - 1) {
            const int owner = left ? first_of(left) : 0;
            const REAL given = from_lane(x[b], owner), value = left ? given : 0;
            const REAL* row = t.G + (left ? b * LANES + owner : 0) * WIDE + lane();
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

// z := G^-1 c on the k entries of the support, of which each lane has every LANES-th; false if singular.
//
// A lane has its rows of the lower triangle in registers, and takes from them what a finished column j
// says. Columns go to shared memory, out of which the way back reads rows. A team whose support is smaller
// than others of its warp goes on with pivots whose inverse is 0, which change nothing.
DEVICE bool minimum(const Team& t, int k, int most, REAL* z) {
    int at[ROWS];
    REAL inverse[ROWS], rest[ROWS][ALL], column[ROWS];
    bool sound = true;
    UNROLL for (int s = 0; s < ROWS; ++s) {
        const int i = s * LANES + lane(), mine = i < k ? t.place[i] : 0;
        at[s] = row_at(i);
        inverse[s] = 0;
        UNROLL for (int g = 0; g <= s; ++g)
            if (s * LANES < most)
                UNROLL for (int q = 0; q < LANES; ++q)
                    rest[s][g * LANES + q] = t.G[t.place[g * LANES + q] * WIDE + mine];
    }
    UNROLL for (int j = 0; j < ALL; ++j)
        if (j < most) {
            const int from = j / LANES;
            const REAL pivot = from_lane(rest[from][j], j % LANES);
            sound = sound && (j >= k || pivot > DEPENDENT);  // not so for NaN
            const REAL shrink = j < k ? INVERSE_ROOT(pivot) : 0;
            const REAL known = from_lane(z[from], j % LANES) * shrink;
            UNROLL for (int s = from; s < ROWS; ++s) {
                column[s] = rest[s][j] * shrink;
                const bool below = s > from || lane() > j % LANES;
                if (below) {
                    z[s] -= column[s] * known;
                    t.factor[at[s] + j] = column[s];
                }
                if (s == from && lane() == j % LANES) {
                    z[s] = known;
                    inverse[s] = shrink;
                }
            }
            UNROLL for (int g = from; g < ROWS; ++g)
                if (g * LANES < most)
                    UNROLL for (int m = g * LANES; m < (g + 1) * LANES; ++m)
                        if (m > j) {
                            const REAL other = from_lane(column[g], m % LANES);
                            UNROLL for (int s = g; s < ROWS; ++s) rest[s][m] -= column[s] * other;
                        }
        }
    together();
    UNROLL for (int j = ALL - 1; j >= 0; --j)
        if (j < most) {
            const int from = j / LANES;
            const REAL* row = t.factor + row_at(j) + lane();
            const REAL known = from_lane(z[from] * inverse[from], j % LANES);
            UNROLL for (int s = 0; s < from; ++s) z[s] -= row[s * LANES] * known;
            if (lane() < j % LANES) z[from] -= row[from * LANES] * known;
            if (lane() == j % LANES) z[from] = known;
        }
    UNROLL for (int s = 0; s < ROWS; ++s) z[s] = s * LANES + lane() < k ? z[s] : 0;
    together();
    return sound;
}

// The support in order, in `place`, and in z what c has there; its size, and the rank of each entry in it.
DEVICE int gathered(const Team& t, const bool* passive, const REAL* c, int* rank, REAL* z) {
    int k = 0;
    UNROLL for (int a = 0; a < OWN; ++a) {
        const unsigned mask = lanes_with(passive[a]);
        rank[a] = k + count_of(mask & ((1u << lane()) - 1));
        k += count_of(mask);
    }
    const bool fits = k <= MOST;
    UNROLL for (int a = 0; a < OWN; ++a)
        if (passive[a] && fits) {
            t.place[rank[a]] = a * LANES + lane();
            t.factor[rank[a]] = c[a];  // for the lane that has this row
        }
    together();
    UNROLL for (int s = 0; s < ROWS; ++s) {
        const int i = s * LANES + lane();
        z[s] = fits && i < k ? t.factor[i] : 0;
    }
    together();
    return k;
}

// y := Gz - c, and in `found` the entries of z where they belong.
DEVICE void spread(const Team& t, const bool* passive, const int* rank, int most, const REAL* z, const REAL* c,
                   REAL* found, REAL* y) {
    UNROLL for (int s = 0; s < ROWS; ++s) t.factor[s * LANES + lane()] = z[s];
    together();
    UNROLL for (int a = 0; a < OWN; ++a) {
        found[a] = passive[a] ? t.factor[rank[a]] : 0;
        y[a] = -c[a];
    }
    SOME for (int i = 0; i < most; ++i) {
        const REAL value = t.factor[i];
        const REAL* row = t.G + t.place[i] * WIDE + lane();
        UNROLL for (int a = 0; a < OWN; ++a) y[a] += value * row[a * LANES];
    }
    together();
}

// Exchange broken signs, from the support of x, until none is left. The violation: on success x is the
// answer and y = Gx - c; otherwise x is as it was, and it is -1. Nothing is done unless `open`.
DEVICE REAL pivoted(const Team& t, const REAL* c, REAL* x, REAL* y, bool open) {
    bool passive[OWN];
    UNROLL for (int a = 0; a < OWN; ++a) passive[a] = open && x[a] > 0;
    int fewest = R + 1, patience = PATIENCE;
    REAL answer = -1;
    for (int tried = 0; tried < 10 + R && in_warp(open); ++tried) {
        int rank[OWN];
        REAL z[ROWS], found[OWN], size = 0, violation = 0;
        int k = gathered(t, passive, c, rank, z);
        if (k > MOST || !open) {
            open = false;
            UNROLL for (int a = 0; a < OWN; ++a) passive[a] = false;
            k = 0;
        }
        const int most = most_in_warp(k);
        open = minimum(t, k, most, z) && open;
        UNROLL for (int s = 0; s < ROWS; ++s) size = larger(size, fabs(z[s]));
        UNROLL for (int a = 0; a < OWN; ++a) size = larger(size, fabs(c[a]));
        size = largest(size);
        spread(t, passive, rank, most, z, c, found, y);
        const REAL rounding = ROUNDING * size;
        int broken = 0, last = 0;
        bool wrong[OWN];
        UNROLL for (int a = 0; a < OWN; ++a) {
            wrong[a] = passive[a] ? found[a] < 0 : y[a] < -rounding;
            const unsigned mask = lanes_with(wrong[a]);
            broken += count_of(mask);
            if (mask) last = a * LANES + last_of(mask);
            violation = larger(violation, fabs(smaller(found[a], y[a])));
        }
        violation = largest(violation);
        const bool numbers = finite(y);
        if (open && !broken) {
            open = false;
            if (numbers) {
                answer = size > 0 ? violation / size : 0;
                UNROLL for (int a = 0; a < OWN; ++a) x[a] = found[a];
            }
        }
        patience = broken < fewest ? PATIENCE : patience - 1;
        fewest = broken < fewest ? broken : fewest;
        UNROLL for (int a = 0; a < OWN; ++a)
            if (wrong[a] && (patience >= 0 || a * LANES + lane() == last)) passive[a] = !passive[a];
    }
    return answer;
}

// The coordinate that would move farthest, again and again, until none would by more than the limit. A
// move and its place travel in one integer: the last bits of the move make room for the place.
DEVICE void descend(const Team& t, REAL* x, REAL* y, REAL limit, int& left, bool open) {
    const REAL unit = 1 / limit;
    while (in_warp(open = open && left > 0)) {
        REAL step[OWN];
        unsigned key = 0;
        UNROLL for (int a = 0; a < OWN; ++a) {
            step[a] = larger(-x[a], -y[a] * t.inverse[a * LANES + lane()]);
            const unsigned size = bits(float(smaller(fabs(step[a]) * unit, REAL(1e30)))) & ~127u;
            const unsigned place = a * LANES + lane();
            key = size + place > key ? size + place : key;
        }
        key = largest_key(key);
        open = open && (key & ~127u) > bits(1.0f);
        const int place = open ? key & 127u : 0;
        const REAL farthest = entry<OWN>(step, place), move = open ? farthest : 0;
        const REAL* row = t.G + place * WIDE + lane();
        UNROLL for (int a = 0; a < OWN; ++a) {
            y[a] += move * row[a * LANES];
            if (a * LANES + lane() == place) x[a] += move;
        }
        left -= open;
    }
}

// Solve one column from x; the violation, at most tol unless `left` moves do not suffice for that.
DEVICE REAL solve_column(const Team& t, const REAL* c, REAL* x, REAL tol, int left, bool open) {
    REAL y[OWN], size, wrong = pivoted(t, c, x, y, open);
    open = open && !(wrong >= 0 && wrong <= tol);
    if (!in_warp(open)) return wrong;
    const REAL before = certified(t, c, x, y, size);
    wrong = open ? before : wrong;
    for (int k = 0; k < REFRESHED; ++k) {
        open = open && wrong > tol && wrong < MOST_OF_ALL && left > 0;
        if (!in_warp(open)) break;
        descend(t, x, y, tol * size / 2, left, open);
        const REAL now = certified(t, c, x, y, size);
        wrong = open ? now : wrong;
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
DEVICE void load(const Problem& p, const Units& u, long long t, bool there, REAL* c, REAL* x) {
    UNROLL for (int a = 0; a < OWN; ++a) {
        const int i = a * LANES + lane();
        c[a] = there && i < R ? (p.C[t * R + i] - u.shift[a]) * u.scale[a] : 0;
        const REAL guess = there && i < R ? p.guess[t * R + i] * u.back[a] : 0;
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
    for (int i = thread; i < WIDE - 1; i += threads)
        inverse[i] = i < R && p.G[i * (R + 1)] > 0 ? 1 / p.G[i * (R + 1)] : 0;
}

#ifdef __CUDACC__
// Shared memory: G, the inverse of its diagonal, and for each team its factor and its support.
// AT_ONCE blocks of 128 threads are to share a multiprocessor: registers are what it has too few of.
extern "C" __global__ void __launch_bounds__(128, AT_ONCE) solve(
    const REAL* G, const REAL* scale, const REAL* shift, const REAL* C, const REAL* guess, REAL* X,
    float* violation, long long n, REAL tol, int most, int again) {
    extern __shared__ __align__(16) unsigned char memory[];
    const int teams = blockDim.x / LANES, team = threadIdx.x / LANES;
    REAL* g = reinterpret_cast<REAL*>(memory);
    REAL* inverse = g + R * WIDE;
    REAL* factors = inverse + WIDE;
    unsigned char* places = reinterpret_cast<unsigned char*>(factors + teams * FACTOR);
    const Problem p = problem_of({G, scale, shift, C, guess, X, violation, n}, blockIdx.y);
    prepare(p, g, inverse, threadIdx.x, blockDim.x);
    for (int k = threadIdx.x; k < teams * FACTOR; k += blockDim.x) factors[k] = 0;  // nothing but numbers
    for (int k = threadIdx.x; k < teams * ALL; k += blockDim.x) places[k] = 0;
    __syncthreads();
    const Units units = units_of(p);
    const Team shared = {g, inverse, factors + team * FACTOR, places + team * ALL};
    const long long apart = (long long)gridDim.x * teams;
    long long t = (long long)blockIdx.x * teams + team;
    for (; in_warp(t < n); t += apart) {
        REAL c[OWN], x[OWN];
        const bool open = t < n && !(again && p.violation[t] <= tol);
        if (!in_warp(open)) continue;
        load(p, units, t, open, c, x);
        const REAL wrong = solve_column(shared, c, x, tol, most, open);
        if (open) {
            store(p, units, t, x);
            if (lane() == 0) p.violation[t] = wrong;
        }
    }
}
#else
extern "C" void solve(
    const REAL* G, const REAL* scale, const REAL* shift, const REAL* C, const REAL* guess, REAL* X,
    float* violation, long long n, REAL tol, int most, int again, int problems) {
    for (int k = 0; k < problems; ++k) {
        const Problem p = problem_of({G, scale, shift, C, guess, X, violation, n}, k);
        REAL g[R * WIDE], inverse[WIDE], factor[FACTOR] = {};
        unsigned char place[ALL] = {};
        prepare(p, g, inverse, 0, 1);
        const Units units = units_of(p);
        for (long long t = 0; t < n; ++t) {
            if (again && p.violation[t] <= tol) continue;
            REAL c[OWN], x[OWN];
            load(p, units, t, true, c, x);
            p.violation[t] = solve_column({g, inverse, factor, place}, c, x, tol, most, true);
            store(p, units, t, x);
        }
    }
}
#endif
