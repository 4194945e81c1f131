"""Writes autograd.json: the public names of torch.autograd, and of its function and graph modules,
as torch 2.13 has them. Run it where torch is installed; the tests read only what it wrote."""

import importlib
import inspect
import json
from pathlib import Path

import torch

MODULES = ("torch.autograd", "torch.autograd.function", "torch.autograd.graph")


def parameters(x):
    """The names of a function's parameters in order."""
    return list(inspect.signature(x).parameters) if inspect.isfunction(x) else None


def members(x):
    """What a class has beyond any object."""
    return sorted(name for name in set(dir(x)) - set(dir(object)) if not name.startswith("_"))


def described(x):
    """Whether a name is autograd's own, and what it takes."""
    home = x.__name__ if inspect.ismodule(x) else getattr(x, "__module__", None) or ""
    own = home.startswith(("torch.autograd", "torch._C._autograd"))
    return {"own": own, "parameters": parameters(x)}


names = {
    module: {
        name: described(x)
        for name, x in sorted(vars(importlib.import_module(module)).items())
        if not name.startswith("_")
    }
    for module in MODULES
}
classes = {"Function": torch.autograd.Function, "Node": torch.autograd.graph.Node}
record = {
    "torch": torch.__version__,
    "names": names,
    "members": {name: members(x) for name, x in classes.items()},
}
path = Path(__file__).with_name("autograd.json")
path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
