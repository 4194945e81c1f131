"""Every operation that is not elementwise, by family: a class, its public function under it."""

from engine.ops import blends as blends
from engine.ops import elementwise as elementwise
from engine.ops import index as index
from engine.ops import join as join
from engine.ops import linear as linear
from engine.ops import logic as logic
from engine.ops import losses as losses
from engine.ops import order as order
from engine.ops import probabilities as probabilities
from engine.ops import reduce as reduce
from engine.ops import scalars as scalars
from engine.ops import scans as scans
from engine.ops import shape as shape
from engine.ops import stepwise as stepwise
