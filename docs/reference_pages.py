"""Writes the pages of the reference: one a module, every public name with its docstring.

conf.py calls `write` at the start of a build, and `missing` at its end.
"""

import inspect
import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

# The modules in reading order. Names: those given; else the module's __all__; else all of its own.
MODULES: dict[str, str] = {
    "engine": "",
    "engine.autograd": "",
    "engine.autograd.function": "BackwardCFunction Function FunctionCtx InplaceFunction "
    "once_differentiable",
    "engine.autograd.functional": "vjp jvp jacobian hessian vhp hvp",
    "engine.autograd.forward_ad": "dual_level make_dual unpack_dual UnpackedDualTensor "
    "enter_dual_level exit_dual_level",
    "engine.autograd.graph": "Node GradientEdge get_gradient_edge increment_version "
    "register_multi_grad_hook saved_tensors_hooks save_on_cpu disable_saved_tensors_hooks "
    "allow_mutation_on_saved_tensors",
    "engine.func": "grad grad_and_value vjp jvp jacrev jacfwd hessian",
    "engine.nn": "",
    "engine.nn.functional": "binary_cross_entropy binary_cross_entropy_with_logits cross_entropy "
    "dropout embedding gelu layer_norm leaky_relu linear log_softmax mse_loss nll_loss normalize "
    "one_hot relu sigmoid softmax softplus tanh",
    "engine.nn.init": "calculate_gain constant_ kaiming_normal_ kaiming_uniform_ normal_ ones_ "
    "uniform_ xavier_normal_ xavier_uniform_ zeros_",
    "engine.nn.utils": "clip_grad_norm_ clip_grad_value_ parameters_to_vector vector_to_parameters",
    "engine.optim": "",
    "engine.optim.lr_scheduler": "LRScheduler LambdaLR StepLR ExponentialLR CosineAnnealingLR",
    "engine.utils.checkpoint": "checkpoint checkpoint_sequential set_checkpoint_early_stop "
    "set_checkpoint_debug_enabled",
    "engine.scalar": "Module Neuron Layer MLP",
    "engine.data": "",
    "engine.testing": "",
    "engine.visualize": "",
}
ELEMENTWISE = "Elementwise operations"
OTHER = "Dtypes and other names"


def public(module: str) -> list[str]:
    """The public names of a module, submodules left out."""
    there = import_module(module)
    names = MODULES[module].split() or getattr(there, "__all__", dir(there))
    return [name for name in names if not name.startswith("_") and is_ours(getattr(there, name))]


def is_ours(found: Any) -> bool:
    """Whether an object is described on a page: no module, nothing of the standard library's."""
    home = getattr(found, "__module__", "engine") or "engine"
    return not inspect.ismodule(found) and home.split(".")[0] in ("engine", "engine_fast")


def write(folder: Path) -> None:
    """Writes `index.rst` and a page for each module into the folder, which holds nothing else."""
    folder.mkdir(exist_ok=True)
    for old in folder.glob("*.rst"):
        old.unlink()
    for module in MODULES:
        text = "\n".join(page(module)) + "\n"
        (folder / f"{module}.rst").write_text(text, encoding="utf-8")
    pages = [f"   {module}" for module in MODULES]
    intro = "Made from the docstrings of the source, every public name of each module."
    contents = [*title("Reference", "="), intro, "", ".. toctree::", "", *pages]
    (folder / "index.rst").write_text("\n".join(contents) + "\n", encoding="utf-8")


def page(module: str) -> Iterator[str]:
    """The lines of a module's page, in sections by the modules where the names are defined."""
    yield from title(module, "=")
    yield f".. automodule:: {module}"
    yield "   :no-members:"
    yield ""
    yield f".. py:currentmodule:: {module}"
    yield ""
    sections: dict[str, list[str]] = {}
    for name in public(module):
        sections.setdefault(section(module, name), []).append(name)
    for heading in sorted(sections, key=lambda s: (s == OTHER, s == ELEMENTWISE, s)):
        if len(sections) > 1:
            yield from title(heading, "-")
        for name in sorted(sections[heading], key=str.lower):
            yield from entry(module, name)


def title(text: str, line: str) -> list[str]:
    return [text, line * len(text), ""]


