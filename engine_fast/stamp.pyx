"""What this build was made from. `engine/builds.py` compares it with the sources at import."""

cdef extern from *:
    """
    #ifndef ENGINE_DIGEST
    #error "ENGINE_DIGEST is set by setup.py, which builds every module of engine_fast"
    #endif
    """
    const unsigned int ENGINE_DIGEST
    const unsigned int CYTHON_HEX_VERSION

digest = ENGINE_DIGEST
cython_version = ".".join(str(CYTHON_HEX_VERSION >> shift & 255) for shift in (24, 16, 8))
