"""Records torch's layers, losses and texts in nn.json: `python make_nn.py`, with torch.

Each case is an expression of `nn`, `F` and the inputs below, evaluated here by torch and in the
tests by engine: its value, and the gradients of its randomly weighted sum.
"""

import json
import math
from pathlib import Path


def wave(count, shift=0.0, scale=1.0):
    return [scale * math.sin(1.7 * k * k + 0.3 * k + shift) for k in range(count)]


# name: (numbers, shape, dtype, whether gradients are compared)
INPUTS = {
    "x": (wave(12), [4, 3], "float64", True),
    "y": (wave(12, 2.0), [4, 3], "float64", True),
    "p": ([0.5 + 0.45 * n for n in wave(12, 0.5)], [4, 3], "float64", True),
    "q": ([0.5 + 0.4 * n for n in wave(12, 1.5)], [4, 3], "float64", False),
    "v": (wave(3, 0.7), [3], "float64", True),
    "w": ([0.2, 1.5, 0.7], [3], "float64", False),
    "a": (wave(6, 3.0), [2, 3], "float64", True),
    "b": (wave(2, 4.0), [2], "float64", True),
    "z": (wave(24, 5.0, 2.0), [2, 3, 4], "float64", True),
    "s": (wave(12, 6.0, 0.1), [3, 4], "float64", True),
    "e": ([0, 1, 1, 0, 1, 0], [2, 3], "float64", True),
    "t": ([0, 2, 1, 2], [4], "int64", False),
    "i": ([0, -100, 1, 2], [4], "int64", False),
    "u": ([1], [], "int64", False),
    "k": ([0, 2, 1, 1, 0, 2, 2, 1], [2, 4], "int64", False),
}

