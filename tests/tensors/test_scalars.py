"""Between Values and Tensors, in one graph."""

import pytest

import engine
from engine import Value
from engine.autograd import grad, gradcheck, gradgradcheck


def test_values_become_a_row_of_doubles_and_back():
    v = [Value(1.5), Value(-2.0)]
    t = engine.stack([v[0], v[1], 3, True])
    assert t.tolist() == [1.5, -2.0, 3.0, 1.0]
    assert t.dtype is engine.float64
    assert t.requires_grad
    back = engine.unstack(t * t)
    assert [type(x) for x in back] == [Value] * 4
    (back[0] * back[1] + back[2]).backward()
    assert [x.grad for x in v] == [2 * 1.5 * 4.0, 2 * -2.0 * 2.25]


def test_constants_among_values_make_no_graph():
    t = engine.stack([Value(1.0, requires_grad=False), 2.0])
    assert not t.requires_grad
    assert not engine.unstack(t)[0].requires_grad


def test_lists_of_values_become_a_matrix_and_back():
    rows = [[Value(1.0), Value(2.0)], [Value(3.0), 4.0], (Value(5.0), Value(6.0))]
    t = engine.stack(rows)
    assert t.tolist() == [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
    back = engine.unstack(t.t() * 2)
    assert [[x.data for x in row] for row in back] == [[2.0, 6.0, 10.0], [4.0, 8.0, 12.0]]
    back[1][2].backward()
    assert rows[2][1].grad == 2.0
    assert rows[0][0].grad == 0.0


def test_a_number_of_a_tensor_as_a_value():
    x = engine.tensor([1.0, 2.0], requires_grad=True)
    assert engine.unstack(x.sum()).data == 3.0
    v = (x * x).sum().as_value()
    assert v.data == 5.0
    (v * v).backward()
    assert x.grad.tolist() == [20.0, 40.0]
    assert engine.unstack(engine.zeros(0)) == []
    assert engine.unstack(engine.zeros(2, 0)) == [[], []]


def test_gradients_come_back_in_the_dtype_of_the_tensor():
    x = engine.ones(2, dtype=engine.float32, requires_grad=True)
    engine.unstack(x)[1].backward()
    assert x.grad.dtype is engine.float32
    assert x.grad.tolist() == [0.0, 1.0]


def test_a_value_beside_a_tensor_takes_its_dtype_and_gets_the_sum_of_the_gradient():
    v = Value(3.0)
    x = engine.ones(2, 2, dtype=engine.float32)
    x_where = engine.where(engine.tensor([True, False]), x, v)
    assert x_where.dtype is engine.float32
    x_where.sum().backward()
    assert v.grad == 2.0
    assert v.as_tensor().dtype is engine.float64
    assert engine.cat([x[0], engine.stack([v])]).tolist() == [1.0, 1.0, 3.0]


def test_values_and_tensors_of_one_number_stand_side_by_side():
    v = Value(2.0)
    t = engine.stack([v, engine.tensor(3.0, dtype=engine.float64), v.as_tensor()])
    (t * engine.tensor([1.0, 10.0, 100.0])).sum().backward()
    assert v.grad == 101.0


def test_derivatives_of_all_orders_cross_over_and_back():
    x = Value(1.3)
    y = Value(0.7)

    def f(x, y):
        t = engine.stack([x * y, x.exp(), 2.0])
        a, b, c = engine.unstack(t * t)
        return a * b + c / y

    assert gradcheck(f, (x, y))
    assert gradgradcheck(f, (x, y))
    third = f(x, y)
    for _ in range(3):
        (third,) = grad(third, x, create_graph=True)
    # d3/dx3 of x**2 y**2 e**2x
    expected = 0.7**2 * 2.718281828459045 ** (2 * 1.3) * (8 * 1.3**2 + 24 * 1.3 + 12)
    assert third.data == pytest.approx(expected, rel=1e-12)


def test_a_long_list_of_values_is_stacked_by_one_node():
    values = [Value(i) for i in range(1000)]
    t = engine.stack(values)
    assert t.grad_fn.name() == "StackValuesBackward0"
    assert len(t.grad_fn.next_functions) == 1000
    (t * t).sum().backward()
    assert [v.grad for v in values] == [2.0 * i for i in range(1000)]


@pytest.mark.parametrize(
    ("make", "kind", "message"),
    [
        ("engine.stack([v, 'a'])", TypeError, "only Values and numbers are possible"),
        ("engine.stack([[v, v], [v]])", (TypeError, ValueError), "equal length|inhomogeneous"),
        ("engine.unstack(engine.arange(3))", TypeError, r"needs floats; got .*int64; use .double"),
        ("engine.zeros(2).as_value()", RuntimeError, "needs one element; got 2"),
        ("engine.tensor([v, v])", TypeError, r"engine\.stack"),
    ],
)
def test_misuse_is_refused_with_the_cure(make, kind, message):
    with pytest.raises(kind, match=message):
        eval(make, {"engine": engine, "v": Value(1.0)})
