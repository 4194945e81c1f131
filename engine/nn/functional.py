"""Layers and losses as plain functions of tensors.

Losses take a `reduction`: "mean", "sum", or "none", which keeps one loss per element or row.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import engine
from engine.attention import warn
from engine.function import Function
from engine.nn.activations import (
    celu as celu,
    check_floating,
    elu as elu,
    glu as glu,
    hardshrink as hardshrink,
    hardsigmoid as hardsigmoid,
    hardswish as hardswish,
    hardtanh as hardtanh,
    logsigmoid as logsigmoid,
    made,
    mish as mish,
    prelu as prelu,
    relu6 as relu6,
    selu as selu,
    silu as silu,
    softmin as softmin,
    softshrink as softshrink,
    softsign as softsign,
    tanhshrink as tanhshrink,
    threshold as threshold,
)
from engine.ops.linear import linear as linear
from engine.ops.losses import CrossEntropy, NllLoss, all_count, extremes
from engine.ops.normalization import Standardize
from engine.tensors import Tensor

# Activations


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """max(x, 0), elementwise; the slope at 0 is 0."""
    return input.relu_() if inplace else input.relu()


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """x where x > 0, else negative_slope * x, elementwise."""
    return made("leaky_relu", engine.leaky_relu, input, negative_slope, inplace=inplace)


def sigmoid(input: Tensor) -> Tensor:
    """1 / (1 + e**-x), elementwise."""
    return input.sigmoid()


def tanh(input: Tensor) -> Tensor:
    """Hyperbolic tangent, elementwise."""
    return input.tanh()


def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    """x times the normal distribution's Phi(x), elementwise.

    approximate: "none", or "tanh" for 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))), which is
    within 5e-4 of it.
    """
    if approximate == "none":
        return made("gelu", lambda x: x.gelu(), input)
    if approximate == "tanh":
        return made("gelu", _gelu_by_tanh, input)
    raise RuntimeError(f"gelu: approximate must be 'none' or 'tanh'; got {approximate!r}")


def _gelu_by_tanh(x: Tensor) -> Tensor:
    inner = math.sqrt(2.0 / math.pi) * (x + 0.044715 * x * x * x)
    return 0.5 * x * (1.0 + inner.tanh())


def softplus(input: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """log(1 + e**(beta x)) / beta, elementwise; x itself where beta x > threshold."""
    return made("softplus", _softplus, input, beta, threshold)


def _softplus(x: Tensor, beta: float, threshold: float) -> Tensor:
    scaled = x * beta
    return engine.where(scaled > threshold, x, scaled.softplus() / beta)


def softmax(input: Tensor, dim: int | None = None, dtype: Any = None) -> Tensor:
    """e**x over its sum along `dim`; dtype, if given, is taken before."""
    input = input if dtype is None else input.to(dtype)
    return input.softmax(_implicit_dim("softmax", input) if dim is None else dim)


def log_softmax(input: Tensor, dim: int | None = None, dtype: Any = None) -> Tensor:
    """The logarithm of softmax along `dim`, without overflow."""
    input = input if dtype is None else input.to(dtype)
    return input.log_softmax(_implicit_dim("log_softmax", input) if dim is None else dim)


def _implicit_dim(name: str, input: Tensor) -> int:
    """PyTorch's old choice, with its warning."""
    dim = 0 if input.ndim in (0, 1, 3) else 1
    warn(f"{name}: dim is not given; {dim} is taken: write dim={dim}")
    return dim


