// A warp of 32 threads on a CPU: each runs until it exchanges something with the others, and then waits.
//
// That all of them come to the same exchange is checked. Between two exchanges they run one after the other,
// from the first on or from the last on: what depends on the order is wrong.

#include <ucontext.h>

#include <cmath>
#include <cstring>
#include <vector>

using std::fabs;
using std::max;
using std::sqrt;

struct Three { int x, y; };
static Three threadIdx, blockIdx, gridDim;
#define __CUDACC__
#define __device__
#define __forceinline__ inline
#define __global__
#define __launch_bounds__(...)

static ucontext_t outside, thread_at[32];
static const char* waits_for[32];
static double offered[32];
static bool ended[32];
static unsigned char memory_of_block[1 << 20];

static void wait_for(const char* what) {
    const int me = threadIdx.x;
    waits_for[me] = what;
    swapcontext(&thread_at[me], &outside);
}

// What all threads offer, once every one of them has done so.
template <class Value, class Use> static auto exchanged_by_all(const char* what, Value value, Use use) {
    offered[threadIdx.x] = double(value);
    wait_for(what);
    const auto found = use(offered);
    wait_for("all have read");
    return found;
}

template <class Value> static Value __shfl_sync(unsigned, Value value, int lane, int width) {
    const int from = threadIdx.x / width * width + lane;
    return exchanged_by_all("shfl", value, [=](const double* all) { return Value(all[from]); });
}
template <class Value> static Value __shfl_xor_sync(unsigned, Value value, int step) {
    const int from = threadIdx.x ^ step;
    return exchanged_by_all("shfl_xor", value, [=](const double* all) { return Value(all[from]); });
}
static unsigned __ballot_sync(unsigned, bool is) {
    return exchanged_by_all("ballot", is, [](const double* all) {
        unsigned found = 0;
        for (int i = 0; i < 32; ++i) found |= unsigned(all[i] != 0) << i;
        return found;
    });
}
static bool __any_sync(unsigned mask, bool is) { return __ballot_sync(mask, is) != 0; }
static void __syncwarp() { wait_for("syncwarp"); }
static void __syncthreads() { wait_for("syncthreads"); }
static int __ffs(unsigned mask) { return __builtin_ffs(int(mask)); }
static int __popc(unsigned mask) { return __builtin_popcount(mask); }
static int __clz(unsigned mask) { return mask ? __builtin_clz(mask) : 32; }
static unsigned __float_as_uint(float value) {
    unsigned found;
    std::memcpy(&found, &value, sizeof found);
    return found;
}
static REAL rsqrt(REAL value) { return 1 / sqrt(value); }

#include KERNEL

static struct {
    const REAL *G, *scale, *shift, *C, *guess;
    REAL* X;
    float* violation;
    long long n;
    REAL tol;
    int moves, again;
} given;

static void thread_begins() {
    solve(given.G, given.scale, given.shift, given.C, given.guess, given.X, given.violation, given.n, given.tol,
          given.moves, given.again);
    ended[threadIdx.x] = true;
    swapcontext(&thread_at[threadIdx.x], &outside);
}

static bool run_block(bool backwards) {
    static std::vector<std::vector<char>> stacks(32, std::vector<char>(1 << 18));
    for (int i = 0; i < 32; ++i) {
        ended[i] = false;
        getcontext(&thread_at[i]);
        thread_at[i].uc_stack.ss_sp = stacks[i].data();
        thread_at[i].uc_stack.ss_size = stacks[i].size();
        thread_at[i].uc_link = &outside;
        makecontext(&thread_at[i], thread_begins, 0);
    }
    while (!ended[0]) {
        for (int k = 0; k < 32; ++k) {
            threadIdx.x = backwards ? 31 - k : k;
            swapcontext(&outside, &thread_at[threadIdx.x]);
        }
        for (int i = 1; i < 32; ++i)
            if (ended[i] != ended[0] || (!ended[0] && std::strcmp(waits_for[i], waits_for[0]))) return false;
    }
    return true;
}

// Whether all threads met at every exchange.
extern "C" bool run_solve(
    const REAL* G, const REAL* scale, const REAL* shift, const REAL* C, const REAL* guess, REAL* X,
    float* violation, long long n, REAL tol, int moves, int again, int blocks, int backwards) {
    given = {G, scale, shift, C, guess, X, violation, n, tol, moves, again};
    gridDim.x = blocks;
    for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x)
        if (!run_block(backwards)) return false;
    return true;
}
