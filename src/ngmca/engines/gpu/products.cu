// A'Y, Y S' and S S' for few sources, at the speed at which Y (m, n) can be read.
//
// Compiled for one number of sources R. A thread has some columns of Y, and the sources of each of them in
// its registers. The same source compiled as C++ has one thread a block.

#ifdef __CUDACC__
#define KERNEL(...) extern "C" __global__ void __launch_bounds__(__VA_ARGS__)
#define SHARED extern __shared__ __align__(16) unsigned char memory[]
#define TOGETHER __syncthreads()
#define THREAD int(threadIdx.x)
#define THREADS int(blockDim.x)
#define BLOCK (long long)(blockIdx.x)
#define BLOCKS (long long)(gridDim.x)
#define WARP 32
#define UNROLL _Pragma("unroll")
#define ONCE(address) __ldcs(address)
#define DEVICE static __device__ __forceinline__
#else
#include <vector>
static int block_now, blocks_now;
#define KERNEL(...) static void
#define SHARED std::vector<REAL> rented(1 << 16); unsigned char* memory = (unsigned char*)rented.data()
#define TOGETHER
#define THREAD 0
#define THREADS 1
#define BLOCK (long long)block_now
#define BLOCKS (long long)blocks_now
#define WARP 1
#define UNROLL
#define ONCE(address) (*(address))
#define DEVICE static inline
#endif

constexpr int WIDE = (R + 7) / 8 * 8;  // sources, and some that are 0
constexpr int APART = WIDE + 4;        // of columns in shared memory: an odd number of fours meets in no bank
constexpr int COLUMNS = 4;             // that a thread has at once
constexpr int SPAN = 4;                // columns, and
constexpr int ROWS = 4;                // rows that a lane of a warp has at once
constexpr int AHEAD = 4;               // rows that are on their way at once

struct alignas(16) Four { REAL of[4]; };

DEVICE void read(const REAL* from, REAL* values) {
    UNROLL for (int i = 0; i < WIDE; i += 4) {
        const Four part = *reinterpret_cast<const Four*>(from + i);
        UNROLL for (int q = 0; q < 4; ++q) values[i + q] = part.of[q];
    }
}

// C (n, R) := Y'A for A (m, R); rows of Y are `apart`. Shared memory has room for A, in rows of WIDE.
KERNEL(128) correlated(const REAL* A, const REAL* Y, long long apart, int m, long long n, REAL* C) {
    SHARED;
    REAL* shared = reinterpret_cast<REAL*>(memory);
    for (int k = THREAD; k < m * WIDE; k += THREADS)
        shared[k] = k % WIDE < R ? A[k / WIDE * R + k % WIDE] : 0;
    TOGETHER;
    const long long step = (long long)COLUMNS * THREADS;
    for (long long first = BLOCK * step + THREAD; first < n; first += BLOCKS * step) {
        REAL sums[COLUMNS][WIDE], a[WIDE];
        const REAL* at[COLUMNS];
        UNROLL for (int v = 0; v < COLUMNS; ++v) {
            const long long t = first + v * THREADS;
            at[v] = Y + (t < n ? t : first);  // a column past the end is the first one again
            UNROLL for (int i = 0; i < WIDE; ++i) sums[v][i] = 0;
        }
        int row = 0;
        for (; row + AHEAD <= m; row += AHEAD) {
            REAL y[AHEAD][COLUMNS];
            UNROLL for (int q = 0; q < AHEAD; ++q)
                UNROLL for (int v = 0; v < COLUMNS; ++v) y[q][v] = ONCE(at[v] + (row + q) * apart);
            UNROLL for (int q = 0; q < AHEAD; ++q) {
                read(shared + (row + q) * WIDE, a);
                UNROLL for (int v = 0; v < COLUMNS; ++v)
                    UNROLL for (int i = 0; i < R; ++i) sums[v][i] += y[q][v] * a[i];
            }
        }
        for (; row < m; ++row) {
            read(shared + row * WIDE, a);
            UNROLL for (int v = 0; v < COLUMNS; ++v) {
                const REAL y = ONCE(at[v] + row * apart);
                UNROLL for (int i = 0; i < R; ++i) sums[v][i] += y * a[i];
            }
        }
        UNROLL for (int v = 0; v < COLUMNS; ++v) {
            REAL* to = C + (first + v * THREADS) * R;
            if (first + v * THREADS < n) {
                if (R % 4 == 0) {
                    UNROLL for (int i = 0; i < R; i += 4)
                        *reinterpret_cast<Four*>(to + i) = *reinterpret_cast<Four*>(&sums[v][i]);
                } else {
                    UNROLL for (int i = 0; i < R; ++i) to[i] = sums[v][i];
                }
            }
        }
    }
}

// The sums over the lanes of a warp, STEP to the left and right, of 2 HALF values each, in place of the
// first of them: every lane gets its share, which begins at the place that is returned.
template <int STEP, int HALF> DEVICE int shared_out(REAL* values) {
#ifdef __CUDACC__
    if constexpr (STEP > 0) {
        const bool upper = threadIdx.x & STEP;
        UNROLL for (int i = 0; i < HALF; ++i) {
            const REAL low = values[i], high = values[i + HALF];
            values[i] = (upper ? high : low) + __shfl_xor_sync(0xffffffffu, upper ? low : high, STEP);
        }
        return (upper ? HALF : 0) + shared_out<STEP / 2, HALF / 2>(values);
    }
#endif
    return 0;
}