# Layers


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Each number becomes 0 with probability p, or is scaled by 1 / (1 - p).

    Without `training` the input itself. Raises ValueError unless 0 <= p <= 1.
    """
    check_probability("dropout", p)
    if not training or p == 0:
        return input
    kept = (engine.rand(input.shape) >= p).to(input.dtype) * (0.0 if p == 1 else 1 / (1 - p))
    return input.mul_(kept) if inplace else input * kept


def check_probability(name: str, p: float) -> None:
    if not 0 <= p <= 1:
        raise ValueError(f"{name}: p, the probability of a zero, must be from 0 to 1; got {p}")


def embedding(input: Tensor, weight: Tensor, padding_idx: int | None = None) -> Tensor:
    """Rows of `weight`, shape (n, d): whole numbers of shape (*) give (*, d).

    The row padding_idx gets no gradient. Raises IndexError for a number outside 0 .. n-1.
    """
    check_classes("embedding", "input", input, weight.shape[0])
    rows = weight[input]
    padding = padding_row("embedding", padding_idx, weight.shape[0])
    if padding is None:
        return rows
    return engine.where((input == padding).unsqueeze(-1), rows.detach(), rows)


def padding_row(name: str, padding_idx: int | None, count: int) -> int | None:
    """padding_idx counted from the front; a negative one counts from the end."""
    if padding_idx is None or 0 <= padding_idx < count:
        return padding_idx
    if -count <= padding_idx < 0:
        return padding_idx + count
    raise ValueError(
        f"{name}: padding_idx must be within the {count} rows of weight; got {padding_idx}"
    )


def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """(x - mean) / sqrt(var + eps) over the last dimensions, times weight, plus bias.

    normalized_shape: the sizes of those dimensions, also the shape of weight and bias.
    Raises RuntimeError unless the input ends in them.
    """
    sizes = tuple(normalized_shape)
    if not sizes or input.shape[-len(sizes) :] != sizes:
        raise RuntimeError(
            f"layer_norm: input must end in the sizes {sizes} of normalized_shape; "
            f"got {tuple(input.shape)}"
        )
    for name, x in (("weight", weight), ("bias", bias)):
        if x is not None and x.shape != sizes:
            raise RuntimeError(
                f"layer_norm: {name} must be of the shape {sizes} of normalized_shape; "
                f"got {tuple(x.shape)}"
            )
    return made("layer_norm", _layer_norm, input, len(sizes), weight, bias, eps)


def _layer_norm(
    x: Tensor, count: int, weight: Tensor | None, bias: Tensor | None, eps: float
) -> Tensor:
    output = Standardize.apply(x, count, eps)
    output = output if weight is None else output * weight
    return output if bias is None else output + bias


def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Each channel (dimension 1) brought to mean 0 and variance 1, times weight, plus bias.

    training: by the mean and variance of the batch, which the running ones, shape (channels,),
    follow in place by the part `momentum`; else by the running ones.
    Raises ValueError for a batch of one number a channel, RuntimeError unless the others hold
    one number for each channel.
    """
    if not training and (running_mean is None or running_var is None):
        raise RuntimeError("batch_norm: running_mean and running_var are needed out of training")
    _check_channels(input, running_mean=running_mean, running_var=running_var)
    _check_channels(input, weight=weight, bias=bias)
    options = running_mean, running_var, weight, bias, training, momentum, eps
    return made("batch_norm", _batch_norm, input, *options)


def _check_channels(input: Tensor, **others: Tensor | None) -> None:
    """Refuse what does not hold one number for each channel of the input."""
    if input.ndim < 2:
        raise IndexError(
            "batch_norm: Dimension out of range: input needs the channels in dimension 1; got the "
            f"shape {tuple(input.shape)}: write input.unsqueeze(0) for a batch of one"
        )
    channels = input.shape[1]
    for name, x in others.items():
        if x is not None and x.numel() != channels:
            raise RuntimeError(
                f"batch_norm: {name} should contain {channels} elements not {x.numel()}: input of "
                f"shape {tuple(input.shape)} has {channels} channels (dimension 1); make the layer "
                f"with num_features={channels}, or bring the channels to dimension 1"
            )


def _batch_norm(
    x: Tensor,
    running_mean: Any,
    running_var: Any,
    weight: Tensor | None,
    bias: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
) -> Tensor:
    x, mean, var = x.contiguous(), running_mean, running_var  # so lies the result, as PyTorch's
    if training:
        others = [d for d in range(x.ndim) if d != 1]
        mean, var = batch_moments(x, others, running_mean, running_var, momentum)
    along_channels = (1, -1) + (1,) * (x.ndim - 2)
    output = (x - mean.reshape(along_channels)) * (var + eps).rsqrt().reshape(along_channels)
    output = output if weight is None else output * weight.reshape(along_channels)
    return output if bias is None else output + bias.reshape(along_channels)


def batch_moments(
    input: Tensor, dims: list[int], mean: Tensor | None, var: Tensor | None, momentum: float
) -> tuple[Tensor, Tensor]:
    """Mean and biased variance of each channel; the running ones follow, the variance unbiased.
    An empty batch has 0 for both, and none follows."""
    count = input.numel() // input.shape[1]
    if count == 1:
        raise ValueError(
            "batch_norm: Expected more than 1 value per channel when training, got input size "
            f"{list(input.shape)}"
        )
    if count == 0:
        return (engine.zeros(input.shape[1], dtype=input.dtype),) * 2
    of_batch = input.mean(dims), input.var(dims, correction=0)
    with engine.no_grad():
        if mean is not None:
            mean += momentum * (of_batch[0] - mean)
        if var is not None:
            var += momentum * (of_batch[1] * (count / (count - 1)) - var)
    return of_batch