def section(module: str, name: str) -> str:
    """Where a name stands on the page of `engine`; the other pages have one section."""
    found = getattr(import_module(module), name)
    if module != "engine":
        return ""
    if type(found).__name__ == "Rule":
        return ELEMENTWISE
    if name in ("Value", "Tensor", "Function"):
        return "Classes"
    if not callable(found) or type(found).__name__ == "TensorType":
        return OTHER
    text = inspect.getdoc(import_module(found.__module__)) or found.__module__
    return text.partition("\n")[0].partition(": ")[0].rstrip(".").replace("`", "")


def entry(module: str, name: str) -> Iterator[str]:
    """The directive that documents a name."""
    found = getattr(import_module(module), name)
    first = first_name(found)
    if first != f"{module}.{name}":
        kind = "class" if inspect.isclass(found) else "function" if callable(found) else "data"
        yield from (f".. py:{kind}:: {name}", "", f"   The same as :py:obj:`{first}`.", "")
    elif type(found).__name__ == "Rule":
        yield from described(f".. py:function:: {name}({', '.join(found.operands)})", found)
    elif inspect.isclass(found):
        yield f".. autoclass:: {module}.{name}"
        yield from ("   :members:", "   :undoc-members:", "")
    elif inspect.isroutine(found):
        yield f".. autofunction:: {module}.{name}"
        yield ""
    elif callable(found):
        yield from described(f".. py:function:: {name}(*sizes)", found)
    else:
        yield from described(f".. py:data:: {name}", found)


@cache
def first_name(found: Any) -> str:
    """The public name under which an object is described: its own, or else the first."""
    names = [
        f"{module}.{name}"
        for module in MODULES
        for name in public(module)
        if getattr(import_module(module), name) is found
    ]
    own = getattr(found, "name", getattr(found, "__name__", str(found).rpartition(".")[2]))
    return next((name for name in names if name.endswith(f".{own}")), names[0])


def described(directive: str, found: Any) -> Iterator[str]:
    yield directive
    yield ""
    lines = (inspect.getdoc(found) or "").splitlines()
    yield from (f"   {line}".rstrip() for line in restructured(lines))
    yield ""


# Docstrings here are plain text: Sphinx wants reStructuredText.


def restructured(lines: list[str]) -> list[str]:
    """Lines of a docstring: names of arguments become a list, code stays code, `x` is code."""
    out: list[str] = []
    for block in re.split(r"\n\s*\n", "\n".join(lines).strip("\n")):
        rows = block.splitlines()
        if rows and rows[0].startswith(">>> "):
            out += rows
        elif rows and all(row.startswith("    ") for row in rows):
            goes_on = len(out) > 1 and out[-2].startswith("    ")
            out += rows if goes_on else ["::", "", *rows]
        else:
            out += paragraph(rows) if out else [escaped(" ".join(rows))]
        out.append("")
    return out


ARGUMENT = re.compile(r"((?:\*{0,2}\w+(?:, )?)+): (.*)")


def paragraph(rows: list[str]) -> list[str]:
    """A paragraph, in which lines such as `shape: whole numbers` are items of a list."""
    items: list[tuple[str, str]] = []  # the name of an argument or "", and the text
    for row in rows:
        argument = ARGUMENT.fullmatch(row)
        if argument and not row[0].isupper():
            items.append((argument[1], argument[2]))
        elif items and (row.startswith("    ") == bool(items[-1][0]) or items[-1][1][-1:] != "."):
            items[-1] = items[-1][0], f"{items[-1][1]} {row.strip()}"
        else:
            items.append(("", row.strip()))
    lines = (f"* **{escaped(name)}**: " * bool(name) + escaped(text) for name, text in items)
    return "\n\n".join(lines).split("\n")


def escaped(text: str) -> str:
    """Text with `code` as ``code`` and nothing else that reStructuredText would read as markup."""
    parts = re.split(r"`([^`]+)`", text)
    markup = re.compile(r"([\\*`|_])")
    return "".join(
        f"``{part}``" if i % 2 else markup.sub(r"\\\1", part) for i, part in enumerate(parts)
    )


def missing(documented: set[str]) -> list[str]:
    """The public names that are not among the documented ones."""
    wanted = (f"{module}.{name}" for module in MODULES for name in public(module))
    return [name for name in wanted if name not in documented]
