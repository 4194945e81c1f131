"""Every operation that is not elementwise, by family: a class, its public function under it."""

from engine import builds

builds.take_places("engine.ops", builds.OPS)
for _name in builds.OPS:
    builds.stand_here(f"engine.ops.{_name}")

from engine.ops import (
    blends as blends,
    collect as collect,
    elementwise as elementwise,
    in_place as in_place,
    index as index,
    join as join,
    linear as linear,
    logic as logic,
    losses as losses,
    normalization as normalization,
    order as order,
    piecewise as piecewise,
    probabilities as probabilities,
    reduce as reduce,
    scalars as scalars,
    scans as scans,
    search as search,
    shape as shape,
    stepwise as stepwise,
    turning as turning,
    unique as unique,
)