def normalize(input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> Tensor:
    """input divided by its p-norm along `dim`, which is taken as at least eps."""
    return input / input.norm(p, dim, keepdim=True).clamp(min=eps)


def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """Classes of shape (*) as rows (*, num_classes) of zeros with a single 1, int64.

    num_classes: by default one more than the largest class.
    Raises RuntimeError for a class outside 0 .. num_classes-1 or none to count from.
    """
    if num_classes == -1:
        if tensor.numel() == 0:
            raise RuntimeError("one_hot: num_classes must be given for an empty tensor")
        num_classes = int(tensor.max().item()) + 1
    check_classes("one_hot", "tensor", tensor, num_classes, RuntimeError)
    return (tensor.contiguous().unsqueeze(-1) == engine.arange(num_classes)).to(engine.int64)


def check_classes(
    name: str,
    argument: str,
    classes: Tensor,
    count: int,
    error: type[Exception] = IndexError,
) -> None:
    """Raises `error` unless all of `classes` are whole numbers from 0 to count-1."""
    if classes.is_floating_point():
        raise RuntimeError(
            f"{name}: {argument} must hold whole numbers (int64); got {classes.dtype}: "
            "write .long()"
        )
    if classes.numel() == 0:
        return
    for extreme in extremes(classes):
        if not 0 <= extreme < count:
            raise error(
                f"{name}: {argument} must hold classes from 0 to {count - 1}; got {extreme}, "
                "which is out of bounds"
            )


# Losses


def mse_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """(input - target)**2, reduced. Warns where the shapes differ: they broadcast."""
    if input.shape != target.shape:
        warn(
            f"mse_loss: input {tuple(input.shape)} and target {tuple(target.shape)} differ in "
            "shape and are broadcast, which is seldom meant; reshape one of them"
        )
    difference = _difference(input, target)
    return _reduce("mse_loss", difference * difference, reduction)


def _difference(input: Tensor, target: Tensor) -> Tensor:
    """input - target, whose bools count as 0 and 1."""
    return input - (target.to(input.dtype) if target.dtype is engine.bool else target)


def l1_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """abs(input - target), reduced; the slope is 0 where they are equal."""
    return _reduce("l1_loss", (input - target).abs(), reduction)


def smooth_l1_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", beta: float = 1.0
) -> Tensor:
    """d**2 / (2 beta) where d = abs(input - target) < beta, else d - beta / 2; reduced."""
    if beta < 0:
        raise RuntimeError(f"smooth_l1_loss: beta must be 0 or more; got {beta}")
    if beta == 0:
        return l1_loss(input, target, reduction)
    check_floating("smooth_l1_loss", input)
    return huber_loss(input, target, reduction, beta) / beta


def huber_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0
) -> Tensor:
    """d**2 / 2 where d = abs(input - target) < delta, else delta (d - delta / 2); reduced."""
    if delta <= 0:
        raise RuntimeError(f"huber_loss: delta must be greater than 0; got {delta}")
    check_floating("huber_loss", input)
    d = _difference(input, target)  # without abs, whose slope at 0 is lost to a second derivative
    near = d.clamp(-delta, delta)  # not a choice of two results: the square's slope is inf at inf
    return _reduce("huber_loss", near * (d - 0.5 * near), reduction)


def kl_div(
    input: Tensor, target: Tensor, reduction: str = "mean", log_target: bool = False
) -> Tensor:
    """target (log target - input), reduced: the divergence of input, logarithms of probabilities,
    from target, probabilities or with log_target their logarithms; 0 where target is 0.

    reduction: "batchmean", the sum over the first dimension's size, is the divergence; "mean"
    averages over all elements, as PyTorch's does.
    """
    check_floating("kl_div", input)
    if log_target:
        losses = target.exp() * (target - input)
    else:
        losses = xlogy(target, target) - target * input
    if reduction == "batchmean":
        return losses.sum() / (len(input) if input.ndim else 1)
    return _reduce("kl_div", losses, reduction)