// Entries of Y in ROWS rows and the columns of a lane, 0 past the end.
DEVICE void fetch(const REAL* const* at, long long left, REAL (*y)[ROWS]) {
    if (left >= SPAN * WARP) {
        UNROLL for (int v = 0; v < SPAN; ++v)
            UNROLL for (int q = 0; q < ROWS; ++q) y[v][q] = ONCE(at[q] + v * WARP);
    } else {
        UNROLL for (int v = 0; v < SPAN; ++v)
            UNROLL for (int q = 0; q < ROWS; ++q)
                y[v][q] = v * WARP + THREAD % WARP < left ? ONCE(at[q] + v * WARP) : 0;
    }
}

// SPAN * WARP columns of S into shared memory, 0 past the end.
DEVICE void stage(const REAL* X, long long left, REAL* shared) {
    if (left >= SPAN * WARP && R % 4 == 0) {
        UNROLL for (int k = THREAD * 4; k < SPAN * WARP * R; k += THREADS * 4)
            *reinterpret_cast<Four*>(shared + k / R * APART + k % R) = *reinterpret_cast<const Four*>(X + k);
    } else {
        for (int k = THREAD; k < SPAN * WARP * R; k += THREADS)
            shared[k / R * APART + k % R] = k / R < left ? X[k] : 0;
    }
}

// Y S' and below it S S' in tiles of `tile` columns, (tiles, m + R, R), for S' = X (n, R). A block has a
// tile for some rows: ROWS of them a warp. Shared memory has room for SPAN of every lane, APART, and holds
// zeros for sources that are none.
KERNEL(256, R <= 8 ? 3 : 2) tiled(
    const REAL* Y, long long apart, const REAL* X, int m, long long n, int tile, REAL* found) {
    SHARED;
    REAL* shared = reinterpret_cast<REAL*>(memory);
    constexpr int SHARE = ROWS * WIDE / WARP;
    const int warps = (THREADS + WARP - 1) / WARP, lane = THREAD % WARP;
    const int above = (m + ROWS - 1) / ROWS, all = above + WIDE / ROWS, groups = (all + warps - 1) / warps;
    const long long blocks = (n + tile - 1) / tile * groups;
    for (int k = THREAD; k < SPAN * WARP * APART; k += THREADS) shared[k] = 0;
    for (long long block = BLOCK; block < blocks; block += BLOCKS) {
        const int quad = block % groups * warps + THREAD / WARP, row = quad * ROWS;
        const long long begin = block / groups * tile, end = begin + tile < n ? begin + tile : n;
        const REAL* at[ROWS];
        REAL sums[ROWS * WIDE];
        UNROLL for (int q = 0; q < ROWS; ++q)
            at[q] = Y + (row + q < m ? row + q : m - 1) * apart + begin + lane;
        UNROLL for (int i = 0; i < ROWS * WIDE; ++i) sums[i] = 0;
        for (long long first = begin; first < end; first += SPAN * WARP) {
            REAL y[SPAN][ROWS];
            if (quad < above) fetch(at, end - first, y);
            TOGETHER;
            stage(X + first * R, end - first, shared);
            TOGETHER;
            UNROLL for (int v = 0; v < SPAN; ++v) {
                const REAL* of = shared + (v * WARP + lane) * APART;
                REAL s[WIDE];
                read(of, s);
                if (quad >= above)
                    UNROLL for (int q = 0; q < ROWS; ++q)
                        y[v][q] = quad < all ? of[(quad - above) * ROWS + q] : 0;
                UNROLL for (int q = 0; q < ROWS; ++q)
                    UNROLL for (int i = 0; i < R; ++i) sums[q * WIDE + i] += y[v][q] * s[i];
            }
            UNROLL for (int q = 0; q < ROWS; ++q) at[q] += SPAN * WARP;
        }
        const int place = shared_out<WARP / 2, ROWS * WIDE / 2>(sums);
        const int own = quad < above ? row : m + (quad - above) * ROWS;
        const int limit = quad < above ? m : m + R;
        UNROLL for (int k = 0; k < SHARE; ++k) {
            const int to = own + (place + k) / WIDE, i = (place + k) % WIDE;
            if (to < limit && i < R) found[(block / groups * (m + R) + to) * R + i] = sums[k];
        }
    }
}

#ifndef __CUDACC__
#define EVERY_BLOCK for (blocks_now = blocks, block_now = 0; block_now < blocks; ++block_now)
extern "C" void run_correlated(
    int blocks, const REAL* A, const REAL* Y, long long apart, int m, long long n, REAL* C) {
    EVERY_BLOCK correlated(A, Y, apart, m, n, C);
}
extern "C" void run_tiled(
    int blocks, const REAL* Y, long long apart, const REAL* X, int m, long long n, int tile, REAL* found) {
    EVERY_BLOCK tiled(Y, apart, X, m, n, tile, found);
}
#endif
