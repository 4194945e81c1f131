"""Records how torch prints tensors in printing.json: `python -m reference.make_printing` in tests.

Each case is an expression of `torch` and of `wave`, under the options of printing given for it.
"""

import json
import re
from pathlib import Path

from reference.expressions import wave

PLAIN = (
    """
tensor(1.0)|tensor(3)|tensor(True)|tensor(1.5)|tensor(-0.0)|tensor([1.0, 2.0])|tensor([1.0, 2.5])
tensor([1e-5, 1.0])|tensor([1e9, 1.0])|tensor([1e4, 1.0])|tensor([1.0, 1000.0])
tensor([1.0, 1001.0])|tensor([0.1, 100.0])|tensor([0.1, 101.0])|tensor([1e-4, 1e-2])
tensor([9e-5])|tensor(1e-10)|tensor([1e-10, 0.0])|tensor([12345678.0, 1.0])
tensor([123456789.0, 1.0])|tensor(1e20)|tensor(2**40)|tensor([-1.0, -2.0])|tensor([-1.5, 2.0])
tensor([nan, 1.0])|tensor([inf, 1.5, -2.0])|tensor([inf])|tensor([0.5, nan, -inf])
tensor([nan, nan])|tensor([0.0, 0.0])|tensor([True, False])|tensor([1, -200])|tensor([])
tensor([[]])|zeros(0, 3, dtype=torch.int64)|zeros(2, 0, dtype=torch.float64)
zeros(0, dtype=torch.float64)|tensor([1.0, 2.0], dtype=torch.float64)
tensor([1, 2], dtype=torch.int8)|tensor([0.1, 2.0], dtype=torch.float16)
tensor([3], dtype=torch.uint8)|ones(2, requires_grad=True)|ones(2, 3, requires_grad=True) * 2.0
zeros(3, dtype=torch.float64, requires_grad=True).exp()|tensor(wave(40))
tensor(wave(120)).reshape(3, 40)|tensor(wave(24)).reshape(2, 3, 4)
tensor(wave(56)).reshape(7, 2, 2, 2)|tensor(wave(2000))|tensor(wave(2500)).reshape(50, 50)
tensor(wave(1320)).reshape(10, 11, 12)|arange(1001)|arange(150).reshape(5, 30)|arange(7, -9, -3)
tensor(wave(18), requires_grad=True).reshape(3, 6).tanh()|tensor(wave(6)).reshape(2, 3).t()
""".replace("\n", "|")
    .strip("|")
    .split("|")
)
CASES = [
    *(({}, text) for text in PLAIN),
    ({"precision": 2}, "tensor([1.2345, 2.0])"),
    ({"precision": 8}, "tensor([0.1, 2.0])"),
    ({"threshold": 5}, "tensor(wave(24)).reshape(3, 8)"),
    ({"threshold": 5, "edgeitems": 1}, "tensor(wave(24)).reshape(3, 8)"),
    ({"linewidth": 40}, "tensor(wave(24)).reshape(3, 8)"),
    ({"profile": "short"}, "tensor(wave(2500)).reshape(50, 50)"),
    ({"profile": "full"}, "tensor(wave(1100)).reshape(11, 100)"),
    ({"sci_mode": True}, "tensor([1.5, 2.0, 30.0])"),
    ({"sci_mode": True}, "tensor([1.0, 2.0])"),
    ({"sci_mode": False}, "tensor([1e-10, 1.5e9])"),
]


def printed(torch, options, text):
    """What repr gives, without the name of the package."""
    torch.set_printoptions(profile="default")
    torch.set_printoptions(**options)
    names = {"torch": torch, "wave": wave, "nan": float("nan"), "inf": float("inf")}
    try:
        shown = repr(eval(f"torch.{text}", names))
        return re.sub(r"dtype=\w+\.", "dtype=", shown)
    finally:
        torch.set_printoptions(profile="default")


if __name__ == "__main__":
    import torch

    texts = [json.dumps(printed(torch, *case)) for case in CASES]
    body = f'{{"torch": "{torch.__version__}", "texts": [\n' + ",\n".join(texts) + "\n]}\n"
    Path(__file__).with_name("printing.json").write_text(body)
