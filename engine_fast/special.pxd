# C signatures of engine/special.py: one line for each rule (two, where it has two slopes).

from engine_fast cimport elementary as m
from engine_fast cimport rules
from engine_fast.rules cimport pair

cdef double abs(double a) noexcept nogil, abs_slope(double a, double y) noexcept nogil
cdef double pow(double a, double b) noexcept nogil
cdef pair pow_slopes(double a, double b, double y) noexcept nogil
cdef double sqrt(double a) noexcept nogil, sqrt_slope(double a, double y) noexcept nogil
cdef double sin(double a) noexcept nogil, sin_slope(double a, double y) noexcept nogil
cdef double cos(double a) noexcept nogil, cos_slope(double a, double y) noexcept nogil
cdef double clamp_min(double a, double k) noexcept nogil, clamp_min_slope(double a, double k, double y) noexcept nogil
cdef double clamp_max(double a, double k) noexcept nogil, clamp_max_slope(double a, double k, double y) noexcept nogil
cdef double maximum(double a, double b) noexcept nogil
cdef pair maximum_slopes(double a, double b, double y) noexcept nogil
cdef double minimum(double a, double b) noexcept nogil
cdef pair minimum_slopes(double a, double b, double y) noexcept nogil
cdef double expm1(double a) noexcept nogil, expm1_slope(double a, double y) noexcept nogil
cdef double log1p(double a) noexcept nogil, log1p_slope(double a, double y) noexcept nogil
cdef double log2(double a) noexcept nogil, log2_slope(double a, double y) noexcept nogil
cdef double log10(double a) noexcept nogil, log10_slope(double a, double y) noexcept nogil
cdef double rsqrt(double a) noexcept nogil, rsqrt_slope(double a, double y) noexcept nogil
cdef double reciprocal(double a) noexcept nogil, reciprocal_slope(double a, double y) noexcept nogil
cdef double square(double a) noexcept nogil, square_slope(double a, double y) noexcept nogil
cdef double tan(double a) noexcept nogil, tan_slope(double a, double y) noexcept nogil
cdef double asin(double a) noexcept nogil, asin_slope(double a, double y) noexcept nogil
cdef double acos(double a) noexcept nogil, acos_slope(double a, double y) noexcept nogil
cdef double atan(double a) noexcept nogil, atan_slope(double a, double y) noexcept nogil
cdef double sinh(double a) noexcept nogil, sinh_slope(double a, double y) noexcept nogil
cdef double cosh(double a) noexcept nogil, cosh_slope(double a, double y) noexcept nogil
cdef double asinh(double a) noexcept nogil, asinh_slope(double a, double y) noexcept nogil
cdef double acosh(double a) noexcept nogil, acosh_slope(double a, double y) noexcept nogil
cdef double atanh(double a) noexcept nogil, atanh_slope(double a, double y) noexcept nogil
cdef double silu(double a) noexcept nogil, silu_slope(double a, double y) noexcept nogil
cdef double erf(double a) noexcept nogil, erf_slope(double a, double y) noexcept nogil
cdef double elu(double a, double k) noexcept nogil, elu_slope(double a, double k, double y) noexcept nogil
cdef double atan2(double a, double b) noexcept nogil
cdef pair atan2_slopes(double a, double b, double y) noexcept nogil
cdef double softplus(double a) noexcept nogil, softplus_slope(double a, double y) noexcept nogil
cdef double gelu(double a) noexcept nogil, gelu_slope(double a, double y) noexcept nogil
cdef double leaky_relu(double a, double k) noexcept nogil, leaky_relu_slope(double a, double k, double y) noexcept nogil
