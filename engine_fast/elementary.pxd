# The functions of engine/elementary.py for C doubles: the C library's, and the few that it lacks
# or defines otherwise (its fmax drops a nan). The only place where two texts exist.

cdef extern from *:
    """
    #include <math.h>
    static inline double engine_maximum(double a, double b) { return a > b || a != a ? a : b; }
    static inline double engine_minimum(double a, double b) { return a < b || a != a ? a : b; }
    static inline double engine_divide(double a, double b) { return a / b; }
    static inline int engine_less(double a, double b) { return a < b; }
    static inline int engine_equal(double a, double b) { return a == b; }
    static inline double engine_where(int c, double a, double b) { return c ? a : b; }
    static inline double engine_step(double a) { return a <= 0.0 ? 0.0 : 1.0; }
    static inline double engine_sign(double a) { return a != a ? a : (a > 0.0) - (a < 0.0); }
    """
    const double inf "INFINITY"
    double exp(double a) noexcept nogil
    double expm1(double a) noexcept nogil
    double log(double a) noexcept nogil
    double log1p(double a) noexcept nogil
    double log2(double a) noexcept nogil
    double log10(double a) noexcept nogil
    double sqrt(double a) noexcept nogil
    double sin(double a) noexcept nogil
    double cos(double a) noexcept nogil
    double tan(double a) noexcept nogil
    double asin(double a) noexcept nogil
    double acos(double a) noexcept nogil
    double atan(double a) noexcept nogil
    double sinh(double a) noexcept nogil
    double cosh(double a) noexcept nogil
    double tanh(double a) noexcept nogil
    double asinh(double a) noexcept nogil
    double acosh(double a) noexcept nogil
    double atanh(double a) noexcept nogil
    double erf(double a) noexcept nogil
    double fabs(double a) noexcept nogil
    double atan2(double a, double b) noexcept nogil
    double power "pow"(double a, double b) noexcept nogil
    double divide "engine_divide"(double a, double b) noexcept nogil
    double maximum "engine_maximum"(double a, double b) noexcept nogil
    double minimum "engine_minimum"(double a, double b) noexcept nogil
    bint less "engine_less"(double a, double b) noexcept nogil
    bint equal "engine_equal"(double a, double b) noexcept nogil
    double where "engine_where"(bint condition, double a, double b) noexcept nogil
    double step "engine_step"(double a) noexcept nogil
    double sign "engine_sign"(double a) noexcept nogil
