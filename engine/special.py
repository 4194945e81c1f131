"""Further elementwise operations, written as those of `rules.py` are: for reference."""

from engine import elementary as m
from engine import rules


def abs(a):
    """The absolute value; its slope at 0 is 0."""
    return m.fabs(a)


def abs_slope(a, y):
    return m.sign(a)


def pow(a, b):
    """a ** b, both differentiable; nan for a negative base with a fractional exponent.

    By definition 0 ** 0 is 1 and its slopes are 0; the slope of 0 ** b by b is 0 for b >= 0.
    """
    return m.power(a, b)


def pow_slopes(a, b, y):
    base = m.where(m.equal(b, 0.0), m.where(m.less(0.0, m.fabs(a)), a, 1.0), a)
    by_b = y * m.log(a)
    return (
        b * m.power(base, b - 1.0),
        m.where(m.equal(a, 0.0), m.where(m.equal(b, m.fabs(b)), 0.0, by_b), by_b),
    )


def sqrt(a):
    """The square root; nan below 0. Its slope at 0 is inf."""
    return m.sqrt(a)


def sqrt_slope(a, y):
    return m.divide(0.5, y)


def sin(a):
    """The sine of a, in radians; nan for an infinite a."""
    return m.sin(a)


def sin_slope(a, y):
    return m.cos(a)


def cos(a):
    """The cosine of a, in radians; nan for an infinite a."""
    return m.cos(a)


def cos_slope(a, y):
    return -m.sin(a)


def maximum(a, b):
    """The larger of two, nan if either is; where they are equal each gets half the gradient."""
    return m.maximum(a, b)


def maximum_slopes(a, b, y):
    half = m.where(m.equal(a, b), 0.5, 1.0)
    return m.where(m.less(a, b), 0.0, half), m.where(m.less(b, a), 0.0, half)


def minimum(a, b):
    """The smaller of two, nan if either is; where they are equal each gets half the gradient."""
    return m.minimum(a, b)


def minimum_slopes(a, b, y):
    half = m.where(m.equal(a, b), 0.5, 1.0)
    return m.where(m.less(b, a), 0.0, half), m.where(m.less(a, b), 0.0, half)


def clamp_min(a, k):
    """a, but no less than k; the slope is 1 where a >= k, 0 below."""
    return m.maximum(a, k)


def clamp_min_slope(a, k, y):
    return m.where(m.less(a, k), 0.0, m.where(m.equal(a, a), 1.0, 0.0))


def clamp_max(a, k):
    """a, but no more than k; the slope is 1 where a <= k, 0 above."""
    return m.minimum(a, k)


def clamp_max_slope(a, k, y):
    return m.where(m.less(k, a), 0.0, m.where(m.equal(a, a), 1.0, 0.0))


def expm1(a):
    """e ** a - 1, without loss of digits near 0."""
    return m.expm1(a)


def expm1_slope(a, y):
    return y + 1.0


def log1p(a):
    """log(1 + a), without loss of digits near 0; -inf at -1, nan below."""
    return m.log1p(a)


def log1p_slope(a, y):
    return m.divide(1.0, 1.0 + a)


def log2(a):
    """The logarithm to base 2; -inf at 0, nan below."""
    return m.log2(a)


def log2_slope(a, y):
    return m.divide(1.4426950408889634, a)


def log10(a):
    """The logarithm to base 10; -inf at 0, nan below."""
    return m.log10(a)


def log10_slope(a, y):
    return m.divide(0.4342944819032518, a)


def rsqrt(a):
    """1 / sqrt(a); inf at 0, nan below."""
    return m.divide(1.0, m.sqrt(a))


def rsqrt_slope(a, y):
    return -0.5 * y * y * y


def reciprocal(a):
    """1 / a."""
    return m.divide(1.0, a)


def reciprocal_slope(a, y):
    return -y * y


def square(a):
    """a * a."""
    return a * a


def square_slope(a, y):
    return 2.0 * a


