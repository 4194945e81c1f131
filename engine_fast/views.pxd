# engine/views.py is compiled as it stands.
