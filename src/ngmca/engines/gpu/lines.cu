// A frame along the axis of spectra: its coefficients W s, the steps of ADMM on them, and W'.
//
// Along an axis of n channels and its reflection, each level splits the smooth part of the level before
// with two filters, whose taps are 1, 2, 4, ... places apart. A block of threads makes all levels of TILE
// places of one source in shared memory, from so many more places at both ends as the filters reach. Blocks
// of channels (of several techniques) have frames of their own: `tiles` says where each tile begins.

#include "blocks.h"
#include "coefficients.h"

constexpr int BEFORE = CENTRE, AFTER = TAPS - 1 - CENTRE;  // reach of the filters, in steps
constexpr int REACH = (TAPS - 1) * ((1 << LEVELS) - 1);    // of all levels, at both ends together
constexpr int ROOM = TILE + REACH;

// One of the tiles of an axis: its block of channels, and the places of the block that are its own.
struct Tile {
    long long first;  // channel at which its block begins
    int n, period;    // channels of the block, and places with the reflection
    int depth;        // levels of the block
    int begin, end;   // places of the block
};

DEVICE Tile tile_of(const long long* tiles, long long which) {
    const long long* own = tiles + 4 * which;
    Tile tile;
    tile.first = own[0];
    tile.n = int(own[1]);
    tile.period = 2 * tile.n;
    tile.depth = int(own[2]);
    tile.begin = int(own[3]);
    tile.end = tile.begin + TILE < tile.period ? tile.begin + TILE : tile.period;
    return tile;
}

// The place inside a period.
DEVICE int inside(int t, int period) {
    if (t >= 0 && t < period) return t;
    t %= period;
    return t < 0 ? t + period : t;
}

// Coefficients of the rows of S (r, n), for tiles (tiles) of each of the r sources.
KERNEL line_coefficients(
    const REAL* S, const REAL* filters, const long long* tiles, int per_source, long long n, int bands,
    int what, const REAL* noise, const REAL* Lam, REAL scale, REAL tau, REAL* out) {
    SHARED;
    REAL *smooth = reinterpret_cast<REAL*>(memory), *next = smooth + ROOM;
    const long long source = BLOCK / per_source;
    const Tile tile = tile_of(tiles, BLOCK % per_source);
    const REAL* s = S + source * n + tile.first;
    const long long period = 2 * n, start = 2 * tile.first, own = source * bands * period;
    const Use given = {what, noise + source * bands, Lam + own, out + own, scale, tau, bands, period};
    REAL high[TAPS], low[TAPS];
    for (int k = 0; k < TAPS; ++k) {
        high[k] = filters[k];
        low[k] = filters[TAPS + k];
    }
    const REAL half = REAL(0.70710678118654752440);
    int reach = (1 << tile.depth) - 1;  // of the levels to come, in steps of 1
    int first = tile.begin - BEFORE * reach, end = tile.end + AFTER * reach;
    for (int t = first + THREAD; t < end; t += THREADS) {
        const int place = inside(t, tile.period);
        smooth[t - first] = half * s[place < tile.n ? place : tile.period - 1 - place];
    }
    TOGETHER;
    for (int level = 0; level < tile.depth; ++level) {
        const int step = 1 << level;
        reach -= step;
        const int begin = tile.begin - BEFORE * reach, stop = tile.end + AFTER * reach;
        for (int t = begin + THREAD; t < stop; t += THREADS) {
            const REAL* from = smooth + (t - BEFORE * step - first);
            REAL detail = 0, rest = 0;
            for (int k = 0; k < TAPS; ++k) {
                const REAL x = from[k * step];
                detail += high[k] * x;
                rest += low[k] * x;
            }
            next[t - begin] = rest;
            if (t >= tile.begin && t < tile.end) use(given, level, start + t, detail);
        }
        TOGETHER;
        first = begin;
        REAL* other = smooth;
        smooth = next;
        next = other;
    }
    for (int t = tile.begin + THREAD; t < tile.end; t += THREADS) {
        for (int band = tile.depth; band < bands - 1; ++band) use(given, band, start + t, 0);
        use(given, bands - 1, start + t, smooth[t - first]);
    }
}

// found (r, 2 n) := W'X on each axis and its reflection, both of which are still to be added up.
KERNEL line_signal(
    const REAL* X, const REAL* filters, const long long* tiles, int per_source, long long n, int bands,
    const REAL* Lam, int reflected, REAL scale, REAL* found) {
    SHARED;
    REAL *smooth = reinterpret_cast<REAL*>(memory), *next = smooth + ROOM, *detail = next + ROOM;
    const long long source = BLOCK / per_source;
    const Tile tile = tile_of(tiles, BLOCK % per_source);
    const long long period = 2 * n, own = source * bands * period + 2 * tile.first;
    REAL high[TAPS], low[TAPS];
    for (int k = 0; k < TAPS; ++k) {
        high[k] = filters[k];
        low[k] = filters[TAPS + k];
    }
    int reach = (1 << tile.depth) - 1;
    int first = tile.begin - AFTER * reach, end = tile.end + BEFORE * reach;
    for (int t = first + THREAD; t < end; t += THREADS)
        smooth[t - first] = given_at(X, Lam, reflected, scale, own + (bands - 1) * period + inside(t, tile.period));
    for (int level = tile.depth - 1; level >= 0; --level) {
        const int step = 1 << level;
        for (int t = first + THREAD; t < end; t += THREADS)
            detail[t - first] = given_at(X, Lam, reflected, scale, own + level * period + inside(t, tile.period));
        TOGETHER;
        reach -= step;
        const int begin = tile.begin - AFTER * reach, stop = tile.end + BEFORE * reach;
        for (int t = begin + THREAD; t < stop; t += THREADS) {
            const int from = t + BEFORE * step - first;
            REAL sum = 0;
            for (int k = 0; k < TAPS; ++k)
                sum += high[k] * detail[from - k * step] + low[k] * smooth[from - k * step];
            next[t - begin] = sum;
        }
        TOGETHER;
        first = begin;
        end = stop;
        REAL* other = smooth;
        smooth = next;
        next = other;
    }
    REAL* there = found + source * period + 2 * tile.first;
    for (int t = tile.begin + THREAD; t < tile.end; t += THREADS) there[t] = smooth[t - first];
}

#ifndef __CUDACC__
extern "C" void run_line_coefficients(
    int blocks, const REAL* S, const REAL* filters, const long long* tiles, int per_source, long long n,
    int bands, int what, const REAL* noise, const REAL* Lam, REAL scale, REAL tau, REAL* out) {
    EVERY_BLOCK line_coefficients(
        S, filters, tiles, per_source, n, bands, what, noise, Lam, scale, tau, out);
}
extern "C" void run_line_signal(
    int blocks, const REAL* X, const REAL* filters, const long long* tiles, int per_source, long long n,
    int bands, const REAL* Lam, int reflected, REAL scale, REAL* found) {
    EVERY_BLOCK line_signal(X, filters, tiles, per_source, n, bands, Lam, reflected, scale, found);
}
#endif
