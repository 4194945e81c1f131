"""PyTorch's import paths for autograd."""

from engine.autograd import anomaly_mode as anomaly_mode
from engine.autograd import forward_ad as forward_ad
from engine.autograd import function as function
from engine.autograd import functional as functional
from engine.autograd import graph as graph
from engine.autograd import introspection as introspection
from engine.autograd.anomaly_mode import detect_anomaly as detect_anomaly
from engine.autograd.anomaly_mode import set_detect_anomaly as set_detect_anomaly
from engine.autograd.batches import grad as grad
from engine.autograd.gradcheck import GradcheckError as GradcheckError
from engine.autograd.gradcheck import gradcheck as gradcheck
from engine.autograd.gradcheck import gradgradcheck as gradgradcheck
from engine.autograd.variable import Variable as Variable
from engine.differentiation import backward as backward
from engine.function import Function as Function
from engine.grad_mode import enable_grad as enable_grad
from engine.grad_mode import no_grad as no_grad
from engine.grad_mode import set_grad_enabled as set_grad_enabled
