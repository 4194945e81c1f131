/* Memory for the nodes of a graph: blocks of nodes side by side, which are used again from their
   start when all nodes in them are free. CPython's own allocator gives such memory back to the
   system after each graph, and clears, lists and counts each object for the garbage collector.

   A node is born outside the collector's lists: an object preceded by two words, both 0 as long as
   the collector does not look at it (PyGC_Head, the same since Python 3.9). It is a copy of the
   first one, which Cython made. A graph is freed by a loop, the dead nodes in a chain, where Cython
   would call itself for each parent. Where CPython may do this otherwise, where a node is not as
   large as thought, or where a tool is to see each object by itself (-DENGINE_NO_POOL), all this is
   left to CPython and Cython. */

#include <Python.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static inline int engine_is_tracked(PyObject *x);
static inline void engine_track(PyObject *x) {
    if (!engine_is_tracked(x)) PyObject_GC_Track(x);
}

static inline PyObject *engine_new(PyObject *base, PyObject *cls) {
    PyObject *none = PyTuple_New(0), *x = NULL;
    if (none) x = ((PyTypeObject *)base)->tp_new((PyTypeObject *)cls, none, NULL);
    Py_XDECREF(none);
    return x;
}

#if defined(ENGINE_NO_POOL) || defined(Py_GIL_DISABLED) || defined(PYPY_VERSION) \
    || defined(Py_REF_DEBUG) || PY_VERSION_HEX >= 0x030F0000

static inline int engine_is_tracked(PyObject *x) { return PyObject_GC_IsTracked(x); }

static inline PyObject *engine_born(PyTypeObject *type, Py_ssize_t n) {
    PyObject *x = PyType_GenericAlloc(type, n);
    if (x) PyObject_GC_UnTrack(x);
    return x;
}

static inline int engine_pool(PyObject *cls) {
    ((PyTypeObject *)cls)->tp_alloc = engine_born;
    return 0;
}

static inline PyObject *engine_bare(PyObject *cls) { return engine_new(cls, cls); }

#else

#ifdef _WIN32
#include <windows.h>
#define ENGINE_BLOCK 65536 /* bytes, and the alignment: a node's address tells its block */
#else
#include <sys/mman.h>
#define ENGINE_BLOCK 262144
#endif
#define ENGINE_SPARE (33554432 / ENGINE_BLOCK) /* empty blocks that are kept: 32 MiB */
#define ENGINE_HEAD (2 * sizeof(uintptr_t))
#define ENGINE_NODE 112 /* bytes of a node, its head included */
#define ENGINE_HELD 3   /* objects that a node holds */
#define ENGINE_NESTED 50
#define ENGINE_AHEAD (8 * ENGINE_NODE) /* that memory is fetched before its turn */
#ifdef __GNUC__
#define engine_fetch(place) __builtin_prefetch(place, 1)
#else
#define engine_fetch(place) ((void)(place))
#endif

typedef struct engine_block {
    struct engine_block *next, *previous; /* among those that have room */
    void *freed;                          /* places that were used, each holding the next */
    Py_ssize_t fresh, live;               /* places never used come last; nodes in use */
    Py_ssize_t padding;                   /* places by 16 bytes: else words lie across two lines of
                                             the cache, and what was just written is waited for */
} engine_block;
typedef char engine_block_is_whole[
    sizeof(void *) != 8 || (sizeof(engine_block) % 16 == 0 && ENGINE_NODE % 16 == 0) ? 1 : -1
];

static struct {
    engine_block *open;      /* the blocks that have room, the one in use first */
    Py_ssize_t empty;        /* blocks without a node */
    PyTypeObject *type;
    destructor others;       /* frees objects of subclasses */
    char blank[ENGINE_NODE]; /* a node as it is born */
    int held[ENGINE_HELD];   /* where in it the objects stand that it holds: None as yet */
} engine_nodes;