def xlogy(x: Tensor, y: Tensor) -> Tensor:
    """x log(y), and 0 where x is 0."""
    empty = x == 0
    return engine.where(empty, 0.0 * x, x * engine.where(empty, engine.ones_like(y), y).log())


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """The dot product along `dim` over both lengths, each taken as at least eps: -1 .. 1.

    x1, x2: shapes that broadcast, `dim` counted in what they broadcast to; one at least floating.
    """
    kind = engine.result_type(x1, x2)
    if x1.shape != x2.shape:
        x1, x2 = engine.broadcast_tensors(x1, x2)
    lengths = [x.norm(2, dim, keepdim=True, dtype=kind).clamp(min=eps) for x in (x1, x2)]
    return ((x1 / lengths[0]) * (x2 / lengths[1])).sum(dim)


def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> Tensor:
    """Minus the log-probability of the right class.

    input: log-probabilities, shape (n, k), (k,) or (n, k, ...); target: classes of shape (n,),
        () or (n, ...), whole numbers from 0 to k-1.
    weight: one factor per class; a mean is over the weights.
    ignore_index: rows with this target count for nothing.
    Raises ValueError unless the shapes fit; IndexError for a class out of bounds.
    """
    return _class_loss(NllLoss, "nll_loss", input, target, weight, ignore_index, reduction)


def _class_loss(
    loss: type[Function],
    name: str,
    input: Tensor,
    target: Tensor,
    weight: Tensor | None,
    ignore_index: int,
    reduction: str,
) -> Tensor:
    """The loss of each class given, weighted and reduced; a mean is over the weights."""
    check_floating(name, input)
    _check_targets(name, input, target)
    dim = 0 if input.ndim == 1 else 1
    used = _used(name, input.shape[dim], target, ignore_index)
    losses = loss.apply(input, target, used, dim)
    if weight is None and used is None:
        return _reduce(name, losses, reduction)
    factor = _factors(target, weight, used)
    if weight is not None:
        losses = losses * factor
    if reduction == "mean":
        return losses.sum() / factor.sum()
    return _reduce(name, losses, reduction)


def _used(name: str, count: int, target: Tensor, ignore_index: int) -> Tensor | None:
    """Which targets are not ignored, None where all are used; these are checked."""
    if all_count(target, count, ignore_index):
        return None
    used = target != ignore_index
    check_classes(name, "target", engine.where(used, target, 0), count)
    return used


def _factors(target: Tensor, weight: Tensor | None, used: Any) -> Any:
    """What each target counts: 0 where it is ignored, elsewhere 1 or the weight of its class."""
    if weight is None:
        return used
    return weight[target] if used is None else weight[engine.where(used, target, 0)] * used


def _check_targets(name: str, input: Tensor, target: Tensor) -> None:
    sizes: tuple[int, ...] = input.shape
    needed = sizes[:1] + sizes[2:] if len(sizes) > 1 else ()
    if not sizes or target.shape != needed:
        raise ValueError(
            f"{name}: target must hold one class per row of input; "
            f"got input {tuple(sizes)} and target {tuple(target.shape)}"
        )


def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """Minus the log-probability of the right class, in nats, from scores (logits).

    input: shape (n, k), (k,) or (n, k, ...), any finite numbers.
    target: classes, shape (n,), () or (n, ...), whole numbers from 0 to k-1; or probabilities,
        floating and of the shape of input.
    weight, ignore_index, reduction: as for nll_loss; probabilities take no ignore_index >= 0.
    label_smoothing: that share of each target is spread evenly over the classes.
    Raises ValueError unless the shapes fit, RuntimeError for floating targets of another shape,
    IndexError for a class out of bounds.
    Source: the shifted log-sum-exp of doi:10.1093/imanum/draa038.
    """
    if not 0.0 <= label_smoothing <= 1.0:
        raise RuntimeError(
            f"cross_entropy: label_smoothing must be from 0 to 1; got {label_smoothing}"
        )
    check_floating("cross_entropy", input)
    if target.is_floating_point():
        if ignore_index >= 0:
            raise RuntimeError(
                "cross_entropy: ignore_index is not supported for floating point target: "
                f"probabilities name no class to ignore; got ignore_index={ignore_index}: leave it "
                "out, or give classes (int64)"
            )
        return _soft_cross_entropy(input, target, weight, reduction, label_smoothing)
    options = weight, ignore_index, reduction
    hard = _class_loss(CrossEntropy, "cross_entropy", input, target, *options)
    if label_smoothing == 0.0:
        return hard
    even = _even_loss(input, target, *options)
    return (1.0 - label_smoothing) * hard + label_smoothing * even


