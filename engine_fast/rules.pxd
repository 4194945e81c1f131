# C signatures of engine/rules.py: one line for each rule (two, where it has two slopes).

from engine_fast cimport elementary as m

ctypedef (double, double) pair

ctypedef double (*unary_value)(double) noexcept nogil
ctypedef double (*unary_slope)(double, double) noexcept nogil
ctypedef double (*binary_value)(double, double) noexcept nogil
ctypedef pair (*binary_slopes)(double, double, double) noexcept nogil
ctypedef double (*option_slope)(double, double, double) noexcept nogil

cdef double neg(double a) noexcept nogil, neg_slope(double a, double y) noexcept nogil
cdef double exp(double a) noexcept nogil, exp_slope(double a, double y) noexcept nogil
cdef double log(double a) noexcept nogil, log_slope(double a, double y) noexcept nogil
cdef double tanh(double a) noexcept nogil, tanh_slope(double a, double y) noexcept nogil
cdef double sigmoid(double a) noexcept nogil, sigmoid_slope(double a, double y) noexcept nogil
cdef double relu(double a) noexcept nogil, relu_slope(double a, double y) noexcept nogil
cdef double pow_number(double a, double k) noexcept nogil, pow_number_slope(double a, double k, double y) noexcept nogil
cdef double add(double a, double b) noexcept nogil
cdef pair add_slopes(double a, double b, double y) noexcept nogil
cdef double sub(double a, double b) noexcept nogil
cdef pair sub_slopes(double a, double b, double y) noexcept nogil
cdef double mul(double a, double b) noexcept nogil
cdef pair mul_slopes(double a, double b, double y) noexcept nogil
cdef double div(double a, double b) noexcept nogil
cdef pair div_slopes(double a, double b, double y) noexcept nogil