EXPRESSIONS = [
    "F.relu(x)",
    "F.leaky_relu(x)",
    "F.leaky_relu(x, 0.3)",
    "F.sigmoid(x)",
    "F.tanh(x)",
    "F.gelu(z)",
    "F.gelu(z, approximate='tanh')",
    "F.softplus(z)",
    "F.softplus(z, beta=2.0, threshold=1.0)",
    "F.softmax(x, dim=0)",
    "F.softmax(z, dim=-1)",
    "F.log_softmax(z, dim=1)",
    "F.linear(x, a)",
    "F.linear(x, a, b)",
    "F.linear(v, a, b)",
    "F.dropout(x, 0.5, training=False)",
    "F.embedding(t, y)",
    "F.embedding(k, y, padding_idx=1)",
    "F.embedding(k, y, padding_idx=-2)",
    "F.layer_norm(z, (4,))",
    "F.layer_norm(z, (3, 4), s, s + 1, eps=0.01)",
    "F.normalize(x)",
    "F.normalize(x, p=3.0, dim=0)",
    "F.one_hot(t)",
    "F.one_hot(k, num_classes=5)",
    "F.mse_loss(x, y)",
    "F.mse_loss(x, y, reduction='sum')",
    "F.mse_loss(x, y, reduction='none')",
    "F.nll_loss(x, t)",
    "F.nll_loss(x, t, weight=w)",
    "F.nll_loss(x, i, weight=w, reduction='sum')",
    "F.nll_loss(x, i, reduction='none')",
    "F.nll_loss(v, u)",
    "F.nll_loss(z, k)",
    "F.cross_entropy(x, t)",
    "F.cross_entropy(x * 1000, t)",
    "F.cross_entropy(x, t, weight=w)",
    "F.cross_entropy(x, i)",
    "F.cross_entropy(x, t, reduction='sum')",
    "F.cross_entropy(x, t, reduction='none')",
    "F.cross_entropy(v, u)",
    "F.cross_entropy(z, k)",
    "F.cross_entropy(x, t, label_smoothing=0.2)",
    "F.cross_entropy(x, i, weight=w, label_smoothing=0.2)",
    "F.cross_entropy(z, k, weight=w, label_smoothing=0.2)",
    "F.cross_entropy(x, i, weight=w, label_smoothing=0.2, reduction='sum')",
    "F.cross_entropy(x, i, weight=w, label_smoothing=0.2, reduction='none')",
    "F.cross_entropy(x, p)",
    "F.cross_entropy(x, p, weight=w, label_smoothing=0.1)",
    "F.cross_entropy(x, p, reduction='none')",
    "F.binary_cross_entropy_with_logits(x, p)",
    "F.binary_cross_entropy_with_logits(x * 100, p, weight=q, pos_weight=w)",
    "F.binary_cross_entropy_with_logits(x, p, reduction='none')",
    "F.binary_cross_entropy(p, q)",
    "F.binary_cross_entropy(p, q, weight=q, reduction='sum')",
    "F.binary_cross_entropy(e, q[:2])",
    "nn.Softmax(1)(x)",
    "nn.LogSoftmax(1)(x)",
    "nn.LeakyReLU(0.2)(x)",
    "nn.GELU()(x)",
    "nn.Softplus(2.0)(x)",
    "nn.Flatten()(z)",
    "nn.Flatten(0, 1)(z)",
    "nn.LayerNorm(4).double()(z)",
    "nn.MSELoss()(x, y)",
    "nn.NLLLoss(w)(x, t)",
    "nn.CrossEntropyLoss(w, label_smoothing=0.1)(x, i)",
    "nn.BCEWithLogitsLoss(pos_weight=w)(x, p)",
    "F.elu(z)",
    "F.elu(z, alpha=0.5)",
    "F.selu(z)",
    "F.celu(z, alpha=0.5)",
    "F.silu(z)",
    "F.mish(z)",
    "F.hardtanh(z)",
    "F.hardtanh(z, -0.5, 1.5)",
    "F.relu6(z * 5)",
    "F.hardsigmoid(z * 3)",
    "F.hardswish(z * 3)",
    "F.softsign(z)",
    "F.logsigmoid(z * 100)",
    "F.tanhshrink(z)",
    "F.softshrink(z)",
    "F.hardshrink(z)",
    "F.threshold(z, 0.1, 20.0)",
    "F.prelu(z, b[:1])",
    "F.prelu(z, v)",
    "F.glu(z)",
    "F.glu(z, 2)",
    "F.softmin(x, dim=1)",
    "F.l1_loss(x, y)",
    "F.l1_loss(x, y, reduction='none')",
    "F.smooth_l1_loss(x, y)",
    "F.smooth_l1_loss(x, y, beta=0.3, reduction='sum')",
    "F.smooth_l1_loss(x, y, beta=0.0)",
    "F.huber_loss(x, y)",
    "F.huber_loss(x, y, reduction='none', delta=0.3)",
    "F.kl_div(x, q, reduction='sum')",
    "F.kl_div(x, p, reduction='batchmean')",
    "F.kl_div(x, y, log_target=True, reduction='none')",
    "F.cosine_similarity(x, y)",
    "F.cosine_similarity(z, z[:1], dim=-1)",
    "F.batch_norm(z, w - 1, w)",
    "F.batch_norm(z, None, None, v, w, training=True)",
    "F.batch_norm(x, None, None, training=True, eps=0.1)",
    "nn.BatchNorm1d(3).double()(x)",
    "nn.BatchNorm1d(3, momentum=None).double()(z)",
    "nn.BatchNorm1d(3, affine=False).double().eval()(x)",
    "nn.BatchNorm2d(3).double()(z.unsqueeze(-1))",
    "nn.BatchNorm1d(3, track_running_stats=False).double().eval()(x)",
    "nn.ELU(0.5)(x)",
    "nn.PReLU().double()(x)",
    "nn.Hardtanh(-0.5, 0.5)(x)",
    "nn.BCELoss()(p, q)",
    "nn.L1Loss()(x, y)",
    "nn.SmoothL1Loss(beta=0.5)(x, y)",
    "nn.HuberLoss(delta=0.5)(x, y)",
    "nn.KLDivLoss(reduction='batchmean')(x, q)",
]

