"""PyTorch's import paths for autograd."""

from engine.autograd import function as function
from engine.autograd import functional as functional
from engine.autograd import introspection as introspection
from engine.autograd.gradcheck import GradcheckError as GradcheckError
from engine.autograd.gradcheck import gradcheck as gradcheck
from engine.autograd.gradcheck import gradgradcheck as gradgradcheck
from engine.differentiation import backward as backward
from engine.differentiation import grad as grad
from engine.function import Function as Function
