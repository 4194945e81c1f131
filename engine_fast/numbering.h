/* Numbers of objects by identity: a bytearray with a head and a table of open addresses, at most
   half full. Python's dict does the same with an int made for each key and number. */

#include <Python.h>
#include <stdint.h>
#include <string.h>

typedef struct { Py_ssize_t used, slots; } engine_numbering_head;
typedef struct { PyObject *key; Py_ssize_t number; } engine_numbering_slot;

#define ENGINE_HEAD(numbering) ((engine_numbering_head *)PyByteArray_AS_STRING(numbering))

/* Where x stands in the table, or the empty slot where it would. */
static inline engine_numbering_slot *engine_slot(PyObject *numbering, PyObject *x) {
    engine_numbering_head *head = ENGINE_HEAD(numbering);
    engine_numbering_slot *slots = (engine_numbering_slot *)(head + 1);
    size_t mask = (size_t)head->slots - 1;
    size_t i = (size_t)(((uint64_t)((uintptr_t)x >> 4) * 0x9E3779B97F4A7C15u) >> 32);
    while (slots[i & mask].key && slots[i & mask].key != x) i++;
    return &slots[i & mask];
}

static PyObject *engine_table(Py_ssize_t slots) {
    Py_ssize_t size = sizeof(engine_numbering_head) + slots * sizeof(engine_numbering_slot);
    PyObject *numbering = PyByteArray_FromStringAndSize(NULL, size);
    if (!numbering) return NULL;
    memset(PyByteArray_AS_STRING(numbering), 0, size);
    ENGINE_HEAD(numbering)->slots = slots;
    return numbering;
}

static inline PyObject *engine_numbering(void) { return engine_table(32); }

/* Four times the slots, in the same bytearray. */
static int engine_grow(PyObject *numbering) {
    Py_ssize_t slots = ENGINE_HEAD(numbering)->slots;
    PyObject *wide = engine_table(4 * slots);
    if (!wide) return -1;
    engine_numbering_slot *old = (engine_numbering_slot *)(ENGINE_HEAD(numbering) + 1);
    for (Py_ssize_t i = 0; i < slots; i++)
        if (old[i].key) *engine_slot(wide, old[i].key) = old[i];
    ENGINE_HEAD(wide)->used = ENGINE_HEAD(numbering)->used;
    Py_ssize_t size = PyByteArray_GET_SIZE(wide);
    int done = PyByteArray_Resize(numbering, size);
    if (done == 0) memcpy(PyByteArray_AS_STRING(numbering), PyByteArray_AS_STRING(wide), size);
    Py_DECREF(wide);
    return done;
}

static inline int engine_is_new(PyObject *numbering, PyObject *x) {
    engine_numbering_slot *slot = engine_slot(numbering, x);
    if (slot->key) return 0;
    engine_numbering_head *head = ENGINE_HEAD(numbering);
    slot->key = x;
    slot->number = -1;
    head->used++;
    if (2 * head->used <= head->slots) return 1;
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
