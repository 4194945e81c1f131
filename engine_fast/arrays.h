/* What a NumPy array says of itself, read where it stands: a quarter of the instructions that the
   attributes take. Anything but an ndarray is asked by its attributes. */

#include <Python.h>
#include <numpy/arrayobject.h>

/* Borrowed; NULL, without an error, where NumPy cannot be imported. */
static PyTypeObject *engine_ndarray(void) {
    static PyTypeObject *type = NULL;
    if (!type) {
        PyObject *numpy = PyImport_ImportModule("numpy");
        if (numpy) type = (PyTypeObject *)PyObject_GetAttrString(numpy, "ndarray");
        Py_XDECREF(numpy);
        PyErr_Clear();
    }
    return type;
}

static inline int engine_is_array(PyObject *x) { return Py_TYPE(x) == engine_ndarray(); }

static inline PyObject *engine_shape_of(PyObject *x) {
    if (!engine_is_array(x)) return PyObject_GetAttrString(x, "shape");
    int n = PyArray_NDIM((PyArrayObject *)x);
    PyObject *shape = PyTuple_New(n);
    for (int i = 0; shape && i < n; i++) {
        PyObject *size = PyLong_FromSsize_t(PyArray_DIM((PyArrayObject *)x, i));
        if (!size) Py_CLEAR(shape);
        else PyTuple_SET_ITEM(shape, i, size);
    }
    return shape;
}

static inline PyObject *engine_dtype_of(PyObject *x) {
    if (!engine_is_array(x)) return PyObject_GetAttrString(x, "dtype");
    PyObject *dtype = (PyObject *)PyArray_DESCR((PyArrayObject *)x);
    Py_INCREF(dtype);
    return dtype;
}

static inline int engine_has_shape(PyObject *x, PyObject *shape) {
    if (!engine_is_array(x)) {
        PyObject *found = PyObject_GetAttrString(x, "shape");
        int same = found ? PyObject_RichCompareBool(found, shape, Py_EQ) : -1;
        Py_XDECREF(found);
        return same;
    }
    int n = PyArray_NDIM((PyArrayObject *)x);
    if (n != PyTuple_GET_SIZE(shape)) return 0;
    for (int i = 0; i < n; i++)
        if (PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, i)) != PyArray_DIM((PyArrayObject *)x, i))
            return 0;
    return 1;
}

static inline int engine_same_shape(PyObject *a, PyObject *b) {
    if (engine_is_array(a) && engine_is_array(b)) {
        PyArrayObject *x = (PyArrayObject *)a, *y = (PyArrayObject *)b;
        size_t size = PyArray_NDIM(x) * sizeof(npy_intp);
        return PyArray_NDIM(x) == PyArray_NDIM(y)
            && (size == 0 || memcmp(PyArray_DIMS(x), PyArray_DIMS(y), size) == 0);
    }
    PyObject *shape = engine_shape_of(b);
    int same = shape ? engine_has_shape(a, shape) : -1;
    Py_XDECREF(shape);
    return same;
}

static inline int engine_holds_floats(PyObject *x) {
    PyObject *dtype = engine_dtype_of(x);
    if (!dtype) return -1;
    int found = ((PyArray_Descr *)dtype)->kind == 'f';
    Py_DECREF(dtype);
    return found;
}

static inline int engine_flag(PyObject *x, int flag, const char *name) {
    if (engine_is_array(x)) return PyArray_CHKFLAGS((PyArrayObject *)x, flag) != 0;
    PyObject *flags = PyObject_GetAttrString(x, "flags");
    PyObject *found = flags ? PyObject_GetAttrString(flags, name) : NULL;
    int holds = found ? PyObject_IsTrue(found) : -1;
    Py_XDECREF(flags);
    Py_XDECREF(found);
    return holds;
}

static inline int engine_can_write(PyObject *x) {
    return engine_flag(x, NPY_ARRAY_WRITEABLE, "writeable");
}

static inline int engine_is_contiguous(PyObject *x) {
    return engine_flag(x, NPY_ARRAY_C_CONTIGUOUS, "c_contiguous");
}
