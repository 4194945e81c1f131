# C types of engine/tape.py. `switch` is written by setup.py.

cimport cython
cimport switch

from engine_fast cimport elementary as m
from engine_fast cimport fused, interpreter, value
from engine_fast.value cimport Value

cdef int SUM, DOT, MAXIMUM, LOGSUMEXP, CROSS_ENTROPY, SHARE, COPY
cdef int ADD_PRODUCT, ADD_PRODUCTS, ADD_RUNS
cdef int VALUE, AGAIN, RUN, LIST, DICT, SAME, EQUAL, OBJECT, INDEX, ARRAY
cdef int DONE, OTHER_STRUCTURE, OTHER_NUMBER, OTHER_READ, OTHER_ANSWER, OUT_OF_RANGE

@cython.locals(i=Py_ssize_t, out="int *")
cdef object ints_of(list numbers)
cdef object doubles_of(list numbers)
@cython.locals(j=Py_ssize_t)
cdef double add_runs(double *x, double y, Py_ssize_t p, Py_ssize_t q, Py_ssize_t n) noexcept nogil
@cython.locals(j=Py_ssize_t)
cdef void push_runs(double *x, double *flight, double g, Py_ssize_t p, Py_ssize_t q, Py_ssize_t n) noexcept nogil
@cython.locals(j=Py_ssize_t)
cdef double add_products(double *x, double y, int *args, Py_ssize_t first, Py_ssize_t n) noexcept nogil
@cython.locals(j=Py_ssize_t, p=double, q=double)
cdef void push_products(double *x, double *flight, double g, Py_ssize_t start, int *args, Py_ssize_t first, Py_ssize_t n) noexcept nogil
@cython.locals(order=list, leaves=list)
cpdef tuple below(Value root, long long now)
@cython.locals(order=list, leaves=list, v=Value)
cpdef object derivatives(Value root, long long now)
cdef bint answer(int relation, double a, double b) noexcept

cdef class Tape:
    cdef public tuple plan
    cdef public list roots, outputs
    cdef object needs, ops, a, b, c, x, flight, args, work, gathered, reads, read_numbers, answers
    cdef object index, tables, lookups, found, patches, ranges, stamps
    cdef readonly Py_ssize_t inputs, base, count
    cdef Py_ssize_t read_count, answer_count, lookup_count, patch_count, range_count
    cdef int stamp
    cdef long long now, shared
    cdef public list bound
    cdef public Py_ssize_t where
    cdef public object name

    @cython.locals(outcome=int)
    cpdef int replay(self, object given, long long now) except -1
    @cython.locals(outcome=int)
    cdef int bind_roots(self) except -1
    @cython.locals(kind=int)
    cdef int bind(self, tuple plan, object x) except -1
    @cython.locals(v=Value, bound=list, needs="int *", numbers="double *", now="long long", shared="long long")
    cdef int take(self, object cls, object values, Py_ssize_t slot) except -1
    cdef int bind_run(self, tuple plan, object x) except -1
    @cython.locals(outcome=int, i=Py_ssize_t)
    cdef int bind_list(self, tuple plan, object x) except -1
    @cython.locals(outcome=int)
    cdef int bind_other(self, int kind, tuple plan, object x) except -1
    @cython.locals(index="int *")
    cdef int bind_index(self, tuple plan, object x) except -1
    @cython.locals(lookups="int *", tables="int *", index="int *", found="int *", ranges="int *", i=Py_ssize_t, k=int, rows=int)
    cdef int find(self) except -1
    @cython.locals(found="int *", patches="int *", a="int *", b="int *", c="int *", args="int *", i=Py_ssize_t, slot=int, place=int)
    cdef int patch(self) except -1
    @cython.locals(x="double *", ops="int *", a="int *", b="int *", c="int *", args="int *", base=Py_ssize_t, i=Py_ssize_t)
    cdef int forward(self) except -1
    @cython.locals(x="double *", args="int *", work="double *", gathered="double *", more="int *", y=double, j=Py_ssize_t)
    cdef double many(self, int op, Py_ssize_t first, Py_ssize_t count, Py_ssize_t i) noexcept
    cdef int place(self, int k) noexcept
    @cython.locals(x="double *", reads="int *", numbers="double *", answers="int *", i=Py_ssize_t, p=double, q=double)
    cdef int checked(self) except -1
    @cython.locals(x="double *", flight="double *", ops="int *", a="int *", b="int *", c="int *", args="int *", turns="int *", base=Py_ssize_t, i=Py_ssize_t, j=Py_ssize_t, g=double)
    cdef int backward(self, Py_ssize_t slot, object order, Py_ssize_t count) except -1
    @cython.locals(x="double *", flight="double *", args="int *", work="double *", more="int *", y=double, p=double, q=double, j=Py_ssize_t)
    cdef void spread(self, int op, Py_ssize_t first, Py_ssize_t count, Py_ssize_t i, double g) noexcept
    @cython.locals(x="double *", flight="double *", args="int *", equals=double, j=Py_ssize_t)
    cdef void spread_maximum(self, Py_ssize_t first, Py_ssize_t count, double y, double g) noexcept
    @cython.locals(slot=Py_ssize_t, count=Py_ssize_t, leaf_count=Py_ssize_t, x="double *", parents=list)
    cpdef Value result(self, Py_ssize_t i)
    cpdef object chosen(self, Py_ssize_t i)
    @cython.locals(slopes="double *", flight="double *", slots="int *", found="int *", stamps="int *", i=Py_ssize_t, n=Py_ssize_t, slot=int, bound=list)
    cdef Py_ssize_t collect(self, object leaves, Py_ssize_t count, list parents, object row) except -1
