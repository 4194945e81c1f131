# The functions of engine/interpreter.py, from CPython's C interface.

cdef extern from "Python.h":
    void untrack "PyObject_GC_UnTrack"(object x)
    object identity "PyLong_FromVoidPtr"(object x)
    int check_signals "PyErr_CheckSignals"() except -1
    object set_variable "PyContextVar_Set"(object var, object x)
    int reset_variable "PyContextVar_Reset"(object var, object before) except -1
    int set_attribute "PyObject_GenericSetAttr"(object x, object name, object value) except -1

cdef extern from *:
    """
    static inline PyObject *engine_row(Py_ssize_t n) {
        PyObject *row = PyBytes_FromStringAndSize(NULL, n * (Py_ssize_t)sizeof(double));
        if (row) memset(PyBytes_AS_STRING(row), 0, n * sizeof(double));
        return row;
    }
    static inline PyObject *engine_int_row(Py_ssize_t n) {
        PyObject *row = PyBytes_FromStringAndSize(NULL, n * (Py_ssize_t)sizeof(int));
        if (row) memset(PyBytes_AS_STRING(row), 0, n * sizeof(int));
        return row;
    }
    static inline int engine_same_bits(double a, double b) {
        return memcmp(&a, &b, sizeof(double)) == 0 || (a != a && b != b);
    }
    static inline int engine_delete_attribute(PyObject *x, PyObject *name) {
        int done = PyObject_GenericSetAttr(x, name, NULL);
        if (done < 0 && PyErr_ExceptionMatches(PyExc_NotImplementedError))
            PyErr_Format(PyExc_AttributeError, "attribute %R cannot be deleted", name);
        return done;
    }
    static inline int engine_look_for_signals(void) {
        static int calls = 0;
        if (++calls < 100000) return 0;
        calls = 0;
        return PyErr_CheckSignals();
    }
    static inline PyObject *engine_places(Py_ssize_t n) {
        PyObject *places = PyTuple_New(n);
        for (Py_ssize_t i = 0; places && i < n; i++) {
            Py_INCREF(Py_None);
            PyTuple_SET_ITEM(places, i, Py_None);
        }
        return places;
    }
    static inline void engine_put(PyObject *places, Py_ssize_t i, PyObject *x) {
        PyObject *before = PyTuple_GET_ITEM(places, i);
        Py_INCREF(x);
        PyTuple_SET_ITEM(places, i, x);
        Py_DECREF(before);
    }
    /* The collector may have come by while there was nothing in it, and looks no more. */
    static inline PyObject *engine_filled(PyObject *places) {
        if (PyTuple_GET_SIZE(places) && !PyObject_GC_IsTracked(places)) PyObject_GC_Track(places);
        Py_INCREF(places);
        return places;
    }
    static inline PyObject *engine_create(PyObject *cls) {
        PyTypeObject *type = (PyTypeObject *)cls;
        PyObject *none = PyTuple_New(0), *x = none ? type->tp_new(type, none, NULL) : NULL;
        if (x && type->tp_init && type->tp_init(x, none, NULL) < 0) Py_CLEAR(x);
        Py_XDECREF(none);
        return x;
    }
    static inline PyObject *engine_variable(PyObject *var) {
        PyObject *x = NULL;
        if (PyContextVar_Get(var, NULL, &x) == 0 && !x) PyErr_SetObject(PyExc_LookupError, var);
        return x;
    }
    static inline PyObject *engine_cut(PyObject *xs, Py_ssize_t n) {
        Py_ssize_t left = PyList_GET_SIZE(xs) < n ? 0 : PyList_GET_SIZE(xs) - n;
        PyObject *end;
        n = PyList_GET_SIZE(xs) - left;
        if (!(end = PyList_New(n))) return NULL;
        memcpy(((PyListObject *)end)->ob_item, ((PyListObject *)xs)->ob_item + left,
               n * sizeof(PyObject *));
        Py_SET_SIZE(xs, left);
        return end;
    }
    #define engine_ints(row) ((int *)PyBytes_AS_STRING(row))
    #define engine_doubles(row) ((double *)PyBytes_AS_STRING(row))
    static inline int engine_same_items(PyObject *xs, PyObject *ys) {
        Py_ssize_t n = PyList_GET_SIZE(xs);
        return n == PyList_GET_SIZE(ys) && (n == 0 || memcmp(
            ((PyListObject *)xs)->ob_item, ((PyListObject *)ys)->ob_item, n * sizeof(PyObject *)
        ) == 0);
    }
    """
    int delete_attribute "engine_delete_attribute"(object x, object name) except -1
    int look_for_signals "engine_look_for_signals"() except -1
    tuple places "engine_places"(Py_ssize_t n)
    void put "engine_put"(tuple places, Py_ssize_t i, object x)
    tuple filled "engine_filled"(tuple places)
    list cut "engine_cut"(list xs, Py_ssize_t n)
    object create "engine_create"(object cls)
    object variable "engine_variable"(object var)
    object row "engine_row"(Py_ssize_t n)
    double *doubles "engine_doubles"(object row)
    object int_row "engine_int_row"(Py_ssize_t n)
    int *ints "engine_ints"(object row)
    bint same_bits "engine_same_bits"(double a, double b)
    bint same_items "engine_same_items"(list xs, list ys)

cdef extern from "numbering.h":
    object numbering "engine_numbering"()
    bint is_new "engine_is_new"(object numbering, object x) except -1
    bint gets "engine_gets"(object numbering, object x, Py_ssize_t number)
    Py_ssize_t number "engine_number"(object numbering, object x) except -1

cdef extern from "arrays.h":
    object shape_of "engine_shape_of"(object array)
    object dtype_of "engine_dtype_of"(object array)
    bint same_shape "engine_same_shape"(object a, object b) except -1
    bint has_shape "engine_has_shape"(object array, tuple shape) except -1
    bint holds_floats "engine_holds_floats"(object array) except -1
    bint is_contiguous "engine_is_contiguous"(object array) except -1
    bint can_write "engine_can_write"(object array) except -1

cdef extern from *:
    """
    #ifdef _MSC_VER
    #define ENGINE_OF_THREAD __declspec(thread)
    #else
    #define ENGINE_OF_THREAD __thread
    #endif
    /* Each module has its own: none but these three may have one. */
    #if defined(__PYX_HAVE__engine_fast__modes) || defined(__PYX_HAVE__engine_fast__depth) || \
        defined(__PYX_HAVE__engine_fast__graph)
    static ENGINE_OF_THREAD struct {
        int grad_enabled, observed, walks;
        PyObject *running;
    } engine_thread = {1, 0, 0, NULL};
    static inline PyObject *engine_running(void) {
        PyObject *x = engine_thread.running ? engine_thread.running : Py_None;
        Py_INCREF(x);
        return x;
    }
    static inline void engine_set_running(PyObject *x) { engine_thread.running = x; }
    #endif
    """
    object running "engine_running"()
    void set_running "engine_set_running"(object x)
    struct Thread:
        bint grad_enabled, observed
        int walks
    Thread thread "engine_thread"

cdef inline object alone(object lock, object body, object a, object b, bint wait=True):
    if not wait and lock._is_owned():
        return None
    if lock.acquire(wait):
        try:
            return body(a, b)
        finally:
            lock.release()

cdef extern from "pool.h":
    object new "engine_new"(object base, object cls)
    object bare "engine_bare"(object cls)
    int pool "engine_pool"(object cls) except -1
    bint is_tracked "engine_is_tracked"(object x)
    void track "engine_track"(object x)
