"""The compiled build: modules of `engine`, given C types by the .pxd files beside this one.

`engine/builds.py` decides whether they are used; import `engine`, never this package.
"""
