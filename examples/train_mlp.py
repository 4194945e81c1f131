"""Trains a small net on 1,797 real handwritten digits, and shows what it learned.

    python examples/train_mlp.py             digits, in batches of Tensors
    python examples/train_mlp.py --scalar    two moons, one number at a time, as micrograd does
    python examples/train_mlp.py --help      every option

Needs NumPy; a progress bar by tqdm and pictures by matplotlib come with
`pip install tqdm matplotlib`.
"""

import argparse
import importlib.util
import random
import sys
import time
from pathlib import Path

# In a bare clone, where nothing is installed, the package lies beside this folder.
if importlib.util.find_spec("engine") is None:
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

try:
    import numpy as np
except ModuleNotFoundError:
    sys.exit("train_mlp.py: needs NumPy; install it with: python -m pip install numpy")

import engine
from engine import data, nn, optim, pictures, scalar
from engine.progress import NowAndThen, progress


class ReLU(engine.Function):
    """max(x, 0), with a backward of its own: this is how any operation is added."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * (x > 0)


class Net(nn.Module):
    """Pixels to hidden units, through our ReLU, to one score per class."""

    def __init__(self, pixels, hidden, classes):
        super().__init__()
        self.first = nn.Linear(pixels, hidden)
        self.second = nn.Linear(hidden, classes)

    def forward(self, x):
        return self.second(ReLU.apply(self.first(x.flatten(1))))


# One pass over the training samples, batch after batch in a new order: the gradient of the mean
# loss of each batch moves the parameters once. Returns the mean loss of the pass.
def train_epoch(net, optimizer, images, labels, batch):
    order = engine.randperm(len(images))
    total = 0.0
    for start in range(0, len(images), batch):
        rows = order[start : start + batch]
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(images[rows]), labels[rows])
        loss.backward()
        optimizer.step()
        total += loss.item() * len(rows)
    return total / len(images)


def train_digits(options):
    images, labels, test_images, test_labels = read(options.data)
    net = Net(images[0].numel(), options.hidden, int(labels.max()) + 1)
    print(f"{net}\n{len(images)} training images, {len(test_images)} test images, never trained on")
    optimizer = optim.Adam(net.parameters(), lr=options.rate)

    def draw(losses):
        return [
            pictures.loss_curve(options.out / "loss", losses, "Loss while training"),
            pictures.histograms(options.out / "gradients", gradients(net), GRADIENTS),
        ]

    losses, seconds = run(
        options, lambda: train_epoch(net, optimizer, images, labels, options.batch), draw
    )
    with engine.no_grad():
        guesses = net(test_images).argmax(1)
    accuracy = (guesses == test_labels).float().mean().item()
    report(losses, seconds, f"test accuracy {accuracy:.1%}")
    written = draw(losses)
    sheet = mistakes_first(test_images.numpy(), test_labels.numpy(), guesses.numpy())
    title = f"{accuracy:.1%} of {len(test_images)} test images are right; {len(sheet[0])} of them"
    if sheet[0].ndim == 3:
        written.append(pictures.sheet(options.out / "digits", *sheet, title))
    return written


TITLE = "train_mlp.py"
GRADIENTS = "Gradients by layer: how many (positive up, negative down) have which size"


# A layer whose gradients are far smaller than those of the others learns nothing; a ReLU that never
# fires leaves zeros.
def gradients(net):
    """The gradients of the last step, by the name of the parameter; zeros where a step was
    interrupted before its backward."""
    found = {name: (p, p.grad) for name, p in net.named_parameters()}
    return {n: (engine.zeros_like(p) if g is None else g).numpy() for n, (p, g) in found.items()}


# The digits, or a file of the reader's own, scaled so that the largest pixel is 1; a fifth is
# kept for the test.
def read(path):
    try:
        images, labels = data.digits() if path is None else data.load(path)
        return data.split(images / (images.abs().max().item() or 1.0), labels)
    except ValueError as error:
        raise Unusable(str(error)) from error


# What the net got wrong is the interesting part: at most ten of those, then others.
def mistakes_first(images, labels, guesses, count=50):
    side = round(images[0].size ** 0.5)
    if images.ndim == 2 and side * side == images[0].size:
        images = images.reshape(-1, side, side)
    wrong, right = np.nonzero(guesses != labels)[0], np.nonzero(guesses == labels)[0]
    chosen = np.concatenate([wrong[:10], right])[:count]
    return images[chosen], labels[chosen], guesses[chosen]


# The same idea with nothing but single numbers: every weight is an engine.Value, and every
# multiplication a node of the graph.
def train_scalar(options):
    points, labels = data.moons(100, noise=0.1, seed=options.seed)
    points, labels = points.double().numpy(), labels.numpy()
    samples = list(zip(points.tolist(), labels.tolist(), strict=True))
    net = scalar.MLP(2, [options.hidden, options.hidden, 1])
    print(
        f"2 inputs, two layers of {options.hidden} ReLU neurons, 1 score; "
        f"{len(net.parameters())} parameters, each an engine.Value"
    )
    optimizer = optim.Adam(net.parameters(), lr=options.rate)

    def epoch():
        optimizer.zero_grad()
        loss = scalar_loss(net, samples)
        loss.backward()
        optimizer.step()
        return loss.data

    def draw(losses, cells=20):
        title = f"Two moons: red, blue and the line between, after {len(losses)} epochs"
        scores = score_plane(net, pictures.extent(points), cells)
        return [
            pictures.loss_curve(options.out / "moons_loss", losses, "Loss while training"),
            pictures.histograms(options.out / "moons_gradients", scalar_gradients(net), GRADIENTS),
            pictures.boundary(options.out / "moons", points, labels, scores, title),
        ]

    losses, seconds = run(options, epoch, draw)
    hits = [(net(point).data > 0) == label for point, label in samples]
    report(losses, seconds, f"training accuracy {np.mean(hits):.1%}")
    return draw(losses, cells=40)


def scalar_gradients(net):
    return {
        f"layer {number}": np.array([p.grad for p in layer.parameters()])
        for number, layer in enumerate(net.layers, 1)
    }


# log(1 + e**-margin), the loss of logistic regression: the margin is the score, counted
# positive on the side of the right class.
def scalar_loss(net, samples):
    losses = [(-net(point) if label else net(point)).softplus() for point, label in samples]
    return sum(losses) / len(losses)


def score_plane(net, box, cells):
    left, right, bottom, top = box
    with engine.no_grad():
        return np.array(
            [
                [net([x, y]).data for x in np.linspace(left, right, cells).tolist()]
                for y in np.linspace(bottom, top, cells).tolist()
            ]
        )


# Runs the epochs behind a progress bar, and draws now and then; a page shows the drawings as they
# change. Ctrl-C ends the training early and keeps what was learned.
def run(options, epoch, draw):
    losses, seconds = [], 0.0
    watch = NowAndThen(lambda: pictures.page(options.out / "watch", draw(losses), TITLE, live=True))
    bar = progress(options.epochs, "epoch")
    try:
        for _ in bar:
            start = time.perf_counter()
            losses.append(epoch())
            seconds += time.perf_counter() - start
            if losses[-1] != losses[-1]:
                raise Unusable("the loss became nan; a smaller --rate helps")
            bar.set_postfix_str(f"loss {losses[-1]:.4f}")
            watch()
    except KeyboardInterrupt:
        if not losses:
            raise
        print(f"\nstopped after {len(losses)} of {options.epochs} epochs", file=sys.stderr)
    return losses, seconds


def report(losses, seconds, accuracy):
    print(
        f"loss {losses[0]:.4f} -> {losses[-1]:.4f}, {accuracy}, {len(losses)} epochs in "
        f"{seconds:.1f} s ({engine.backend()} build)"
    )


class Unusable(Exception):
    """What the reader asked for cannot be done; the text says why, in one line."""


class Parser(argparse.ArgumentParser):
    def error(self, message):
        raise Unusable(message)


def size(text):
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"must be a whole number above 0; got {text}")
    return int(text)


def rate(text):
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"must be a number above 0; got {text}")
    return number


def parsed(arguments):
    parser = Parser(
        description="Train a small net on handwritten digits (or, with --scalar, on two moons), "
        "print loss and accuracy, and write pictures.",
    )
    add = parser.add_argument
    add(
        "--scalar",
        action="store_true",
        help="train a net of single numbers (engine.Value) on two moons and draw its boundary",
    )
    add(
        "--data",
        type=Path,
        metavar="FILE",
        help="your own images instead of the digits: .npz with arrays 'images' and 'labels', or "
        ".csv with a line per image and the label last",
    )
    add(
        "--epochs",
        type=size,
        metavar="N",
        help="passes over the training data (default: 60; 50 with --scalar)",
    )
    add(
        "--batch",
        type=size,
        default=32,
        metavar="N",
        help="images per step (default: 32; two moons are always taken whole)",
    )
    add(
        "--hidden",
        type=size,
        metavar="N",
        help="neurons in a hidden layer (default: 64; 16 with --scalar)",
    )
    add(
        "--rate",
        type=rate,
        metavar="X",
        help="learning rate of Adam (default: 0.005; 0.05 with --scalar)",
    )
    add(
        "--seed",
        type=int,
        default=0,
        metavar="N",
        help="start of all random numbers; the same seed gives the same run (default: 0)",
    )
    add(
        "--out",
        type=Path,
        default=Path("train_mlp"),
        metavar="FOLDER",
        help="where pictures are written (default: ./train_mlp)",
    )
    options = parser.parse_args(arguments)
    if options.scalar and options.data:
        parser.error("--scalar makes its own points; leave out --data")
    if not 0 <= options.seed < 2**32:
        parser.error(f"argument --seed: must be from 0 to 2**32 - 1; got {options.seed}")
    options.epochs = options.epochs or (50 if options.scalar else 60)
    options.hidden = options.hidden or (16 if options.scalar else 64)
    options.rate = options.rate or (0.05 if options.scalar else 0.005)
    return options


def train(arguments):
    options = parsed(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    engine.manual_seed(options.seed)
    random.seed(options.seed)
    print(f"engine, {engine.backend()} build")
    page = pictures.page(options.out / "watch", [], TITLE, live=True)
    print(f"to watch it learn, open {page} in a browser")
    written = []
    try:
        written = train_scalar(options) if options.scalar else train_digits(options)
    finally:
        pictures.page(options.out / "watch", written, TITLE, live=False)
    for path in written:
        print(f"wrote {path}")
    missing = [name for name in ("tqdm", "matplotlib") if importlib.util.find_spec(name) is None]
    if missing:
        print(f"for a finer progress bar and pictures: pip install {' '.join(missing)}")
    print(
        "to try next: "
        + (
            "leave out --scalar, for digits in batches; or --hidden 4; or --help"
            if options.scalar
            else "--hidden 8, or --scalar, or --help"
        )
    )


def main(arguments=None):
    try:
        train(arguments)
    except (OSError, MemoryError, Unusable) as error:
        reason = str(error) or "not enough memory; try a smaller --hidden or --batch"
        print(f"train_mlp.py: {reason}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\ntrain_mlp.py: stopped before the first epoch was over", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