static ENGINE_OF_THREAD struct {
    PyObject *late; /* dead nodes of calls that were too deep, and how deep calls are */
    int depth;
} engine_dying;

#define ENGINE_PLACES_OF_BLOCK ((ENGINE_BLOCK - (Py_ssize_t)sizeof(engine_block)) / ENGINE_NODE)

static inline int engine_is_tracked(PyObject *x) { return ((uintptr_t *)x)[-2] != 0; }

static inline engine_block *engine_block_of(void *place) {
    return (engine_block *)((uintptr_t)place & ~(uintptr_t)(ENGINE_BLOCK - 1));
}

/* Memory from the system itself, which gets it back, cut to a whole block. */
#ifdef _WIN32
static inline void *engine_mapped(void) {
    return VirtualAlloc(NULL, ENGINE_BLOCK, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
}

static inline void engine_unmap(void *from, size_t size) {
    (void)size;
    VirtualFree(from, 0, MEM_RELEASE);
}
#else
static inline char *engine_map(size_t size) {
    void *found = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return found == MAP_FAILED ? NULL : (char *)found;
}

static inline void engine_unmap(void *from, size_t size) {
    if (size) munmap(from, size);
}

static inline void *engine_mapped(void) {
    char *found = engine_map(ENGINE_BLOCK), *start;
    if (!found || (char *)engine_block_of(found) == found) return found;
    engine_unmap(found, ENGINE_BLOCK);
    if (!(found = engine_map(2 * ENGINE_BLOCK))) return NULL;
    start = (char *)engine_block_of(found + ENGINE_BLOCK - 1);
    engine_unmap(found, start - found);
    engine_unmap(start + ENGINE_BLOCK, found + ENGINE_BLOCK - start);
    return start;
}
#endif

static inline engine_block *engine_block_new(void) {
    engine_block *block = (engine_block *)engine_mapped();
    if (block) memset(block, 0, sizeof(engine_block));
    return block;
}

static inline void engine_block_link(engine_block *block) {
    block->previous = NULL;
    block->next = engine_nodes.open;
    if (block->next) block->next->previous = block;
    engine_nodes.open = block;
}

static inline void engine_block_unlink(engine_block *block) {
    if (block->previous) block->previous->next = block->next;
    else engine_nodes.open = block->next;
    if (block->next) block->next->previous = block->previous;
}

static inline void *engine_place(engine_block *block) {
    void *place = block->freed;
    if (place) block->freed = *(void **)place;
    else place = (char *)(block + 1) + ENGINE_NODE * block->fresh++;
    if (++block->live == ENGINE_PLACES_OF_BLOCK) engine_block_unlink(block);
    return place;
}

/* A node whose fields are 0 and None. */
static inline PyObject *engine_bare(PyObject *cls) {
    engine_block *block = engine_nodes.open;
    char *place;
    if (!engine_nodes.type) return engine_new(cls, cls);
    if (!block) {
        if (!(block = engine_block_new())) return PyErr_NoMemory();
        engine_block_link(block);
    } else if (!block->live) engine_nodes.empty--;
    place = (char *)engine_place(block);
    engine_fetch(place + ENGINE_AHEAD);
    memcpy(place, engine_nodes.blank, ENGINE_NODE);
    for (int i = 0; i < ENGINE_HELD; i++) Py_INCREF(Py_None);
    return (PyObject *)(place + ENGINE_HEAD);
}

/* What Cython's constructor asks for; it sets the objects to None once more. */
static inline PyObject *engine_born(PyTypeObject *type, Py_ssize_t n) {
    PyObject *x;
    if (type != engine_nodes.type) return PyType_GenericAlloc(type, n); /* of a cdef subclass */
    x = engine_bare((PyObject *)type);
    for (int i = 0; x && i < ENGINE_HELD; i++) Py_DECREF(Py_None);
    return x;
}

/* An emptied block forgets the order in which its places were freed. */
static inline void engine_freed(void *x) {
    void *place = (char *)x - ENGINE_HEAD;
    engine_block *block = engine_block_of(place);
    if (block->live-- == ENGINE_PLACES_OF_BLOCK) engine_block_link(block);
    *(void **)place = block->freed;
    block->freed = place;
    if (block->live) return;
    block->freed = NULL;
    block->fresh = 0;
    if (engine_nodes.empty < ENGINE_SPARE) engine_nodes.empty++;
    else {
        engine_block_unlink(block);
        engine_unmap(block, ENGINE_BLOCK);
    }
}

/* What Cython's destructor asks for. */
static inline void engine_free(void *x) {
    if (Py_TYPE(x) == engine_nodes.type) engine_freed(x);
    else PyObject_GC_Del(x);
}

/* The word in front of a node that nothing looks at holds the next of a chain. */
static inline void engine_chain(PyObject *x, PyObject **first) {
    if (engine_is_tracked(x)) PyObject_GC_UnTrack(x);
    ((PyObject **)x)[-2] = *first;
    *first = x;
}

static inline PyObject *engine_unchain(PyObject **first) {
    PyObject *x = *first;
    *first = ((PyObject **)x)[-2];
    return x;
}

/* Free the nodes of the chain and, by and by, all that die with them: mostly from the last that was
   made to the first, so memory is fetched ahead in that direction. */
static inline void engine_free_chain(PyObject *dead) {
    while (dead) {
        PyObject *x = engine_unchain(&dead), *held[ENGINE_HELD];
        engine_fetch((char *)x - ENGINE_AHEAD);
        engine_fetch((char *)x - ENGINE_AHEAD + 64);
        for (int i = 0; i < ENGINE_HELD; i++)
            held[i] = *(PyObject **)((char *)x + engine_nodes.held[i]);
        engine_freed(x);
        for (int i = 0; i < ENGINE_HELD; i++)
            if (Py_REFCNT(held[i]) == 1 && Py_TYPE(held[i]) == engine_nodes.type)
                engine_chain(held[i], &dead);
            else Py_DECREF(held[i]);
    }
}

/* What else dies with a node may call this again, for nodes of its own: not without end. */
static inline void engine_dead(PyObject *x) {
    PyObject *dead = NULL;
    if (Py_TYPE(x) != engine_nodes.type) {
        engine_nodes.others(x);
        return;
    }
    engine_chain(x, engine_dying.depth < ENGINE_NESTED ? &dead : &engine_dying.late);
    engine_dying.depth++;
    engine_free_chain(dead);
    while (engine_dying.depth == 1 && (dead = engine_dying.late)) {
        engine_dying.late = NULL;
        engine_free_chain(dead);
    }
    engine_dying.depth--;
}

/* Where a node holds objects is seen by the None that Cython's constructor puts there. */
static inline int engine_found(PyObject *node) {
    int found = 0;
    for (int at = sizeof(PyObject); at < (int)(ENGINE_NODE - ENGINE_HEAD); at += sizeof(PyObject *))
        if (*(PyObject **)((char *)node + at) == Py_None && found++ < ENGINE_HELD)
            engine_nodes.held[found - 1] = at;
    return found == ENGINE_HELD;
}

static inline int engine_pool(PyObject *cls) {
    PyTypeObject *type = (PyTypeObject *)cls;
    PyObject *first;
    if (type->tp_basicsize + ENGINE_HEAD != ENGINE_NODE) return 0;
    if (!(first = engine_new(cls, cls))) return -1;
    PyObject_GC_UnTrack(first);
    if (engine_found(first)) {
        memcpy(engine_nodes.blank + ENGINE_HEAD, first, ENGINE_NODE - ENGINE_HEAD);
        engine_nodes.others = type->tp_dealloc;
        engine_nodes.type = type;
    }
    Py_DECREF(first);
    if (engine_nodes.type) {
        type->tp_alloc = engine_born;
        type->tp_free = engine_free;
        type->tp_dealloc = engine_dead;
    }
    return 0;
}

#endif
