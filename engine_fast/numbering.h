/* Numbers of objects by identity: a bytearray with a head and a table of open addresses, at most
   two thirds full. Python's dict does the same with an int made for each key and number. */

#include <Python.h>
#include <stdint.h>
#include <string.h>

typedef struct { Py_ssize_t used, slots; } engine_numbering_head;
typedef struct { PyObject *key; Py_ssize_t number; } engine_numbering_slot;

#define ENGINE_HEAD_OF(numbering) ((engine_numbering_head *)PyByteArray_AS_STRING(numbering))

/* Where x stands in the table, or the empty slot where it would. */
static inline engine_numbering_slot *engine_slot(PyObject *numbering, PyObject *x) {
    engine_numbering_head *head = ENGINE_HEAD_OF(numbering);
    engine_numbering_slot *slots = (engine_numbering_slot *)(head + 1);
    size_t mask = (size_t)head->slots - 1;
    size_t i = (size_t)(((uint64_t)((uintptr_t)x >> 4) * 0x9E3779B97F4A7C15u) >> 32);
    while (slots[i & mask].key && slots[i & mask].key != x) i++;
    return &slots[i & mask];
}

static inline Py_ssize_t engine_size(Py_ssize_t slots) {
    return sizeof(engine_numbering_head) + slots * sizeof(engine_numbering_slot);
}

static inline void engine_clear(PyObject *numbering, Py_ssize_t slots) {
    memset(PyByteArray_AS_STRING(numbering), 0, engine_size(slots));
    ENGINE_HEAD_OF(numbering)->slots = slots;
}

static inline PyObject *engine_numbering(void) {
    PyObject *numbering = PyByteArray_FromStringAndSize(NULL, engine_size(32));
    if (numbering) engine_clear(numbering, 32);
    return numbering;
}

/* Twice the slots; where there is no memory, the table stays as it is. */
static int engine_grow(PyObject *numbering) {
    engine_numbering_head head = *ENGINE_HEAD_OF(numbering);
    Py_ssize_t before = head.slots * sizeof(engine_numbering_slot);
    engine_numbering_slot *old = PyMem_RawMalloc(before);
    if (!old) return PyErr_NoMemory(), -1;
    memcpy(old, ENGINE_HEAD_OF(numbering) + 1, before);
    int done = PyByteArray_Resize(numbering, engine_size(2 * head.slots));
    if (done == 0) {
        engine_clear(numbering, 2 * head.slots);
        ENGINE_HEAD_OF(numbering)->used = head.used;
        for (Py_ssize_t i = 0; i < head.slots; i++)
            if (old[i].key) *engine_slot(numbering, old[i].key) = old[i];
    }
    PyMem_RawFree(old);
    return done;
}

static inline int engine_is_new(PyObject *numbering, PyObject *x) {
    engine_numbering_slot *slot = engine_slot(numbering, x);
    if (slot->key) return 0;
    engine_numbering_head *head = ENGINE_HEAD_OF(numbering);
    slot->key = x;
    slot->number = -1;
    head->used++;
    if (3 * head->used <= 2 * head->slots) return 1;
    return engine_grow(numbering) < 0 ? -1 : 1;
}

static inline Py_ssize_t engine_number(PyObject *numbering, PyObject *x) {
    engine_numbering_slot *slot = engine_slot(numbering, x);
    if (slot->key) return slot->number;
    PyErr_SetObject(PyExc_KeyError, x);
    return -1;
}

static inline int engine_gets(PyObject *numbering, PyObject *x, Py_ssize_t number) {
    engine_numbering_slot *slot = engine_slot(numbering, x);
    if (!slot->key || slot->number >= 0) return 0;
    slot->number = number;
    return 1;
}
