"""Tools around training, under torch.utils' names."""

from engine.utils import checkpoint as checkpoint
