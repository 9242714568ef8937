// Memory that is free goes back to the system 10 ms later, not 100: a first run of a large source needs a sixth less, and no more time
// (docs/performance.md, row `real-tree`). It is C because the call is `unsafe` from Rust, which no crate here has. It runs before the allocator
// reads its environment, whose MIMALLOC_ARENA_PURGE_MULT wins.
#include <mimalloc.h>

__attribute__((constructor(101))) static void purge_at_once(void) {
  mi_option_set_default(mi_option_arena_purge_mult, 1);
}
