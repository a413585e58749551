"""The Transformer's parts in NumPy, float64, written as plain loops after their formulas."""

from __future__ import annotations

import math

import numpy as np


def softmax(scores):
    powers = [math.exp(s - max(scores)) for s in scores]
    return np.array([p / sum(powers) for p in powers])


def attention(queries, keys, values, *, scale, allowed):
    """One head: queries [T, K], keys and values [S, K]; `allowed(t, s)` says what may be looked at."""
    rows = []
    for t, query in enumerate(queries):
        seen = [s for s in range(len(keys)) if allowed(t, s)]
        weights = softmax([scale * sum(a * b for a, b in zip(query, keys[s], strict=True)) for s in seen])
        rows.append(sum(w * values[s] for w, s in zip(weights, seen, strict=True)))
    return np.array(rows)


def multi_head(x, memory, weights, *, heads, key_heads, scale, allowed):
    """Several heads side by side; `weights` holds (matrix, bias) for q, k, v and o, matrices as [outputs, inputs]."""
    q, k, v = (
        np.array([matrix @ row + bias for row in rows])
        for (matrix, bias), rows in zip(weights[:3], (x, memory, memory), strict=True)
    )
    size = q.shape[1] // heads
    mixed = []
    for head in range(heads):
        group = head // (heads // key_heads)
        mine, theirs = slice(head * size, (head + 1) * size), slice(group * size, (group + 1) * size)
        mixed.append(attention(q[:, mine], k[:, theirs], v[:, theirs], scale=scale, allowed=allowed))
    matrix, bias = weights[3]
    return np.array([matrix @ row + bias for row in np.concatenate(mixed, axis=1)])


def layer_norm(x, gain, bias, epsilon):
    rows = []
    for row in x:
        mean = sum(row) / len(row)
        variance = sum((value - mean) ** 2 for value in row) / len(row)
        rows.append(
            [g * (v - mean) / math.sqrt(variance + epsilon) + b for v, g, b in zip(row, gain, bias, strict=True)]
        )
    return np.array(rows)


def rms_norm(x, gain, epsilon):
    rows = []
    for row in x:
        root = math.sqrt(sum(value**2 for value in row) / len(row) + epsilon)
        rows.append([g * v / root for v, g in zip(row, gain, strict=True)])
    return np.array(rows)


def sinusoids(count, size):
    """sin(pos / 10000^(2i/d)) at column 2i, cos of the same at column 2i + 1."""
    table = np.zeros((count, size))
    for position in range(count):
        for i in range(size // 2):
            angle = position / 10000 ** (2 * i / size)
            table[position, 2 * i] = math.sin(angle)
            table[position, 2 * i + 1] = math.cos(angle)
    return table


def rotated(vector, position, wavelength):
    """Pairs of neighbours turned by position · wavelength^(-2i/K)."""
    result = np.zeros_like(vector)
    for i in range(len(vector) // 2):
        angle = position * wavelength ** (-2 * i / len(vector))
        a, b = vector[2 * i], vector[2 * i + 1]
        result[2 * i] = a * math.cos(angle) - b * math.sin(angle)
        result[2 * i + 1] = a * math.sin(angle) + b * math.cos(angle)
    return result


def relative_bucket(distance, *, both_ways, buckets, farthest):
    """T5's class of the distance from query to key."""
    start = 0
    if both_ways:
        buckets //= 2
        if distance > 0:
            start = buckets
        distance = abs(distance)
    else:
        distance = max(-distance, 0)
    single = buckets // 2
    if distance < single:
        return start + distance
    grown = single + int(math.log(distance / single) / math.log(farthest / single) * (buckets - single))
    return start + min(grown, buckets - 1)


def ssru(x, forget_matrix, forget_bias, matrix):
    """H of the simpler simple recurrent unit over x [T, D]."""
    cell = np.zeros(len(forget_bias))
    outputs = []
    for row in x:
        forget = 1 / (1 + np.exp(-(forget_matrix @ row + forget_bias)))
        cell = forget * cell + (1 - forget) * (matrix @ row)
        outputs.append(np.maximum(cell, 0))
    return np.array(outputs)


def feed_forward(x, first, second, activation):
    """W₂ f(W₁x + b₁) + b₂."""
    rows = []
    for row in x:
        inner = [activation(value) for value in first[0] @ row + first[1]]
        rows.append(second[0] @ np.array(inner) + second[1])
    return np.array(rows)
