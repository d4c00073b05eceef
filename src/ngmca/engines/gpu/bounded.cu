// Rounds of exact row updates in place of X (R, M), as `descend_rows` in bounded_rows.py: norms of rows are
// at most `bound`. One problem a block.
//
// WIDTH threads share a row, and TEAMS of them all rows: a thread has the gradient of every TEAMS-th row,
// at every WIDTH-th column, in its registers. The same source compiled as C++ has one thread a block.

#ifdef __CUDACC__
#define KERNEL extern "C" __global__ void __launch_bounds__(512)
#define SHARED extern __shared__ __align__(16) unsigned char memory[]
#define TOGETHER __syncthreads()
#define THREAD int(threadIdx.x)
#define THREADS 512
#define BLOCK (long long)(blockIdx.x)
#define WARP 32
#define WIDTH 64
#define UNROLL _Pragma("unroll")
#define DEVICE static __device__ __forceinline__
#define INVERSE_ROOT(value) rsqrt(value)
DEVICE double from_other(double value, int step) { return __shfl_xor_sync(0xffffffffu, value, step); }
#else
#include <cmath>
#include <vector>
using std::fabs;
using std::sqrt;
static int block_now;
#define KERNEL static void
#define SHARED std::vector<double> rented(1 << 18); unsigned char* memory = (unsigned char*)rented.data()
#define TOGETHER
#define THREAD 0
#define THREADS 1
#define BLOCK (long long)block_now
#define WARP 1
#define WIDTH 1
#define UNROLL
#define DEVICE static inline
#define INVERSE_ROOT(value) (1 / sqrt(value))
DEVICE double from_other(double value, int) { return value; }
#endif

constexpr int TEAMS = THREADS / WIDTH;
constexpr int ROWS = (R + TEAMS - 1) / TEAMS, COLUMNS = (M + WIDTH - 1) / WIDTH;  // in each thread

DEVICE double sum(double a, double b) { return a + b; }
DEVICE double larger(double a, double b) { return a > b ? a : b; }

template <double both(double, double)> DEVICE double in_warp(double value) {
    UNROLL for (int step = WARP / 2; step; step /= 2) value = both(value, from_other(value, step));
    return value;
}

// What all threads of a block have together, for each of them; `room` has a place for every warp.
template <double both(double, double)> DEVICE double in_block(double value, double* room) {
    value = in_warp<both>(value);
    TOGETHER;
    if (THREAD % WARP == 0) room[THREAD / WARP] = value;
    TOGETHER;
    double total = room[0];
    for (int w = 1; w < THREADS / WARP; ++w) total = both(total, room[w]);
    return total;
}

// `told` gets the rounds of every problem, and its last largest change.
KERNEL bounded(
    const double* G, const double* C, const double* bound, double* X, int most, double tol, double* told) {
    SHARED;
    double *x = reinterpret_cast<double*>(memory), *g = x + R * M, *change = g + R * R;
    double *inverse = change + COLUMNS * WIDTH, *most_of = inverse + R, *room = most_of + R;
    const int team = THREAD / WIDTH, own = THREAD % WIDTH;
    C += BLOCK * R * M;
    X += BLOCK * R * M;
    for (int k = THREAD; k < R * M; k += THREADS) x[k] = X[k];
    for (int k = THREAD; k < R * R; k += THREADS) g[k] = G[BLOCK * R * R + k];
    TOGETHER;
    for (int i = THREAD; i < R; i += THREADS) {
        inverse[i] = g[i * (R + 1)] > 0 ? 1 / g[i * (R + 1)] : 0;
        most_of[i] = bound[BLOCK * R + i];
    }
    double y[ROWS][COLUMNS], largest = 0;
    int rounds = 0;
    while (rounds < most) {
        TOGETHER;
        if (rounds % 32 == 0) {  // y := C - GX, from scratch now and then
            UNROLL for (int a = 0; a < ROWS; ++a)
                UNROLL for (int b = 0; b < COLUMNS; ++b) {
                    const int i = a * TEAMS + team, t = b * WIDTH + own;
                    y[a][b] = i < R && t < M ? C[i * M + t] : 0;
                }
            for (int j = 0; j < R; ++j)
                UNROLL for (int a = 0; a < ROWS; ++a)
                    UNROLL for (int b = 0; b < COLUMNS; ++b) {
                        const int i = a * TEAMS + team, t = b * WIDTH + own;
                        if (i < R && t < M) y[a][b] -= g[j * R + i] * x[j * M + t];
                    }
        }
        ++rounds;
        double moved = 0, total = 0;
        largest = 0;
        UNROLL for (int slot = 0; slot < ROWS; ++slot)
            for (int turn = 0; turn < TEAMS && slot * TEAMS + turn < R; ++turn) {
                const int i = slot * TEAMS + turn;
                const double back = inverse[i];
                double best[COLUMNS], square = 0;
                if (team == turn) {
                    UNROLL for (int b = 0; b < COLUMNS; ++b) {
                        const int t = b * WIDTH + own;
                        best[b] = t < M && back > 0 ? x[i * M + t] + y[slot][b] * back : 0;
                        best[b] = best[b] > 0 ? best[b] : 0;
                        square += best[b] * best[b];
                    }
                    square = in_warp<sum>(square);
                    if (THREAD % WARP == 0) room[THREAD % WIDTH / WARP] = square;
                }
                TOGETHER;
                if (team == turn) {
                    square = 0;
                    UNROLL for (int w = 0; w < WIDTH / WARP; ++w) square += room[w];
                    const double limit = most_of[i];
                    const double shrink = square > limit * limit ? limit * INVERSE_ROOT(square) : 1;
                    UNROLL for (int b = 0; b < COLUMNS; ++b) {
                        const int t = b * WIDTH + own;
                        const double value = best[b] * shrink, step = t < M ? value - x[i * M + t] : 0;
                        moved += step * step;
                        total += value * value;
                        largest = larger(largest, fabs(step));
                        change[t] = step;
                        if (t < M) x[i * M + t] = value;
                    }
                }
                TOGETHER;
                UNROLL for (int b = 0; b < COLUMNS; ++b) {
                    const double step = change[b * WIDTH + own];
                    UNROLL for (int a = 0; a < ROWS; ++a)
                        if (a * TEAMS + team < R) y[a][b] -= g[i * R + a * TEAMS + team] * step;
                }
            }
        if (in_block<sum>(moved, room) <= tol * tol * in_block<sum>(total, room)) break;
    }
    largest = in_block<larger>(largest, room);
    for (int k = THREAD; k < R * M; k += THREADS) X[k] = x[k];
    if (THREAD == 0) {
        told[BLOCK * 2] = rounds;
        told[BLOCK * 2 + 1] = largest;
    }
}

#ifndef __CUDACC__
extern "C" void run_bounded(
    int blocks, const double* G, const double* C, const double* bound, double* X, int most, double tol,
    double* told) {
    for (block_now = 0; block_now < blocks; ++block_now) bounded(G, C, bound, X, most, tol, told);
}
#endif
