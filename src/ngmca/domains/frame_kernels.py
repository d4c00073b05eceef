"""Kernels of the frames: filters of a level along one axis, or both axes of an image, and adjoints.

`analyse_row` and `synthesise_row` are the one place where lines and images part; what they know of a
frame is `frame.plan`.
"""

import numpy as np

from ngmca._support.compiled import swift

LINE = 5  # length of the plan of a spectrum; that of an image has a height, and is compiled on first use


@swift
def analyse_row(x, out, plan, padded, smooth):
    """out (bands, period) := W x for one source."""
    if len(plan) == LINE:
        blocks, levels, filters, centre, parity = plan
        for k in range(len(levels)):
            block = blocks[k], blocks[k + 1]
            analyse_line(x, out, block, levels[k], filters, centre, parity, padded)
    else:
        _, levels, filters, centre, parity, height = plan
        analyse_image(x, out, height, levels[0], filters, centre, parity, padded, smooth)


@swift
def synthesise_row(coefficients, x, plan, padded, smooth):
    """x := W' coefficients for one source; the last band is overwritten."""
    if len(plan) == LINE:
        blocks, levels, filters, centre, parity = plan
        for k in range(len(levels)):
            block = blocks[k], blocks[k + 1]
            synthesise_line(coefficients, x, block, levels[k], filters, centre, parity, padded, smooth)
    else:
        _, levels, filters, centre, parity, height = plan
        synthesise_image(coefficients, x, height, levels[0], filters, centre, parity, padded, smooth)


@swift
def extend(x, size, parity, margin, out):
    """out[margin + t] := x[t] continued at both ends: periodically (parity 0) or reflected."""
    for t in range(size):
        out[margin + t] = x[t]
    if margin > size:
        extend_far(x, size, parity, margin, out)
    elif parity == 0:
        for t in range(margin):
            out[t] = x[size - margin + t]
            out[margin + size + t] = x[t]
    else:
        for t in range(margin):
            out[margin - 1 - t] = parity * x[t]
            out[margin + size + t] = parity * x[size - 1 - t]


@swift
def extend_far(x, size, parity, margin, out):
    """Do the same if the margins are longer than x."""
    for t in range(margin):
        for place in (-1 - t, size + t):
            if parity == 0:
                out[margin + place] = x[place % size]
            else:
                folded = place % (2 * size)
                inside = folded < size
                out[margin + place] = x[folded] if inside else parity * x[2 * size - 1 - folded]


@swift
def correlate(padded, first, step, taps, size, add, out):
    """out[t] (+)= sum_k taps[k] padded[first + t + step k]; a negative step goes backwards."""
    for k in range(0, taps.size, 4):
        a, b, c, d = taps[k], taps[k + 1], taps[k + 2], taps[k + 3]
        x0 = padded[first + step * k : first + step * k + size]
        x1 = padded[first + step * (k + 1) : first + step * (k + 1) + size]
        x2 = padded[first + step * (k + 2) : first + step * (k + 2) + size]
        x3 = padded[first + step * (k + 3) : first + step * (k + 3) + size]
        if k == 0 and not add:
            for t in range(size):
                out[t] = a * x0[t] + b * x1[t] + c * x2[t] + d * x3[t]
        else:
            for t in range(size):
                out[t] += a * x0[t] + b * x1[t] + c * x2[t] + d * x3[t]


@swift
def analyse_line(x, out, block, levels, filters, centre, parity, padded):
    """out (bands, period) := W x along an axis, for the channels of a block; 0 in bands it has not."""
    first, end = block
    bands, n = out.shape[0], end - first
    double = out.shape[1] // x.size
    start, period = double * first, double * n
    channels, taps = filters.shape
    half = x.dtype.type(np.sqrt(0.5))
    last = out[bands - 1][start : start + period]
    if double == 1:
        for t in range(n):
            last[t] = x[first + t]
    else:
        for t in range(n):
            last[t] = half * x[first + t]
            last[period - 1 - t] = half * x[first + t]
    for level in range(levels):
        step = 1 << level
        margin = taps * step
        extend(last, period, parity[channels - 1], margin, padded)
        for c in range(channels):
            k = bands - 1 if c == channels - 1 else level * (channels - 1) + c
            band = out[k][start : start + period]
            correlate(padded, margin - step * centre, step, filters[c], period, False, band)
    for k in range(levels * (channels - 1), bands - 1):
        out[k][start : start + period] = 0


@swift
def synthesise_line(coefficients, x, block, levels, filters, centre, parity, padded, smooth):
    """x := W' coefficients for the channels of a block; the last band is overwritten."""
    first, end = block
    bands, n = coefficients.shape[0], end - first
    double = coefficients.shape[1] // x.size
    start, period = double * first, double * n
    channels, taps = filters.shape
    half = x.dtype.type(np.sqrt(0.5))
    last = coefficients[bands - 1][start : start + period]
    for level in range(levels - 1, -1, -1):
        step = 1 << level
        margin = taps * step
        for c in range(channels):
            k = bands - 1 if c == channels - 1 else level * (channels - 1) + c
            band = coefficients[k][start : start + period]
            extend(band, period, parity[c], margin, padded)
            correlate(padded, margin + step * centre, -step, filters[c], period, c > 0, smooth)
        for t in range(period):
            last[t] = smooth[t]
    if double == 1:
        for t in range(n):
            x[first + t] = last[t]
    else:
        for t in range(n):
            x[first + t] = half * (last[t] + last[period - 1 - t])


