"""Pictures of graphs: `draw` makes one, for a notebook, a file or a terminal; `explore` a page that
steps through the forward and the backward pass."""

from engine.visualize.drawing import Drawing as Drawing, draw as draw
from engine.visualize.exploring import explore as explore
