"""What a report says about each mistake of a scalar class: the fact, then what to write."""

from engine.testing.value_class_mistakes import Mistake, Walk

ORDINAL = ("the first operand", "the second operand")

FACTS = {
    "assigned": "gradients are assigned instead of added, so that a Value which is used twice "
    "keeps only one part; write `+=` where a gradient is handed over: `self.grad += ...`",
    "incoming": "the incoming gradient is forgotten: only the slope is handed on, which is right "
    "for the last operation alone; multiply it by `out.grad`",
    "repeated": "a Value that stands twice in one operation gets only one of its two gradients; "
    "keep the parents in a list, not in a dict, and add each part",
    "parents": "the result does not keep {operand} as a parent, so that backward goes no further "
    "there",
    "sign": "the gradient of {operand} has the wrong sign",
    "cut": "{operand} gets no gradient: the result does not keep it as a parent, or its backward "
    "leaves it out",
    "swapped": "the gradients of the two operands are exchanged",
    "twice": "the gradient of {operand} is 2 times too large",
    "half": "the gradient of {operand} is half of the right one",
    "slope left out": "{operand} gets the incoming gradient as it is: multiply it by the slope",
    "from operand": "the formula of the slope is one of the result, and the operand stands in it; "
    "put `out.data` where `self.data` is",
    "at result": "the slope is taken at the result; put `self.data` where `out.data` is",
    "factor of power": "the exponent is missing in front: the slope is n * a**(n - 1)",
    "exponent of power": "the exponent is not lowered by one: the slope is n * a**(n - 1)",
    "root": "backward does not start with 1: set `self.grad = 1.0` before the gradients are "
    "handed on",
    "stops": "only the parents of the result get a gradient: backward goes no further, or goes "
    "through the sorted list from the inputs on; start at the result: `reversed(order)`",
    "equality": "two Values with equal numbers are taken for one, and one of them hands on "
    "nothing; `__eq__` and `__hash__` must go by identity (leave both out), or keep `id(v)`",
    "order": "no topological order: in a diamond a Value hands its gradient on before all of it "
    "has arrived; sort the nodes, each before its parents, and visit each once",
    "each path": "no topological order: a Value that is reached on several paths hands its "
    "gradient on once for each; sort the nodes, each before its parents, and visit each once",
    "inner": "backward called twice on one graph adds up the gradients of the inner Values, and "
    "hands the sum on; set them to 0 when backward starts, and let only inputs accumulate",
    "reset": "backward called twice gives the gradients of the inputs afresh instead of adding "
    "to them: those of several losses, or of a batch, are lost",
}

# Where no mistake in the table gives the same numbers.
UNEXPLAINED = {
    "slope": "gives a wrong gradient, in a way that no usual mistake explains",
    "order": "each of these operations alone is right, and a Value is used twice: look at the "
    "order in which backward visits the nodes, and at how it adds up what they hand on",
    "incoming": "each of these operations alone is right: look at what is done with `out.grad`",
}


def kind_of(mistake: Mistake) -> str:
    """The kind that a finding carries: that of the mistake, or "slope" for a wrong formula."""
    kinds = ("assigned", "incoming", "sign", "repeated", "cut", "root", "equality", "inner")
    if mistake.kind in ("order", "stops"):
        return "order"
    return mistake.kind if mistake.kind in (*kinds, "parents", "reset") else "slope"


def fact(mistake: Mistake) -> str:
    """The sentence on a mistake."""
    name = mistake.kind
    if isinstance(mistake.walk, Walk) and mistake.walk.mark in ("never", "list"):
        name = "each path"
    operand = "the operand" if mistake.operand is None else ORDINAL[mistake.operand]
    return FACTS[name].format(operand=operand)
