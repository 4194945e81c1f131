"""The elementwise operations, each written once: its value and, right under it, its slopes.

A rule is a function of one or two operands `a` and `b`; its slopes are the partial derivatives,
made of the operands and of the result `y`. The same text serves floats (`Value`), arrays
(`Tensor`) and, called with Values or Tensors, derivatives of any order; compiled, both are C
functions of doubles. So a rule holds no `/`, `**`, `if` or comparison, which mean different
things to the three: `m.divide`, `m.power` and `m.where` mean one. Where a second operand `k` has
no slope it is a number, an option.

Shapes broadcast as in NumPy; errors below are those of the stated formula in double precision.
"""

from engine import elementary as m


def add(a, b):
    """a + b."""
    return a + b


def add_slopes(a, b, y):
    return 1.0, 1.0


def sub(a, b):
    """a - b."""
    return a - b


def sub_slopes(a, b, y):
    return 1.0, -1.0


def mul(a, b):
    """a * b."""
    return a * b


def mul_slopes(a, b, y):
    return b, a


def div(a, b):
    """a / b; by zero, inf or nan as in IEEE 754."""
    return m.divide(a, b)


def div_slopes(a, b, y):
    return m.divide(1.0, b), -m.divide(m.divide(a, b), b)


def pow_number(a, k):
    """a ** k with a number k for exponent; nan for a negative base with a fractional exponent."""
    return m.power(a, k)


def pow_number_slope(a, k, y):
    return m.where(m.equal(k, 0.0), 0.0, k * m.power(a, k - 1.0))


def neg(a):
    """-a."""
    return -a


def neg_slope(a, y):
    return -1.0


def exp(a):
    """e ** a; inf from a = 709.8 up."""
    return m.exp(a)


def exp_slope(a, y):
    return y


def log(a):
    """The natural logarithm; -inf at 0, nan below."""
    return m.log(a)


def log_slope(a, y):
    return m.divide(1.0, a)


def tanh(a):
    """The hyperbolic tangent, within [-1, 1]."""
    return m.tanh(a)


def tanh_slope(a, y):
    return 1.0 - y * y


def sigmoid(a):
    """1 / (1 + e ** -a), from 0 to 1.

    Taken from tanh, which cannot overflow: absolute error below 2e-16, and exactly 0 from
    a = -39 down. nan stays nan.
    """
    return 0.5 + 0.5 * m.tanh(0.5 * a)


def sigmoid_slope(a, y):
    return y * (1.0 - y)


def relu(a):
    """max(a, 0). Its slope at 0 is 0; a nan stays nan, and passes its gradient on."""
    return m.maximum(a, 0.0)


def relu_slope(a, y):
    return m.step(y)


# These pass nothing where their slope is 0, even an infinite or undefined gradient.
SELECTIONS = frozenset({"relu", "maximum", "minimum", "clamp_min", "clamp_max"})