TEXTS = [
    "nn.Linear(2, 3)",
    "nn.Linear(2, 1, bias=False)",
    "nn.ReLU()",
    "nn.ReLU(inplace=True)",
    "nn.Tanh()",
    "nn.Sigmoid()",
    "nn.GELU()",
    "nn.GELU('tanh')",
    "nn.Softplus()",
    "nn.LeakyReLU()",
    "nn.LeakyReLU(0.2, inplace=True)",
    "nn.Softmax(1)",
    "nn.LogSoftmax(dim=-1)",
    "nn.Flatten()",
    "nn.Identity()",
    "nn.Dropout(0.2)",
    "nn.Embedding(3, 4)",
    "nn.Embedding(3, 4, padding_idx=-1)",
    "nn.LayerNorm(5)",
    "nn.LayerNorm((5, 2), elementwise_affine=False)",
    "nn.LayerNorm(5, bias=False)",
    "nn.MSELoss()",
    "nn.CrossEntropyLoss()",
    "nn.NLLLoss()",
    "nn.BCEWithLogitsLoss()",
    "nn.Module()",
    "nn.Sequential()",
    "nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))",
    "nn.Sequential(nn.Sequential(nn.Linear(2, 3), nn.Tanh()), nn.Identity())",
    "nn.ModuleList()",
    "nn.ModuleList([nn.Linear(2, 2), nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 2)])",
    "nn.ModuleList([nn.Sequential(nn.ReLU()), nn.Sequential(nn.ReLU())])",
    "nn.ModuleDict({'a': nn.Linear(1, 2), 'b': nn.Tanh()})",
    "nn.ModuleDict()",
    "nn.ELU()",
    "nn.ELU(0.5, inplace=True)",
    "nn.CELU()",
    "nn.SELU()",
    "nn.SELU(inplace=True)",
    "nn.SiLU()",
    "nn.Mish(inplace=True)",
    "nn.Hardtanh()",
    "nn.Hardtanh(-2.0, 0.5, inplace=True)",
    "nn.ReLU6()",
    "nn.ReLU6(inplace=True)",
    "nn.Hardsigmoid()",
    "nn.Hardswish(inplace=True)",
    "nn.Softsign()",
    "nn.LogSigmoid()",
    "nn.Tanhshrink()",
    "nn.Softshrink(0.3)",
    "nn.Hardshrink()",
    "nn.Threshold(0.1, 20)",
    "nn.GLU()",
    "nn.Softmin(dim=1)",
    "nn.PReLU(3)",
    "nn.BCELoss()",
    "nn.L1Loss()",
    "nn.SmoothL1Loss()",
    "nn.HuberLoss()",
    "nn.KLDivLoss()",
    "nn.BatchNorm1d(3)",
    "nn.BatchNorm2d(3, momentum=None, affine=False)",
]


def tensors(torch):
    return {
        name: torch.tensor(numbers, dtype=getattr(torch, dtype))
        .reshape(shape)
        .requires_grad_(wants_grad)
        for name, (numbers, shape, dtype, wants_grad) in INPUTS.items()
    }


def weights(torch, output):
    return torch.tensor(wave(output.numel(), 9.0), dtype=output.dtype).reshape(output.shape)


def evaluate(torch, expression):
    """The numbers of an expression and, by input, the gradients of its weighted sum."""
    inputs = tensors(torch)
    names = {"nn": torch.nn, "F": torch.nn.functional, **inputs}
    output = eval(expression, names)
    if output.requires_grad:
        (output * weights(torch, output)).sum().backward()
    grads = {name: t.grad.tolist() for name, t in inputs.items() if t.grad is not None}
    return {"value": output.tolist(), "dtype": str(output.dtype).split(".")[1], "grads": grads}


def main():
    import torch

    record = {
        "torch": torch.__version__,
        "cases": {text: evaluate(torch, text) for text in EXPRESSIONS},
        "texts": {text: repr(eval(text, {"nn": torch.nn})) for text in TEXTS},
    }
    Path(__file__).with_name("nn.json").write_text(json.dumps(record, indent=0) + "\n")


if __name__ == "__main__":
    main()
