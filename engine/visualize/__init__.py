"""Pictures of graphs: `draw` makes one, for a notebook, a file or a terminal."""

from engine.visualize.drawing import Drawing as Drawing, draw as draw
