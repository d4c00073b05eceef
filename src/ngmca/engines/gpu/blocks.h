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

#ifndef __CUDACC__
#define EVERY_BLOCK for (blocks_now = blocks, block_now = 0; block_now < blocks; ++block_now)
#endif