def tan(a):
    """The tangent of a, in radians; nan for an infinite a."""
    return m.tan(a)


def tan_slope(a, y):
    return 1.0 + y * y


def asin(a):
    """The angle in [-pi/2, pi/2] whose sine is a; nan outside [-1, 1]."""
    return m.asin(a)


def asin_slope(a, y):
    return m.divide(1.0, m.sqrt(1.0 - a * a))


def acos(a):
    """The angle in [0, pi] whose cosine is a; nan outside [-1, 1]."""
    return m.acos(a)


def acos_slope(a, y):
    return m.divide(-1.0, m.sqrt(1.0 - a * a))


def atan(a):
    """The angle in [-pi/2, pi/2] whose tangent is a."""
    return m.atan(a)


def atan_slope(a, y):
    return m.divide(1.0, 1.0 + a * a)


def atan2(a, b):
    """The angle of the point (b, a), in radians, from -pi to pi; its slopes at the origin are 0."""
    return m.atan2(a, b)


def atan2_slopes(a, b, y):
    square = a * a + b * b
    square = m.where(m.equal(square, 0.0), 1.0, square)
    return m.divide(b, square), m.divide(-a, square)


def sinh(a):
    """The hyperbolic sine."""
    return m.sinh(a)


def sinh_slope(a, y):
    return m.cosh(a)


def cosh(a):
    """The hyperbolic cosine."""
    return m.cosh(a)


def cosh_slope(a, y):
    return m.sinh(a)


def asinh(a):
    """The inverse of sinh."""
    return m.asinh(a)


def asinh_slope(a, y):
    return m.divide(1.0, m.sqrt(a * a + 1.0))


def acosh(a):
    """The inverse of cosh, from 0 up; nan for a < 1."""
    return m.acosh(a)


def acosh_slope(a, y):
    return m.divide(1.0, m.sqrt(a * a - 1.0))


def atanh(a):
    """The inverse of tanh; inf at 1, -inf at -1, nan beyond."""
    return m.atanh(a)


def atanh_slope(a, y):
    return m.divide(1.0, 1.0 - a * a)


def silu(a):
    """a * sigmoid(a), also called swish. Source: arXiv:1702.03118."""
    return a * rules.sigmoid(a)


def silu_slope(a, y):
    return rules.sigmoid(a) * (1.0 + a * (1.0 - rules.sigmoid(a)))


def erf(a):
    """The error function, 2 / sqrt(pi) times the integral of e ** -t**2 from 0 to a."""
    return m.erf(a)


def erf_slope(a, y):
    return 1.1283791670955126 * m.exp(-a * a)


def elu(a, k):
    """a where it is above 0, k * (e ** a - 1) elsewhere. Source: arXiv:1511.07289."""
    return m.where(m.less(0.0, a), a, k * m.expm1(m.minimum(a, 0.0)))


def elu_slope(a, k, y):
    return m.where(m.less(0.0, a), 1.0, k * m.exp(m.minimum(a, 0.0)))


def softplus(a):
    """log(1 + e ** a), from 0 up, without overflow."""
    return m.maximum(a, 0.0) + m.log1p(m.exp(-m.fabs(a)))


def softplus_slope(a, y):
    return rules.sigmoid(a)


def gelu(a):
    """a times the normal distribution function of a, exactly (by erf). Source: arXiv:1606.08415."""
    return 0.5 * a * (1.0 + m.erf(0.7071067811865476 * a))


def gelu_slope(a, y):
    density = 0.3989422804014327 * m.exp(-0.5 * a * a)
    return 0.5 * (1.0 + m.erf(0.7071067811865476 * a)) + a * density


def leaky_relu(a, k):
    """a where it is above 0, k * a elsewhere; the slope at 0 is k."""
    return m.where(m.less(0.0, a), a, k * a)


def leaky_relu_slope(a, k, y):
    return m.where(m.less(0.0, a), m.step(a), k)  # not 1.0: step(a) can be differentiated, to 0
