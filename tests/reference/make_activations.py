"""Records torch's activations and norms in activations.json.

`python -m reference.make_activations` in tests, with torch. Of each expression and dtype: the
result, the gradient of its weighted sum, whether that requires a gradient and the gradient of its
squares; or the kind of exception.
"""

import json
import warnings
from pathlib import Path

FILE = Path(__file__).with_name("activations.json")
# At kinks, on both sides of them and far off.
X = [[-7.0, -3.0, -1.0, -0.5], [0.0, 0.1, 0.5, 1.0], [3.0, 6.0, 7.0, 25.0]]
IN_PLACE = [
    "leaky_relu(x, 0.1, inplace=True)",
    "elu(x, 0.5, inplace=True)",
    "selu(x, inplace=True)",
    "celu(x, 0.5, inplace=True)",
    "silu(x, inplace=True)",
    "mish(x, inplace=True)",
    "hardtanh(x, -0.5, 0.7, inplace=True)",
    "relu6(x, inplace=True)",
    "hardsigmoid(x, inplace=True)",
    "hardswish(x, inplace=True)",
    "threshold(x, 0.1, -3.0, inplace=True)",
]
EXPRESSIONS = [
    "relu(x)",
    "leaky_relu(x, 0.1)",
    "sigmoid(x)",
    "tanh(x)",
    "gelu(x)",
    "gelu(x, approximate='tanh')",
    "softplus(x)",
    "softplus(x, 2.0, 1.5)",
    "elu(x)",
    "elu(x, 0.5)",
    "selu(x)",
    "celu(x, 0.5)",
    "silu(x)",
    "mish(x)",
    "hardtanh(x)",
    "hardtanh(x, -0.5, 0.7)",
    "hardtanh(x, -2, 3)",
    "relu6(x)",
    "hardswish(x)",
    "softsign(x)",
    "logsigmoid(x)",
    "tanhshrink(x)",
    "softshrink(x)",
    "hardshrink(x)",
    "threshold(x, 0.1, -3.0)",
    "threshold(x, 1, 7)",
    "glu(x, -1)",
    "softmin(x, -1)",
    "softmax(x, -1)",
    "log_softmax(x, 0)",
    "layer_norm(x, (4,))",
    "layer_norm(x, (3, 4))",
    "batch_norm(x, None, None, training=True)",
    *IN_PLACE,
]
DTYPES = ["float64", "float32", "float16", "int64", "bool"]


def evaluate(torch, expression, dtype):
    """What an expression gives: see above."""
    kind = getattr(torch, dtype)
    x = torch.tensor(X, dtype=kind)
    x.requires_grad_(x.is_floating_point())
    try:
        y = eval(f"torch.nn.functional.{expression}", {"torch": torch, "x": x * 1})
        found = [str(y.dtype).partition(".")[2], y.tolist()]
    except Exception as error:
        return type(error).__name__
    if x.requires_grad:
        found += derivatives(torch, x, y)
    return found


def derivatives(torch, x, y):
    """The gradient, whether it requires one, and the gradient of the sum of its squares."""
    weights = torch.arange(y.numel(), dtype=y.dtype).reshape(y.shape) * 0.25 - 1.0
    try:
        (g,) = torch.autograd.grad(y, x, weights, create_graph=True)
        if not g.requires_grad:
            return [g.tolist(), False]
        (h,) = torch.autograd.grad((g * g).sum(), x)
        return [g.tolist(), True, h.tolist()]
    except RuntimeError:
        return []


if __name__ == "__main__":
    import torch

    warnings.simplefilter("ignore")
    rows = {f"{e}, {d}": evaluate(torch, e, d) for e in EXPRESSIONS for d in DTYPES}
    lines = [f"{json.dumps(name)}: {json.dumps(row)}" for name, row in rows.items()]
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n")
