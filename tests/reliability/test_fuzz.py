"""Random bytes as files, indices and arrays: an error or the right numbers, never anything else."""

import pytest
from reliability import fuzz

import engine

COMPILED = engine.backend() == "cython"  # else both sides of `kernels` are the same functions
NAMES = [name for name in fuzz.TARGETS if COMPILED or name != "kernels"]


@pytest.mark.parametrize("name", NAMES)
def test_random_bytes_give_an_error_or_the_right_numbers(name, long, figure):
    count = long(300, 100_000)
    fuzz.at_random(fuzz.TARGETS[name], count)
    figure(f"random bytes as {name}", count)


def test_what_is_wrong_ends_a_run(capsys):
    def wrong(data):
        assert len(data) < 100

    with pytest.raises(AssertionError):
        fuzz.at_random(wrong, 1_000)
    assert "wrong(b" in capsys.readouterr().err
