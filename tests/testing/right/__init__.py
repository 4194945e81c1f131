"""Functions without a mistake."""
