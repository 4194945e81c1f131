# C types of engine/nodes.py: the fields of tensors and nodes, and what every operation asks.

cimport cython

from engine_fast cimport interpreter, modes, value

cdef class TensorBase:
    cdef dict __dict__
    cdef object __weakref__
    cdef public object _array, _base, _counter, _grad, _hooks, _node, _view
    cdef public Py_ssize_t _output_nr
    cdef public bint _requires_grad

cdef class NodeBase:
    cdef dict __dict__
    cdef object __weakref__
    cdef public tuple _constant, _dirty, _edges, _hidden, _plain, needs_input_grad
    cdef public object _hooks, _saved, _shapes, _to_save
    cdef public bint _is_pure_view, _materialize_non_diff_grads, materialize_grads
    cdef tuple differentiate(self, list grads)
    cdef release(self)

cdef class Saved:
    cdef public object number, saved
    cdef public Py_ssize_t version
    cdef public bint between, inner
    cpdef unpack(self, object node)

cpdef bint needs_grad(object x) except -1
cpdef bint is_differentiable(object x) except -1
cpdef bint is_view(TensorBase t)
cpdef Py_ssize_t version_of(TensorBase t) except -1
cpdef list counter_of(TensorBase t)
cpdef count_change(TensorBase t)
cpdef bint wants_grad(TensorBase t) except -1
@cython.locals(inner=NodeBase)
cpdef tuple edges(object node)
cpdef tuple value_edges(value.Value v)
@cython.locals(inner=NodeBase, leaf=TensorBase)
cpdef Py_ssize_t places(object node) except -1
cpdef tuple differentiate(NodeBase node, list grads)
cpdef tuple edge_key(tuple edge)
cpdef edge_of(object x)
cpdef tuple place_of(TensorBase t)
cpdef dict hooks_of(value.Value v)
cpdef attach(object x, object node, object number)
cpdef TensorBase join(TensorBase t, object node, Py_ssize_t number)
@cython.locals(saved=Saved, i=Py_ssize_t)
cpdef tuple unpacked(object kept, object node)
cpdef position(object x, tuple where)
@cython.locals(given=tuple, i=Py_ssize_t)
cpdef keep(NodeBase node, tuple inputs, tuple outputs)
cpdef bint is_floating(object x) except -1
cpdef shape_of(object x)
@cython.locals(node=NodeBase, leaf=TensorBase)
cpdef shape_at(object target, Py_ssize_t i)
@cython.locals(leaf=TensorBase, fits=bint)
cpdef bint expects(object target, Py_ssize_t i, object array) except -1
cpdef array_of(TensorBase t)
cpdef bint any_needs_grad(object xs) except -1
@cython.locals(i=Py_ssize_t)
cpdef tuple all_needs_grad(tuple xs)
cpdef grad_of(TensorBase t)
cpdef node_of(TensorBase t)
@cython.locals(i=Py_ssize_t)
cpdef link(NodeBase node, tuple inputs)
cpdef connect(NodeBase node, tuple inputs)
cpdef zero(object shape)
