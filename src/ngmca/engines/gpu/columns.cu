// min_{x >= 0} 1/2 x'Gx - c'x for every column, from a guess of its support.
//
// Block pivoting as in pivoting.py: the minimum on the support by a Cholesky factor, and what breaks its
// sign changes sides, until nothing does. Where that fails (supports larger than MOST, sources that are
// nearly alike) coordinate descent goes on from the guess, and the violation tells how far it came.
//
// Compiled for one number of sources R and one type REAL; a column has a team of LANES threads, part of a
// warp, each with four entries in every 4 LANES. The teams of a warp go through all steps together, and each
// takes the next column when it is done with one. The code is kept short, in loops: instructions have to
// come from somewhere too. The same source compiled as C++ has one lane, and is what tests run where there
// is no GPU.
//
// G comes with a diagonal between 1/2 and 2, or 0 (see `equilibrate`); `scale` takes C and X there.

#ifdef __CUDACC__
#define DEVICE static __device__ __forceinline__
#define UNROLL _Pragma("unroll")
#define SOME _Pragma("unroll 2")
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

constexpr int OWN = (R + 4 * LANES - 1) / (4 * LANES) * 4;  // entries of a column in each lane
constexpr int WIDE = OWN * LANES;                           // a row of G, padded with zeros
constexpr int ROWS = (MOST + LANES - 1) / LANES;  // of its factor, in each lane
constexpr int ALL = ROWS * LANES;
constexpr int FACTOR = LANES * LANES * ROWS * (ROWS + 1) / 2;  // entries of it, and of the blocks around it
constexpr int ROOM = FACTOR + 2 * ALL + (32 + LANES - 2 * ALL % 32) % 32;  // teams meet in no bank of memory
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
DEVICE int most_in_warp(int k) {
    for (int step = 16; step; step /= 2) k = max(k, __shfl_xor_sync(EVERY, k, step));
    return k;
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

// Columns of a factor come in panels of LANES, each with the rows from its first diagonal entry on: where
// panel b begins, and how long its columns are.
DEVICE int panel_at(int b) { return LANES * (b * ALL - LANES * (b * (b - 1) / 2)); }
DEVICE int length_of(int b) { return ALL - b * LANES; }

struct alignas(16) Four { REAL of[4]; };  // read at once

template <int COUNT> DEVICE void read(const REAL* from, REAL* values) {
    if constexpr (COUNT % 4 == 0) {
        UNROLL for (int i = 0; i < COUNT; i += 4) {
            const Four part = *reinterpret_cast<const Four*>(from + i);
            UNROLL for (int q = 0; q < 4; ++q) values[i + q] = part.of[q];
        }
    } else {
        UNROLL for (int i = 0; i < COUNT; ++i) values[i] = from[i];
    }
}

// Which entry of a column is the a-th of a lane.
DEVICE int index_of(int a, int lane) { return a / 4 * 4 * LANES + lane * 4 + a % 4; }

// y += value * a row of G, from its first entry on.
DEVICE void add_row(const REAL* row, REAL value, REAL* y) {
    UNROLL for (int a = 0; a < OWN; a += 4) {
        REAL part[4];
        read<4>(row + index_of(a, lane()), part);
        UNROLL for (int q = 0; q < 4; ++q) y[a + q] += value * part[q];
    }
}

// Entry i of a vector that lanes share, for all of them.
DEVICE REAL entry(const REAL* values, int i) {
    const int owner = i / 4 % LANES;
    REAL found = values[0];
    UNROLL for (int a = 1; a < OWN; ++a) found = index_of(a, owner) == i ? values[a] : found;
    return from_lane(found, owner);
}

struct Team {             // what the lanes of a column share
    const REAL* G;        // (R, WIDE)
    const REAL* inverse;  // of the diagonal of G, 0 where that is 0
    REAL* factor;         // (FACTOR,)
    REAL* z;              // (ALL,) the minimum on the support
    REAL* shrink;         // (ALL,) inverse diagonal of the factor
    unsigned char* place; // (ALL,) which entries the support has
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
            const REAL given = from_lane(x[b], owner);
            add_row(t.G + index_of(b, owner) * WIDE, left ? given : 0, y);
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

// Entries of LANES columns, from panel b on, in the rows of a lane: less what earlier panels say.
DEVICE void reduce(const Team& t, int b, int live, REAL (*panel)[LANES]) {
    UNROLL for (int u = 0; u < ROWS; ++u) {
        if (u >= live) break;
        const int mine = t.place[(b + u) * LANES + lane()];
        UNROLL for (int q = 0; q < LANES; ++q) panel[u][q] = t.G[t.place[b * LANES + q] * WIDE + mine];
    }
    for (int before = 0; before < b; ++before) {
        const REAL* at = t.factor + panel_at(before) + (b - before) * LANES;
        SOME for (int q = 0; q < LANES; ++q, at += length_of(before)) {
            REAL other[LANES];
            read<LANES>(at, other);
            UNROLL for (int u = 0; u < ROWS; ++u) {
                if (u >= live) break;
                const REAL mine = at[u * LANES + lane()];
                UNROLL for (int p = 0; p < LANES; ++p) panel[u][p] -= mine * other[p];
            }
        }
    }
}

// A panel into columns of the factor, and the right-hand side `rest` less what they say; false if singular.
//
// A team whose support is smaller than others of its warp goes on with pivots whose inverse is 0.
DEVICE bool eliminate(const Team& t, int b, int live, int k, REAL (*panel)[LANES], REAL* rest) {
    bool sound = true;
    REAL own = 0;
    UNROLL for (int q = 0; q < LANES; ++q) {
        const REAL pivot = from_lane(panel[0][q], q);
        const bool in = b * LANES + q < k;
        sound = sound && (!in || pivot > DEPENDENT);  // not so for NaN
        const REAL shrink = in ? INVERSE_ROOT(pivot) : 0, known = from_lane(rest[0], q) * shrink;
        REAL other[LANES];
        UNROLL for (int p = q + 1; p < LANES; ++p) other[p] = from_lane(panel[0][q], p) * shrink;
        own = lane() == q ? shrink : own;
        UNROLL for (int u = 0; u < ROWS; ++u) {
            if (u >= live) break;
            const REAL mine = panel[u][q] * shrink;
            panel[u][q] = mine;
            rest[u] = u > 0 || lane() > q ? rest[u] - mine * known : lane() == q ? known : rest[u];
            UNROLL for (int p = q + 1; p < LANES; ++p) panel[u][p] -= mine * other[p];
        }
    }
    REAL* to = t.factor + panel_at(b);
    const int length = length_of(b);
    // the block on the diagonal lies in rows, turned such that lanes side by side meet in no bank
    UNROLL for (int q = 0; q < LANES; ++q) to[lane() * length + (q ^ lane())] = panel[0][q];
    UNROLL for (int u = 1; u < ROWS; ++u) {
        if (u >= live) break;
        UNROLL for (int q = 0; q < LANES; ++q) to[q * length + u * LANES + lane()] = panel[u][q];
    }
    t.z[b * LANES + lane()] = rest[0];
    t.shrink[b * LANES + lane()] = own;
    return sound;
}

// The sums over all lanes of LANES values each: every lane gets one of them.
template <int STEP> DEVICE REAL shared_out(REAL* values) {
#if LANES > 1
    if constexpr (STEP > 0) {
        const bool upper = lane() & STEP;
        UNROLL for (int i = 0; i < STEP; ++i) {
            const REAL low = values[i], high = values[i + STEP];
            values[i] = (upper ? high : low) + __shfl_xor_sync(EVERY, upper ? low : high, STEP);
        }
        return shared_out<STEP / 2>(values);
    }
#endif
    return values[0];
}

// The way back: t.z from what elimination left there; its largest entry.
DEVICE REAL substitute(const Team& t, int blocks) {
    REAL most = 0;
    for (int b = blocks - 1; b >= 0; --b) {
        REAL sums[LANES];
        const REAL* at = t.factor + panel_at(b);
        const int length = length_of(b);
        UNROLL for (int q = 0; q < LANES; ++q) sums[q] = 0;
        for (int s = 1; s < blocks - b; ++s) {
            const REAL known = t.z[(b + s) * LANES + lane()];
            UNROLL for (int q = 0; q < LANES; ++q) sums[q] += at[q * length + s * LANES + lane()] * known;
        }
        REAL mine = t.z[b * LANES + lane()] - shared_out<LANES / 2>(sums);
        const REAL shrink = t.shrink[b * LANES + lane()];
        UNROLL for (int q = LANES - 1; q >= 0; --q) {
            const REAL known = from_lane(mine * shrink, q), share = at[q * length + (lane() ^ q)];
            mine = lane() < q ? mine - share * known : lane() == q ? known : mine;
        }
        t.z[b * LANES + lane()] = mine;
        most = larger(most, fabs(mine));
        together();
    }
    return most;
}

// t.z := G^-1 c on the k entries of the support, for c in t.z; `most` gets its largest entry. False if G is
// singular there.
DEVICE bool minimum(const Team& t, int k, int blocks, REAL& most) {
    REAL rest[ROWS], panel[ROWS][LANES];
    bool sound = true;
    together();
    UNROLL for (int s = 0; s < ROWS; ++s) {
        const int i = s * LANES + lane();
        rest[s] = i < k ? t.z[i] : 0;
        if (i >= k) t.place[i] = 0;
    }
    together();
    for (int b = 0; b < blocks; ++b) {
        reduce(t, b, blocks - b, panel);
        sound = eliminate(t, b, blocks - b, k, panel, rest) && sound;
        UNROLL for (int s = 1; s < ROWS; ++s) rest[s - 1] = rest[s];
        together();
    }
    most = substitute(t, blocks);
    return sound;
}

struct Search {  // for the support of a column, as far as it has come
    bool passive[OWN];  // what is in it
    int fewest, patience, left;
};

// The support in order, in t.place, and in t.z what c has there; its size, and the rank of each entry in it.
DEVICE int gathered(const Team& t, const bool* passive, const REAL* c, int* rank) {
    int k = 0;
    UNROLL for (int a = 0; a < OWN; ++a) {
        const unsigned mask = lanes_with(passive[a]);
        rank[a] = k + count_of(mask & ((1u << lane()) - 1));
        k += count_of(mask);
    }
    UNROLL for (int a = 0; a < OWN; ++a)
        if (passive[a] && k <= MOST) {
            t.place[rank[a]] = index_of(a, lane());
            t.z[rank[a]] = c[a];
        }
    return k;
}

// The minimum on the support, in `found`, and the signs that break there. 1: none do, and the violation is
// told; 0: they have changed sides; -1: it cannot be found in this way. A team that is not `open` goes along.
DEVICE int exchanged(const Team& t, const REAL* c, Search& s, bool open, REAL* found, REAL& violation) {
    int rank[OWN], broken = 0, last = 0;
    REAL y[OWN], size, wrong = 0;
    bool out[OWN];
    const int k = gathered(t, s.passive, c, rank);
    const bool fits = open && k <= MOST;
    const int most = most_in_warp(fits ? k : 0);
    const bool sound = minimum(t, fits ? k : 0, (most + LANES - 1) / LANES, size);
    UNROLL for (int a = 0; a < OWN; ++a) {
        size = larger(size, fabs(c[a]));
        found[a] = fits && s.passive[a] ? t.z[rank[a]] : 0;
        y[a] = -c[a];
    }
    size = largest(size);
    SOME for (int i = 0; i < most; ++i) add_row(t.G + t.place[i] * WIDE, t.z[i], y);
    together();
    UNROLL for (int a = 0; a < OWN; ++a) {
        out[a] = s.passive[a] ? found[a] < 0 : y[a] < -ROUNDING * size;
        const unsigned mask = lanes_with(out[a]);
        broken += count_of(mask);
        last = mask ? index_of(a, last_of(mask)) : last;
        wrong = larger(wrong, fabs(smaller(found[a], y[a])));
    }
    wrong = largest(wrong);
    if (!finite(y) || !fits || !sound || s.left == 0) return -1;
    violation = size > 0 ? wrong / size : 0;
    if (!broken) return 1;
    --s.left;
    s.patience = broken < s.fewest ? PATIENCE : s.patience - 1;
    s.fewest = broken < s.fewest ? broken : s.fewest;
    UNROLL for (int a = 0; a < OWN; ++a)
        s.passive[a] = s.passive[a] != (out[a] && (s.patience >= 0 || index_of(a, lane()) == last));
    return 0;
}

// The coordinate that would move farthest, again and again, until none would by more than the limit. A
// move and its place travel in one integer: the last bits of the move make room for the place.
DEVICE void descend(const Team& t, REAL* x, REAL* y, REAL limit, int& left, bool open) {
    const REAL unit = 1 / limit;
    while (in_warp(open = open && left > 0)) {
        REAL step[OWN];
        unsigned key = 0;
        UNROLL for (int a = 0; a < OWN; ++a) {
            const unsigned place = index_of(a, lane());
            step[a] = larger(-x[a], -y[a] * t.inverse[place]);
            const unsigned size = bits(float(smaller(fabs(step[a]) * unit, REAL(1e30)))) & ~127u;
            key = size + place > key ? size + place : key;
        }
        key = largest_key(key);
        open = open && (key & ~127u) > bits(1.0f);
        const int place = open ? key & 127u : 0;
        const REAL farthest = entry(step, place), move = open ? farthest : 0;
        add_row(t.G + place * WIDE, move, y);
        UNROLL for (int a = 0; a < OWN; ++a)
            if (index_of(a, lane()) == place) x[a] += move;
        left -= open;
    }
}

// Solve a column by descent from x; the violation, at most tol unless `left` moves do not suffice for that.
DEVICE REAL descended(const Team& t, const REAL* c, REAL* x, REAL tol, int left, bool open) {
    REAL y[OWN], size, wrong = certified(t, c, x, y, size);
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
    REAL scale[OWN], shift[OWN];
};

DEVICE Units units_of(const Problem& p) {
    Units u;
    UNROLL for (int a = 0; a < OWN; ++a) {
        const int i = index_of(a, lane());
        u.scale[a] = i < R ? p.scale[i] : 0;
        u.shift[a] = i < R ? p.shift[i] : 0;
    }
    return u;
}

// Into the registers of a lane: entries past the last are 0, and stay so.
DEVICE void load(const Problem& p, const Units& u, long long t, REAL* c, bool* passive) {
    UNROLL for (int a = 0; a < OWN; ++a) {
        const int i = index_of(a, lane());
        c[a] = i < R ? (p.C[t * R + i] - u.shift[a]) * u.scale[a] : 0;
        passive[a] = i < R && u.scale[a] > 0 && p.guess[t * R + i] > 0;  // not so for NaN
    }
}

DEVICE void load_guess(const Problem& p, const Units& u, long long t, REAL* x) {
    UNROLL for (int a = 0; a < OWN; ++a) {
        const int i = index_of(a, lane());
        const REAL guess = i < R && u.scale[a] > 0 ? p.guess[t * R + i] / u.scale[a] : 0;
        x[a] = guess > 0 && guess <= MOST_OF_ALL ? guess : 0;
    }
}

DEVICE void store(const Problem& p, const Units& u, long long t, const REAL* x) {
    UNROLL for (int a = 0; a < OWN; ++a) {
        const int i = index_of(a, lane());
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

// Every `apart`-th column from `next` on, by one team. `again`: only those with a violation above tol. Where
// pivoting fails, descent of at most `moves` goes on; if they are less than 0, the violation is beyond all
// bounds, and X stays as it is.
DEVICE void solve_columns(
    const Problem& p, const Team& team, long long next, long long apart, REAL tol, int moves, bool again) {
    const Units units = units_of(p);
    REAL c[OWN], found[OWN], violation = 0;
    Search search;
    long long t = 0;
    bool open = false;
    UNROLL for (int a = 0; a < OWN; ++a) {
        c[a] = 0;
        search.passive[a] = false;
    }
    while (true) {
        while (!open && next < p.n) {
            t = next;
            next += apart;
            open = !(again && p.violation[t] <= tol);
            if (!open) continue;
            load(p, units, t, c, search.passive);
            search.fewest = R + 1;
            search.patience = PATIENCE;
            search.left = 10 + R;
        }
        if (!in_warp(open)) return;
        const int state = exchanged(team, c, search, open, found, violation);
        const bool failed = open && (state < 0 || (state > 0 && !(violation <= tol)));
        if (in_warp(failed) && moves >= 0) {
            REAL x[OWN];
            load_guess(p, units, t, x);
            const REAL wrong = descended(team, c, x, tol, moves, failed);
            UNROLL for (int a = 0; a < OWN; ++a) found[a] = failed ? x[a] : found[a];
            violation = failed ? wrong : violation;
        } else if (failed) {
            violation = MOST_OF_ALL;
        }
        if (open && state != 0) {
            if (!failed || moves >= 0) store(p, units, t, found);
            if (lane() == 0) p.violation[t] = violation;
            UNROLL for (int a = 0; a < OWN; ++a) search.passive[a] = false;
            open = false;
        }
    }
}

#ifdef __CUDACC__
// Shared memory: G, the inverse of its diagonal, and for each team its factor and its support. AT_ONCE blocks
// of THREADS are to share a multiprocessor: registers are what it has too few of.
extern "C" __global__ void __launch_bounds__(THREADS, AT_ONCE) solve(
    const REAL* G, const REAL* scale, const REAL* shift, const REAL* C, const REAL* guess, REAL* X,
    float* violation, long long n, REAL tol, int moves, int again) {
    extern __shared__ __align__(16) unsigned char memory[];
    constexpr int teams = THREADS / LANES;
    const int team = threadIdx.x / LANES;
    REAL* g = reinterpret_cast<REAL*>(memory);
    REAL *inverse = g + R * WIDE, *rooms = inverse + WIDE, *room = rooms + team * ROOM;
    unsigned char* places = reinterpret_cast<unsigned char*>(rooms + teams * ROOM);
    const Problem p = problem_of({G, scale, shift, C, guess, X, violation, n}, blockIdx.y);
    prepare(p, g, inverse, threadIdx.x, THREADS);
    for (int k = threadIdx.x; k < teams * ROOM; k += THREADS) rooms[k] = 0;  // nothing but numbers
    __syncthreads();
    const Team shared = {g, inverse, room, room + FACTOR, room + FACTOR + ALL, places + team * ALL};
    const long long first = (long long)blockIdx.x * teams + team, apart = (long long)gridDim.x * teams;
    solve_columns(p, shared, first, apart, tol, moves, again);
}
#else
extern "C" void solve(
    const REAL* G, const REAL* scale, const REAL* shift, const REAL* C, const REAL* guess, REAL* X,
    float* violation, long long n, REAL tol, int moves, int again, int problems) {
    for (int k = 0; k < problems; ++k) {
        const Problem p = problem_of({G, scale, shift, C, guess, X, violation, n}, k);
        alignas(16) REAL g[R * WIDE];
        REAL inverse[WIDE], room[ROOM] = {};
        unsigned char place[ALL];
        prepare(p, g, inverse, 0, 1);
        const Team team = {g, inverse, room, room + FACTOR, room + FACTOR + ALL, place};
        solve_columns(p, team, 0, 1, tol, moves, again);
    }
}
#endif
