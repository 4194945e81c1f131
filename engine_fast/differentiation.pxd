# engine/differentiation.py is compiled as it stands.
