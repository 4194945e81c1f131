# C types of engine/differentiation.py.

cimport cython

from engine_fast cimport depth, graph, interpreter, kernels, modes, nodes, quiet, value

cpdef tuple as_tuple(object x)
cpdef bint is_edge(object x)
cpdef tuple differentiated(object x)
@cython.locals(roots=list, gradients=list)
cpdef tuple seeds(tuple outputs, object given, object where, bint constants=*)
cpdef seed(object x, object g, object where, object i)
cpdef backward(
    object tensors, object grad_tensors=*, object retain_graph=*, object create_graph=*,
    object grad_variables=*, object inputs=*,
)
cpdef kind_of_walk()
@cython.locals(walk=graph.Walk)
cpdef walked(list roots, list gradients, object inputs, object retain, object create, object writes=*)
cpdef accumulated(list roots, list gradients, object retain, object create, object inputs)
cpdef accumulate(list arrived, bint create_graph)
@cython.locals(leaf=nodes.TensorBase)
cpdef list added(list arrived, bint create_graph)
cpdef write(list arrived, list grads)
cpdef give_number(value.Value v, double g)
cpdef bint adds(nodes.TensorBase leaf, object g, bint create_graph) except -1
cpdef give(nodes.TensorBase leaf, object grad, object g)
cpdef add_in_place(nodes.TensorBase grad, nodes.TensorBase g)
