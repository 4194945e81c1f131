/* Memory for big arrays that kernels make: what was freed is kept and handed out again to an array
   of the same size. The system's allocator gives such memory back, and each page of a new one is
   then a fault: 1,500 in a step of the big net. NumPy's own interface for allocators (NEP 49)
   makes this the memory of an ordinary array, which owns it and remembers where it goes back to:
   arrays made elsewhere, before or after, are not touched.

   NumPy asks for memory and frees it with the interpreter's lock held, so that no thread sees the
   places half changed, nor does the child of a fork. Where there is no such lock, or a tool is to
   see each piece of memory (-DENGINE_NO_POOL), all arrays are NumPy's own affair; so they are
   where the user has set an allocator of his own. */

#include <stdlib.h>
#include <string.h>

#if defined(ENGINE_NO_POOL) || defined(Py_GIL_DISABLED)

static PyObject *engine_empty(int n, npy_intp *dims, int kind) {
    return PyArray_EMPTY(n, dims, kind, 0);
}

#else

#define ENGINE_BIG 65536        /* bytes from which on an array has such memory */
#define ENGINE_KEPT 67108864    /* bytes that are kept at most: 64 MiB; larger arrays never */
#define ENGINE_PLACES 64        /* buffers that are kept at most */
#define ENGINE_BUFFER_HEAD 64   /* in front of the numbers, which are aligned to the cache */

typedef struct { void *memory; size_t size; } engine_buffer; /* memory: NULL where none is kept */

static struct {
    engine_buffer places[ENGINE_PLACES];
    size_t kept;
    int next; /* the place that is taken next, whose buffer is the oldest */
    PyObject *handler;
} engine_buffers;

static void *engine_memory_of(void *numbers) { return (char *)numbers - ENGINE_BUFFER_HEAD; }

/* Memory that was kept: the last that was freed, which may still lie in the cache. */
static void *engine_kept_buffer(size_t size) {
    for (int i = 1; i <= ENGINE_PLACES; i++) {
        int at = (engine_buffers.next - i + ENGINE_PLACES) % ENGINE_PLACES;
        engine_buffer *place = &engine_buffers.places[at];
        if (place->memory && place->size == size) {
            void *memory = place->memory;
            place->memory = NULL;
            engine_buffers.kept -= size;
            return memory;
        }
    }
    return NULL;
}

static void *engine_fresh_buffer(size_t size) {
    void *memory = NULL;
    if (size > SIZE_MAX - ENGINE_BUFFER_HEAD) return NULL;
#ifdef _WIN32
    memory = _aligned_malloc(size + ENGINE_BUFFER_HEAD, ENGINE_BUFFER_HEAD);
#else
    if (posix_memalign(&memory, ENGINE_BUFFER_HEAD, size + ENGINE_BUFFER_HEAD)) return NULL;
#endif
    if (memory) *(size_t *)memory = size;
    return memory;
}

static void *engine_new_buffer(void *context, size_t size) {
    void *memory = engine_kept_buffer(size);
    if (!memory) memory = engine_fresh_buffer(size);
    return memory ? (char *)memory + ENGINE_BUFFER_HEAD : NULL;
}

static void engine_give_back(void *memory) {
#ifdef _WIN32
    _aligned_free(memory);
#else
    free(memory);
#endif
}

static void engine_forget(engine_buffer *place) {
    if (!place->memory) return;
    engine_give_back(place->memory);
    engine_buffers.kept -= place->size;
    place->memory = NULL;
}

/* In the place of the oldest; more of the oldest go until the kept bytes are few enough. */
static void engine_keep(void *memory, size_t size) {
    engine_buffer *place = &engine_buffers.places[engine_buffers.next];
    engine_buffers.next = (engine_buffers.next + 1) % ENGINE_PLACES;
    engine_forget(place);
    for (int i = 0; engine_buffers.kept + size > ENGINE_KEPT; i++)
        engine_forget(&engine_buffers.places[(engine_buffers.next + i) % ENGINE_PLACES]);
    *place = (engine_buffer){memory, size};
    engine_buffers.kept += size;
}

/* The head's size counts, not what the caller says: an array may have been resized. */
static void engine_free_buffer(void *context, void *numbers, size_t said) {
    if (!numbers) return;
    void *memory = engine_memory_of(numbers);
    size_t size = *(size_t *)memory;
    if (size < ENGINE_BIG || size > ENGINE_KEPT) engine_give_back(memory);
    else engine_keep(memory, size);
}

static void *engine_new_zeros(void *context, size_t n, size_t size) {
    void *numbers = size && n > SIZE_MAX / size ? NULL : engine_new_buffer(context, n * size);
    return numbers ? memset(numbers, 0, n * size) : NULL;
}

/* As realloc: where there is no memory, what was there stays. */
static void *engine_other_size(void *context, void *numbers, size_t size) {
    void *other = engine_new_buffer(context, size);
    if (other && numbers) {
        size_t before = *(size_t *)engine_memory_of(numbers);
        memcpy(other, numbers, before < size ? before : size);
        engine_free_buffer(context, numbers, before);
    }
    return other;
}

static PyDataMem_Handler engine_handler = {
    "engine_buffers", 1,
    {NULL, engine_new_buffer, engine_new_zeros, engine_other_size, engine_free_buffer},
};

/* An array made while ours is the handler of this thread's context, which then is as before. */
static PyObject *engine_empty_buffer(int n, npy_intp *dims, int kind) {
    PyObject *before = PyDataMem_SetHandler(engine_buffers.handler);
    if (!before) return NULL;
    PyObject *array = PyArray_EMPTY(n, dims, kind, 0);
    PyObject *ours = PyDataMem_SetHandler(before);
    Py_DECREF(before);
    if (!ours) Py_CLEAR(array);
    Py_XDECREF(ours);
    return array;
}

static int engine_handler_is_numpys(void) {
    PyObject *handler = PyDataMem_GetHandler();
    if (!handler) PyErr_Clear();
    Py_XDECREF(handler);
    return handler == PyDataMem_DefaultHandler;
}

/* An array whose numbers are not set. */
static PyObject *engine_empty(int n, npy_intp *dims, int kind) {
    size_t size = kind == NPY_BOOL ? 1 : kind == NPY_FLOAT32 ? 4 : 8;
    for (int i = 0; i < n; i++) size *= (size_t)dims[i];
    if (size < ENGINE_BIG || size > ENGINE_KEPT || !engine_handler_is_numpys())
        return PyArray_EMPTY(n, dims, kind, 0);
    if (!engine_buffers.handler)
        engine_buffers.handler = PyCapsule_New(&engine_handler, "mem_handler", NULL);
    return engine_buffers.handler ? engine_empty_buffer(n, dims, kind) : NULL;
}

#endif
