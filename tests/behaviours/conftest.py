"""Every test starts from the same random numbers."""

import pytest

import engine as torch


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(20)
