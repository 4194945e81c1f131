# The functions of engine/interpreter.py, from CPython's C interface.

cdef extern from "Python.h":
    bint is_tracked "PyObject_GC_IsTracked"(object x)
    void track "engine_track"(object x)
    void untrack "PyObject_GC_UnTrack"(object x)
    int check_signals "PyErr_CheckSignals"() except -1
    int set_attribute "PyObject_GenericSetAttr"(object x, object name, object value) except -1

cdef extern from *:
    """
    static inline void engine_track(PyObject *x) {
        if (!PyObject_GC_IsTracked(x)) PyObject_GC_Track(x);
    }
    """
