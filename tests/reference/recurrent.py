"""Recurrent cells, attention scores and reading, written as plain loops over NumPy float64 numbers.

Nothing here is clever: each function is the formula, one number at a time.
"""

from __future__ import annotations

import math

import numpy as np

# ---- products and functions ------------------------------------------------------------------------------------


def product(matrix, vector):
    result = np.zeros(len(matrix))
    for i in range(len(matrix)):
        for j in range(len(vector)):
            result[i] += matrix[i][j] * vector[j]
    return result


def inner(left, right):
    total = 0.0
    for x, y in zip(left, right, strict=True):
        total += x * y
    return total


def logistic(x):
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))


def softmax(scores):
    highest = max(scores)
    powers = [math.exp(score - highest) for score in scores]
    return np.array([power / sum(powers) for power in powers])


# ---- scores ----------------------------------------------------------------------------------------------------


def dot(query, key):
    return inner(query, key)


def scaled_dot(query, key):
    return inner(query, key) / math.sqrt(len(key))


def general(query, key, weight):
    return inner(query, product(weight, key))


def concat(query, key, weight, energy):
    hidden = product(weight, np.concatenate([query, key]))
    return inner(energy, [math.tanh(x) for x in hidden])


def additive(query, key, query_weight, key_weight, *, energy):
    hidden = product(query_weight, query) + product(key_weight, key)
    return inner(energy, [math.tanh(x) for x in hidden])


def reading(query, keys, values, score):
    """What the query reads, and its attention."""
    weights = softmax([score(query, key) for key in keys])
    context = np.zeros(len(values[0]))
    for weight, value in zip(weights, values, strict=True):
        for i in range(len(value)):
            context[i] += weight * value[i]
    return context, weights


# ---- cells -----------------------------------------------------------------------------------------------------


def vanilla(x, state, weights):
    """The next state (h,)."""
    ih, hh, bias_ih, bias_hh = weights
    (h,) = state
    total = product(ih, x) + bias_ih + product(hh, h) + bias_hh
    return (np.array([math.tanh(each) for each in total]),)


def gru(x, state, weights):
    """The next state (h,)."""
    ih, hh, bias_ih, bias_hh = weights
    (h,) = state
    size = len(h)
    from_x, from_h = product(ih, x) + bias_ih, product(hh, h) + bias_hh
    after = np.zeros(size)
    for i in range(size):
        reset = logistic(from_x[i] + from_h[i])
        keep = logistic(from_x[size + i] + from_h[size + i])
        new = math.tanh(from_x[2 * size + i] + reset * from_h[2 * size + i])
        after[i] = (1 - keep) * new + keep * h[i]
    return (after,)


def lstm(x, state, weights):
    """The next state (h, c)."""
    ih, hh, bias_ih, bias_hh = weights
    h, c = state
    size = len(h)
    total = product(ih, x) + bias_ih + product(hh, h) + bias_hh
    hidden, cell = np.zeros(size), np.zeros(size)
    for i in range(size):
        write, keep = logistic(total[i]), logistic(total[size + i])
        new, show = math.tanh(total[2 * size + i]), logistic(total[3 * size + i])
        cell[i] = keep * c[i] + write * new
        hidden[i] = show * math.tanh(cell[i])
    return hidden, cell


CELLS = {"vanilla": vanilla, "gru": gru, "lstm": lstm}


def sequence(cell, inputs, state, weights):
    """The states of one layer over a sequence."""
    states = []
    for x in inputs:
        state = CELLS[cell](x, state, weights)
        states.append(state)
    return states


# ---- decoders with attention -----------------------------------------------------------------------------------


def bahdanau(cell, embedded, state, weights, *, read):
    """Of each step: the state, what was read, the attention. The previous state asks."""
    steps = []
    for x in embedded:
        context, attention = read(state[0])
        state = CELLS[cell](np.concatenate([x, context]), state, weights)
        steps.append((state[0], context, attention))
    return steps


def luong(cell, embedded, state, weights, *, read, map_out, feeding):
    """Of each step: the attentional vector tanh(W [a; s]) and the attention. The current state asks."""
    steps, fed = [], np.zeros(len(map_out))
    for x in embedded:
        state = CELLS[cell](np.concatenate([x, fed]) if feeding else x, state, weights)
        context, attention = read(state[0])
        vector = np.array([math.tanh(each) for each in product(map_out, np.concatenate([context, state[0]]))])
        fed = vector
        steps.append((vector, attention))
    return steps


def maxout(state, context, embedded, *, weight, bias):
    """The maximum of each pair."""
    doubled = product(weight, np.concatenate([context, state, embedded])) + bias
    return np.array([max(doubled[2 * i], doubled[2 * i + 1]) for i in range(len(doubled) // 2)])


# ---- copying ---------------------------------------------------------------------------------------------------


def copied(logits, gate_logit, attention, source_ids):
    """The probability of each word in the mixture of generating and copying."""
    generate = logistic(gate_logit)
    probabilities = generate * softmax(logits)
    for weight, word in zip(attention, source_ids, strict=True):
        probabilities[word] += (1 - generate) * weight
    return probabilities
