"""Layers, losses and initialisers, under PyTorch's names.

`Module` gathers the parameters of a model, `functional` holds the layers as plain functions,
`init` fills tensors with starting numbers, `utils` clips gradients and flattens parameters.
"""

from engine.nn import functional, init, utils
from engine.nn.modules import *  # noqa: F403
from engine.nn.modules import __all__ as _modules
from engine.nn.parameter import Parameter

__all__ = ["Parameter", "functional", "init", "utils", *_modules]
