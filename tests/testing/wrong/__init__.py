"""Functions with one mistake each, seen in public and written anew."""
