/* Memory for the nodes of a graph: blocks of nodes side by side, which are used again from their
   start when all nodes in them are free. CPython's own allocator gives such memory back to the
   system after each graph, and clears, lists and counts each object for the garbage collector.

   A node is born outside the collector's lists: an object preceded by two words, both 0 as long as
   the collector does not look at it (PyGC_Head, the same since Python 3.9). Where CPython may do
   this otherwise, or a tool is to see each object by itself (-DENGINE_NO_POOL), it allocates. */

#include <Python.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static inline int engine_is_tracked(PyObject *x);
static inline void engine_track(PyObject *x) {
    if (!engine_is_tracked(x)) PyObject_GC_Track(x);
}

#if defined(ENGINE_NO_POOL) || defined(Py_GIL_DISABLED) || defined(PYPY_VERSION) \
    || PY_VERSION_HEX >= 0x030F0000

static inline int engine_is_tracked(PyObject *x) { return PyObject_GC_IsTracked(x); }

static inline PyObject *engine_born(PyTypeObject *type, Py_ssize_t n) {
    PyObject *x = PyType_GenericAlloc(type, n);
    if (x) PyObject_GC_UnTrack(x);
    return x;
}

static inline void engine_pool(PyObject *cls) { ((PyTypeObject *)cls)->tp_alloc = engine_born; }

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

typedef struct engine_block {
    struct engine_block *next, *previous; /* among those that have room */
    void *freed;                          /* places that were used, each holding the next */
    Py_ssize_t fresh, live;               /* places never used come last; nodes in use */
} engine_block;

static struct {
    engine_block *open; /* the blocks that have room, the one in use first */
    Py_ssize_t size, places, empty;
} engine_nodes;

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
    else place = (char *)(block + 1) + engine_nodes.size * block->fresh++;
    if (++block->live == engine_nodes.places) engine_block_unlink(block);
    return place;
}

static inline PyObject *engine_born(PyTypeObject *type, Py_ssize_t n) {
    engine_block *block = engine_nodes.open;
    char *place;
    (void)n;
    if (!block) {
        if (!(block = engine_block_new())) return PyErr_NoMemory();
        engine_block_link(block);
    } else if (!block->live) engine_nodes.empty--;
    place = (char *)engine_place(block);
    memset(place, 0, engine_nodes.size);
    return PyObject_Init((PyObject *)(place + ENGINE_HEAD), type);
}

/* An emptied block forgets the order in which its places were freed. */
static inline void engine_freed(void *x) {
    void *place = (char *)x - ENGINE_HEAD;
    engine_block *block = engine_block_of(place);
    if (block->live-- == engine_nodes.places) engine_block_link(block);
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

static inline void engine_pool(PyObject *cls) {
    PyTypeObject *type = (PyTypeObject *)cls;
    engine_nodes.size = (Py_ssize_t)ENGINE_HEAD + type->tp_basicsize;
    engine_nodes.places = (ENGINE_BLOCK - (Py_ssize_t)sizeof(engine_block)) / engine_nodes.size;
    type->tp_alloc = engine_born;
    type->tp_free = engine_freed;
}

#endif
