"""How often the checker of scalar classes is right: `python tests/testing/values/rates.py`.

Runs it on every wrong class once, on every right one once as a whole and then, with as many seeds
as given (1,000), what depends on the seed: the random programs. Prints a table and stores it
beside this file in rates.json.
"""

import json
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parents[2])]

from test_value_classes import RIGHT, WRONG, class_of, load  # noqa: E402

from engine.testing.value_class import check_value_class  # noqa: E402
from engine.testing.value_class_programs import random_program  # noqa: E402
from engine.testing.value_class_search import Search  # noqa: E402
from engine.testing.value_class_subject import Subject, discover  # noqa: E402


def explained(name):
    """Whether a wrong class gets the finding that it should, and how many it gets."""
    module = load("wrong", name)
    findings = check_value_class(class_of(module)).findings
    kind, argument, words = module.EXPECTED
    hit = [f for f in findings if (f.kind, f.argument) == (kind, argument) and words in f.message]
    return {"explained": bool(hit), "findings": len(findings)}


def alarms(name, runs):
    """How many runs on a right class end with a finding."""
    cls = class_of(load("right", name))
    subject = Subject(cls)
    forms, _ = discover(subject)
    wrong = sum(any(random_findings(Search(subject, forms, seed))) for seed in range(runs))
    return {"runs": runs + 1, "alarms": wrong + (not check_value_class(cls))}


def random_findings(search):
    """The findings of fifty random programs of two to six operations."""
    for i in range(50):
        yield from search.judge(random_program(search.random, search.forms, 2 + i % 5))


if __name__ == "__main__":
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    rates = {
        "wrong": {name: explained(name) for name in WRONG},
        "right": {name: alarms(name, runs) for name in RIGHT},
    }
    for folder, rows in rates.items():
        for name, row in rows.items():
            print(f"{folder:6} {name:32}", *(f"{key} {value}" for key, value in row.items()))
    HERE.joinpath("rates.json").write_text(json.dumps(rates, indent=1) + "\n")
