"""grad as torch.autograd has it, with is_grads_batched: many gradients of one graph at once."""

from typing import Any

from engine import differentiation
from engine.attention import warn
from engine.differentiation import as_tuple, differentiated
from engine.ops.join import stack
from engine.tensors import Tensor

ONLY_INPUTS = (
    "only_inputs argument is deprecated and is ignored now (defaults to True); to accumulate "
    "gradients for other parts of the graph use engine.autograd.backward"
)


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Any, ...]:
    """The derivatives of the sum of outputs by each input, as a tuple; no `.grad` changes.

    outputs, inputs: one Value or Tensor, or a sequence. grad_outputs: what each output is
    weighted with; needed for a Tensor of more than one number. create_graph: make the result part
    of the graph, for derivatives of derivatives. An input that the outputs do not depend on is a
    RuntimeError, or None with allow_unused, or zeros with materialize_grads. is_grads_batched:
    grad_outputs have one more dimension, the first, and so have the results: a grad for each item.
    only_inputs: an old option; nothing but True has a meaning.
    """
    if not only_inputs:
        warn(ONLY_INPUTS, FutureWarning)
    if is_grads_batched:
        options = (create_graph, allow_unused, materialize_grads)
        return batched(outputs, inputs, as_tuple(grad_outputs), retain_graph, options)
    return differentiation.grad(
        outputs, inputs, grad_outputs, retain_graph, create_graph, allow_unused, materialize_grads
    )


def batched(
    outputs: Any,
    inputs: Any,
    batches: tuple[Any, ...],
    retain_graph: bool | None,
    options: tuple[Any, ...],
) -> tuple[Any, ...]:
    """grad for each item of batches of gradients, the results in batches too."""
    counts = {len(batch) for batch in batches if batch is not None}
    if len(counts) != 1:
        raise ValueError(
            "grad: is_grads_batched needs grad_outputs whose first dimensions, the batch, are "
            f"equal; got {sorted(counts)}"
        )
    (n,) = counts
    outputs, inputs = differentiated(outputs), differentiated(inputs)
    for i, (x, batch) in enumerate(zip(outputs, batches, strict=False)):
        check_item(i, x, batch)
    kept = bool(options[0] if retain_graph is None else retain_graph)
    rows = [
        differentiation.grad(outputs, inputs, item(batches, k), kept or k < n - 1, *options)
        for k in range(n)
    ]
    return tuple(None if found[0] is None else stack(found) for found in zip(*rows, strict=True))


def check_item(i: int, x: Any, batch: Any) -> None:
    """Refuse a batch whose items have another shape than output i."""
    if batch is not None and isinstance(x, Tensor) and batch.shape[1:] != x.shape:
        raise RuntimeError(
            "grad: If `is_grads_batched=True`, we interpret the first dimension of each "
            f"grad_output as the batch dimension, and the others must be those of the output: "
            f"grad_output[{i}] has a shape of {batch.shape} and output[{i}] has a shape of "
            f"{x.shape}"
        )


def item(batches: tuple[Any, ...], k: int) -> tuple[Any, ...]:
    """The gradients of one item of the batch."""
    return tuple(None if batch is None else batch[k] for batch in batches)
