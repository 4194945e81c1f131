"""Random combinations of all that is varied, drawn and made small by hypothesis."""

from collections.abc import Callable
from functools import partial
from typing import Any

from engine.testing.cases import Case
from engine.testing.investigate import KINK_STYLES
from engine.testing.plan import LAYOUTS, NUMBERS
from engine.testing.trial import Subject

STYLES = ("ordinary", "ordinary", "ordinary", "example", *KINK_STYLES, *NUMBERS)


def cases(subject: Subject, outputs: int) -> Any:
    """A strategy for cases: sizes, layouts, subsets, upstream gradients and numbers at once.

    outputs: how many outputs of forward carry a gradient.
    """
    from hypothesis import strategies as st

    count = len(subject.pattern.slots)
    largest = 3 if len(subject.small) > 4 else 5
    chosen = [st.integers(0 if n > 1 else 1, largest) for n in subject.small]
    needs = [st.booleans() if need else st.just(False) for need in subject.pattern.needs]
    upstreams = ["random", "expanded", "transposed", *[f"only {k}" for k in range(outputs)]]
    return st.builds(
        partial(_case, subject),
        sizes=st.tuples(*chosen),
        needs=st.tuples(*needs).filter(any),
        seed=st.integers(0, 10**6),
        values=st.sampled_from(STYLES),
        layouts=st.one_of(
            st.just(()), st.tuples(*[st.sampled_from(("plain", *LAYOUTS))] * count)
        ),
        upstream=st.sampled_from(upstreams if outputs > 1 else upstreams[:3]),
        dtype=st.just(subject.dtype),
    )


def _case(subject: Subject, sizes: tuple[int, ...], values: str, **fields: Any) -> Case:
    """A case of given sizes; of small ones where every entry is looked at alone."""
    sizes = tuple(min(n, 2) for n in sizes) if values in KINK_STYLES else sizes
    return Case(subject.pattern.shapes(sizes), values=values, **fields)


def search(
    subject: Subject, outputs: int, fails: Callable[[Case], bool], examples: int, seed: int
) -> Case | None:
    """The smallest failing case among so many random ones; None when none fails."""
    import hypothesis
    from hypothesis.errors import HypothesisException, NoSuchExample

    settings = hypothesis.settings(
        max_examples=examples,
        database=None,
        deadline=None,
        suppress_health_check=list(hypothesis.HealthCheck),
        phases=(hypothesis.Phase.generate, hypothesis.Phase.shrink),
    )
    from random import Random

    try:
        found = hypothesis.find(
            cases(subject, outputs), fails, settings=settings, random=Random(seed)
        )
    except (NoSuchExample, HypothesisException):
        return None
    return found if isinstance(found, Case) else None


def missing() -> str:
    """A note when hypothesis is not there; "" when it is."""
    try:
        import hypothesis  # noqa: F401
    except ImportError:
        return "random combinations were left out: `pip install hypothesis` adds them."
    return ""