def _soft_cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None, reduction: str, smoothing: float
) -> Tensor:
    if input.shape != target.shape:
        raise RuntimeError(
            "cross_entropy: floating targets are probabilities and need the shape of input "
            f"{tuple(input.shape)}; got {tuple(target.shape)}: classes must be int64, write .long()"
        )
    dim = 0 if input.ndim == 1 else 1
    logs = input.log_softmax(dim)
    classes = logs.shape[dim]
    target = target * (1.0 - smoothing) + smoothing / max(classes, 1)
    losses = -(logs * target * _per_class(weight, logs)).sum(dim)
    if not classes and reduction == "mean":
        return losses.sum() / 0.0  # nan, the mean of no numbers, however many rows there are
    return _reduce("cross_entropy", losses, reduction)


def _even_loss(
    input: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int, reduction: str
) -> Tensor:
    """The mean over classes of their (weighted) losses: what label smoothing mixes in."""
    dim = 0 if input.ndim == 1 else 1
    factor = _factors(target, weight, target != ignore_index)
    logs = input.log_softmax(dim)
    losses = -(logs * _per_class(weight, logs)).mean(dim)
    losses = engine.where(target != ignore_index, losses, 0.0)
    if reduction == "mean":
        return losses.sum() / factor.sum()
    return _reduce("cross_entropy", losses, reduction)


def _per_class(weight: Tensor | None, logs: Tensor) -> Any:
    """The weight of each class, shaped to multiply `logs`; 1 without weights."""
    if weight is None:
        return 1.0
    return weight if logs.ndim == 1 else weight.reshape(-1, *[1] * (logs.ndim - 2))


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """Cross-entropy of yes-or-no answers from scores, in nats, without overflow.

    input: any numbers; target: probabilities of yes, same shape.
    weight: a factor for each loss; pos_weight: a factor for its yes part.
    Raises ValueError unless the shapes are equal.
    """
    _check_same("binary_cross_entropy_with_logits", input, target)
    check_floating("binary_cross_entropy_with_logits", input)
    missed = (-input).softplus()
    if pos_weight is not None:
        missed = missed * (1.0 + (pos_weight - 1.0) * target)
    losses = (1.0 - target) * input + missed
    losses = losses if weight is None else losses * weight
    return _reduce("binary_cross_entropy_with_logits", losses, reduction)


class BinaryCrossEntropy(Function):
    """-(t log x + (1 - t) log(1 - x)), each logarithm taken as at least -100."""

    @staticmethod
    def forward(ctx: Any, input: Tensor, target: Tensor) -> Tensor:
        ctx.save_for_backward(input, target)
        yes, no = input.log().clamp(min=-100), (1.0 - input).log().clamp(min=-100)
        return (target - 1.0) * no - target * yes

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor | None, Tensor | None]:
        input, target = ctx.saved_tensors
        rest = (1.0 - input).log().clamp(min=-100) - input.log().clamp(min=-100)
        slope = (input - target) / (input * (1.0 - input)).clamp(min=1e-12)
        return g * slope, g * rest if ctx.needs_input_grad[1] else None


def binary_cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = None, reduction: str = "mean"
) -> Tensor:
    """Cross-entropy of yes-or-no answers from probabilities, in nats.

    input: from 0 to 1; target: probabilities of yes, same shape. Logarithms are taken as at least
    -100, and slopes over at least 1e-12, so that 0 and 1 give finite numbers.
    Raises ValueError unless the shapes are equal, RuntimeError for input outside 0 .. 1.
    """
    _check_same("binary_cross_entropy", input, target)
    if not bool(((input >= 0) & (input <= 1)).all()):
        raise RuntimeError(
            "binary_cross_entropy: all elements of input should be between 0 and 1; for scores "
            "use binary_cross_entropy_with_logits"
        )
    losses = BinaryCrossEntropy.apply(input, target)
    losses = losses if weight is None else losses * weight
    return _reduce("binary_cross_entropy", losses, reduction)


def _check_same(name: str, input: Tensor, target: Tensor) -> None:
    if input.shape != target.shape:
        raise ValueError(
            f"{name}: target must have the shape of input; "
            f"got input {tuple(input.shape)} and target {tuple(target.shape)}"
        )


def _reduce(name: str, losses: Tensor, reduction: str) -> Tensor:
    if reduction == "mean":
        return losses.mean()
    if reduction == "sum":
        return losses.sum()
    if reduction == "none":
        return losses
    raise ValueError(f"{name}: reduction must be 'mean', 'sum' or 'none'; got {reduction!r}")