@swift
def folded(place, size, parity):
    """Return the index inside an axis of the value continued at `place`, and its sign."""
    if 0 <= place < size:
        return place, 1
    if parity == 0:
        return place % size, 1
    place = place % (2 * size)
    return (place, 1) if place < size else (2 * size - 1 - place, parity)


@swift
def correlate_down(X, step, taps, centre, parity, add, out):
    """out[t] (+)= sum_k taps[k] X[t + step (k - centre)] for rows of an image, row by row of out."""
    height, width = X.shape
    for t in range(height):
        row = out[t]
        for k in range(0, taps.size, 4):
            i0, s0 = folded(t + step * (k - centre), height, parity)
            i1, s1 = folded(t + step * (k + 1 - centre), height, parity)
            i2, s2 = folded(t + step * (k + 2 - centre), height, parity)
            i3, s3 = folded(t + step * (k + 3 - centre), height, parity)
            a = taps[k] if s0 > 0 else -taps[k]  # not taps[k] * s0, which would be double precision
            b = taps[k + 1] if s1 > 0 else -taps[k + 1]
            c = taps[k + 2] if s2 > 0 else -taps[k + 2]
            d = taps[k + 3] if s3 > 0 else -taps[k + 3]
            x0, x1, x2, x3 = X[i0], X[i1], X[i2], X[i3]
            if k == 0 and not add:
                for j in range(width):
                    row[j] = a * x0[j] + b * x1[j] + c * x2[j] + d * x3[j]
            else:
                for j in range(width):
                    row[j] += a * x0[j] + b * x1[j] + c * x2[j] + d * x3[j]


@swift
def correlate_along(X, margin, first, step, taps, parity, add, padded, out):
    """Do the same along the rows of an image, with the filter placed as in `correlate`."""
    width = X.shape[1]
    for t in range(X.shape[0]):
        extend(X[t], width, parity, margin, padded)
        correlate(padded, first, step, taps, width, add, out[t])


@swift
def analyse_image(x, out, height, levels, filters, centre, parity, padded, smooth):
    """out (bands, period) := W x for an image of this height; bands of a level by (across, down)."""
    channels, taps = filters.shape
    width = x.size // height
    double = 2 if parity[channels - 1] == 0 else 1
    H, W = double * height, double * width
    last = out[out.shape[0] - 1].reshape(H, W)
    middle = smooth[: H * W].reshape(H, W)
    scale = x.dtype.type(1 / double)
    for i in range(H):
        row = x[min(i, H - 1 - i) * width :] if double == 2 else x[i * width :]
        for j in range(width):
            last[i, j] = scale * row[j]
            if double == 2:
                last[i, W - 1 - j] = scale * row[j]
    for level in range(levels):
        step = 1 << level
        margin = taps * step
        for c in range(channels):  # across, then down: the smooth part of the level before is read first
            correlate_along(
                last, margin, margin - step * centre, step, filters[c], parity[channels - 1],
                False, padded, middle,
            )  # fmt: skip
            for d in range(channels):
                band = level * (channels * channels - 1) + c * channels + d
                is_last = c == channels - 1 and d == channels - 1
                into = last if is_last else out[band].reshape(H, W)
                correlate_down(middle, step, filters[d], centre, parity[channels - 1], False, into)


@swift
def synthesise_image(coefficients, x, height, levels, filters, centre, parity, padded, smooth):
    """x := W' coefficients for an image with this many rows; the last band is overwritten."""
    channels, taps = filters.shape
    width = x.size // height
    double = 2 if parity[channels - 1] == 0 else 1
    H, W = double * height, double * width
    last = coefficients[coefficients.shape[0] - 1].reshape(H, W)
    middle, total = smooth[: H * W].reshape(H, W), smooth[H * W : 2 * H * W].reshape(H, W)
    for level in range(levels - 1, -1, -1):
        step = 1 << level
        margin = taps * step
        for c in range(channels):
            for d in range(channels):
                band = level * (channels * channels - 1) + c * channels + d
                is_last = c == channels - 1 and d == channels - 1
                source = last if is_last else coefficients[band].reshape(H, W)
                correlate_down(source, -step, filters[d], centre, parity[d], d > 0, middle)
            correlate_along(
                middle, margin, margin + step * centre, -step, filters[c], parity[c],
                c > 0, padded, total,
            )  # fmt: skip
        for i in range(H):
            for j in range(W):
                last[i, j] = total[i, j]
    for i in range(height):
        for j in range(width):
            if double == 2:
                near = last[i, j] + last[i, W - 1 - j]
                x[i * width + j] = (near + last[H - 1 - i, j] + last[H - 1 - i, W - 1 - j]) / 2
            else:
                x[i * width + j] = last[i, j]
