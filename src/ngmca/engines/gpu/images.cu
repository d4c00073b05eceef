// A frame of images: its coefficients W s, the steps of ADMM on them, and W'; as lines.cu for spectra.
//
// Filters are products of two, across and down. A block of threads makes all levels of a tile of SIDE x SIDE
// pixels of one source in shared memory, from so many more pixels around it as the filters reach. Beyond an
// edge a band is reflected, with the signs of its filters. `tiles` has the first row and column of each tile,
// and height and width of the image; `filters` their taps and then their signs.

#include "blocks.h"
#include "coefficients.h"

constexpr int HALF = (TAPS - 1) / 2;
constexpr int WIDE = SIDE + 2 * HALF * ((1 << LEVELS) - 1);  // pixels of a tile and around it
constexpr int DETAILS = CHANNELS * CHANNELS - 1;             // bands of a level

struct Tile {
    int top, left, height, width;
};

DEVICE Tile tile_of(const long long* tiles, long long which) {
    const long long* own = tiles + 4 * which;
    return {int(own[0]), int(own[1]), int(own[2]), int(own[3])};
}

// The place inside an axis of a place beyond its end; `sign` changes if it is reflected.
DEVICE int folded(int place, int size, REAL parity, REAL& sign) {
    if (place >= 0 && place < size) return place;
    place %= 2 * size;
    if (place < 0) place += 2 * size;
    if (place < size) return place;
    sign *= parity;
    return 2 * size - 1 - place;
}

// For pixels of a square of `side`, of which thread after thread takes one, its row t and its column j.
#define EVERY_PIXEL(rows, columns)                                                                  \
    for (int e = THREAD, t = e / (columns), j = e % (columns); e < (rows) * (columns);              \
         e += THREADS, t = e / (columns), j = e % (columns))

// Coefficients of the images of S (r, n), for tiles of each of the r sources.
KERNEL image_coefficients(
    const REAL* S, const REAL* filters, const long long* tiles, int per_source, long long n, int bands,
    int what, const REAL* noise, const REAL* Lam, REAL scale, REAL tau, REAL* out) {
    SHARED;
    REAL *smooth = reinterpret_cast<REAL*>(memory), *next = smooth + WIDE * WIDE;
    REAL *middle = next + WIDE * WIDE, ignored = 1;
    const long long source = BLOCK / per_source, own = source * bands * n;
    const Tile tile = tile_of(tiles, BLOCK % per_source);
    const Use given = {what, noise + source * bands, Lam + own, out + own, scale, tau, bands, n};
    int reach = HALF * ((1 << LEVELS) - 1), side = SIDE + 2 * reach;  // around the tile
    EVERY_PIXEL(side, side) {
        const int row = folded(tile.top - reach + t, tile.height, 1, ignored);
        const int column = folded(tile.left - reach + j, tile.width, 1, ignored);
        smooth[t * side + j] = S[source * n + (long long)row * tile.width + column];
    }
    TOGETHER;
    for (int level = 0; level < LEVELS; ++level) {
        const int step = 1 << level, left = reach - HALF * step, inner = SIDE + 2 * left;
        for (int c = 0; c < CHANNELS; ++c) {
            EVERY_PIXEL(side, inner) {
                REAL sum = 0;
                for (int k = 0; k < TAPS; ++k) sum += filters[c * TAPS + k] * smooth[t * side + j + k * step];
                middle[t * inner + j] = sum;
            }
            TOGETHER;
            for (int d = 0; d < CHANNELS; ++d) {
                const bool last = c == CHANNELS - 1 && d == CHANNELS - 1;
                const int margin = last ? 0 : left, wanted = inner - 2 * margin;
                EVERY_PIXEL(wanted, wanted) {
                    REAL sum = 0;
                    for (int k = 0; k < TAPS; ++k)
                        sum += filters[d * TAPS + k] * middle[(t + margin + k * step) * inner + j + margin];
                    const int row = tile.top + t, column = tile.left + j;
                    if (last)
                        next[t * inner + j] = sum;
                    else if (row < tile.height && column < tile.width)
                        use(given, level * DETAILS + c * CHANNELS + d, (long long)row * tile.width + column, sum);
                }
            }
            TOGETHER;
        }
        reach = left;
        side = inner;
        REAL* other = smooth;
        smooth = next;
        next = other;
    }
    EVERY_PIXEL(SIDE, SIDE) {
        const int row = tile.top + t, column = tile.left + j;
        if (row < tile.height && column < tile.width)
            use(given, bands - 1, (long long)row * tile.width + column, smooth[t * side + j]);
    }
}

