"""Derivatives by differences, with an estimate of their error."""

import math


def derivative(f, x, width=0.25):
    """The derivative of f at x and a bound of its error: Ridders' method.

    Central differences at widths that shrink by 1.6 are extrapolated to width 0; the estimate
    whose neighbours in the table differ from it least is returned, with twice that difference.
    """
    table = [[central(f, x, width)]]
    best, error = table[0][0], math.inf
    for _ in range(12):
        width /= 1.6
        row, factor = [central(f, x, width)], 1.0
        for k, before in enumerate(table[-1]):
            factor *= 1.6**2
            row.append((row[k] * factor - before) / (factor - 1.0))
            off = max(abs(row[k + 1] - row[k]), abs(row[k + 1] - before))
            if off <= error:
                best, error = row[k + 1], off
        table.append(row)
    return best, 2.0 * error


def central(f, x, width):
    return (f(x + width) - f(x - width)) / (2.0 * width)
