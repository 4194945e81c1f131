# The functions of engine/interpreter.py, from CPython's C interface.

cdef extern from "Python.h":
    bint is_tracked "PyObject_GC_IsTracked"(object x)
    void track "engine_track"(object x)
    void untrack "PyObject_GC_UnTrack"(object x)
    int check_signals "PyErr_CheckSignals"() except -1
    int set_attribute "PyObject_GenericSetAttr"(object x, object name, object value) except -1

cdef extern from *:
    """
    static inline PyObject *engine_row(Py_ssize_t n) {
        PyObject *row = PyBytes_FromStringAndSize(NULL, n * (Py_ssize_t)sizeof(double));
        if (row) memset(PyBytes_AS_STRING(row), 0, n * sizeof(double));
        return row;
    }
    #define engine_length(row) (PyBytes_GET_SIZE(row) / (Py_ssize_t)sizeof(double))
    #define engine_doubles(row) ((double *)PyBytes_AS_STRING(row))
    static inline void engine_track(PyObject *x) {
        if (!PyObject_GC_IsTracked(x)) PyObject_GC_Track(x);
    }
    """
    object row "engine_row"(Py_ssize_t n)
    double *doubles "engine_doubles"(object row)
    Py_ssize_t length "engine_length"(object row)