// found (r, n) := W'X.
KERNEL image_signal(
    const REAL* X, const REAL* filters, const long long* tiles, int per_source, long long n, int bands,
    const REAL* Lam, int reflected, REAL scale, REAL* found) {
    SHARED;
    REAL *smooth = reinterpret_cast<REAL*>(memory), *next = smooth + WIDE * WIDE;
    REAL *middle = next + WIDE * WIDE, *detail = middle + WIDE * WIDE;
    const REAL* parity = filters + CHANNELS * TAPS;
    const long long source = BLOCK / per_source, own = source * bands * n;
    const Tile tile = tile_of(tiles, BLOCK % per_source);
    for (int level = LEVELS - 1; level >= 0; --level) {
        const int step = 1 << level, left = HALF * (step - 1), reach = left + HALF * step;
        const int inner = SIDE + 2 * left, side = SIDE + 2 * reach;
        EVERY_PIXEL(inner, inner) next[t * inner + j] = 0;
        for (int c = 0; c < CHANNELS; ++c) {
            for (int d = 0; d < CHANNELS; ++d) {
                const bool last = c == CHANNELS - 1 && d == CHANNELS - 1, made = last && level < LEVELS - 1;
                const long long band = own + (last ? bands - 1 : level * DETAILS + c * CHANNELS + d) * n;
                if (!made) EVERY_PIXEL(side, side) {
                    REAL sign = 1;
                    const int row = folded(tile.top - reach + t, tile.height, parity[d], sign);
                    const int column = folded(tile.left - reach + j, tile.width, parity[c], sign);
                    const long long at = band + (long long)row * tile.width + column;
                    detail[t * side + j] = sign * given_at(X, Lam, reflected, scale, at);
                }
                TOGETHER;
                const REAL* from = made ? smooth : detail;
                EVERY_PIXEL(inner, side) {
                    REAL sum = d ? middle[t * side + j] : 0;
                    for (int k = 0; k < TAPS; ++k)
                        sum += filters[d * TAPS + k] * from[(t + (TAPS - 1 - k) * step) * side + j];
                    middle[t * side + j] = sum;
                }
                TOGETHER;
            }
            EVERY_PIXEL(inner, inner) {
                REAL sum = next[t * inner + j];
                for (int k = 0; k < TAPS; ++k)
                    sum += filters[c * TAPS + k] * middle[t * side + j + (TAPS - 1 - k) * step];
                next[t * inner + j] = sum;
            }
        }
        TOGETHER;
        REAL* other = smooth;
        smooth = next;
        next = other;
    }
    EVERY_PIXEL(SIDE, SIDE) {
        const int row = tile.top + t, column = tile.left + j;
        if (row < tile.height && column < tile.width)
            found[source * n + (long long)row * tile.width + column] = smooth[t * SIDE + j];
    }
}

#ifndef __CUDACC__
extern "C" void run_image_coefficients(
    int blocks, const REAL* S, const REAL* filters, const long long* tiles, int per_source, long long n,
    int bands, int what, const REAL* noise, const REAL* Lam, REAL scale, REAL tau, REAL* out) {
    EVERY_BLOCK image_coefficients(
        S, filters, tiles, per_source, n, bands, what, noise, Lam, scale, tau, out);
}
extern "C" void run_image_signal(
    int blocks, const REAL* X, const REAL* filters, const long long* tiles, int per_source, long long n,
    int bands, const REAL* Lam, int reflected, REAL scale, REAL* found) {
    EVERY_BLOCK image_signal(X, filters, tiles, per_source, n, bands, Lam, reflected, scale, found);
}
#endif
