// SPDX-License-Identifier: Apache-2.0
// Large pages for the heap: with 4 KiB pages faults took a sixth of a run of some milliseconds.
//
// glibc on Linux takes address space for the heap at once and asks for 2 MiB pages there, where the
// system has them; memory is used as it is touched, as before. It has to come before libsystemc,
// which fills 3 MiB when it is loaded, and so before all other initialization.

#include <cstddef>
#include <cstdlib>
#include <memory>

#include <malloc.h>
#include <sys/mman.h>

#ifdef __GLIBC__

namespace {

constexpr std::size_t kLargePage = std::size_t{2} << 20U;
constexpr std::size_t kHeap = std::size_t{64} << 20U;

/// Nothing is lost where a call fails: then the heap is as it was.
void back_heap_by_large_pages(int /*argc*/, char** /*argv*/, char** /*environment*/) {
    // Large blocks lie there too, and what was the heap's stays so.
    mallopt(M_MMAP_THRESHOLD, static_cast<int>(kHeap));
    mallopt(M_TRIM_THRESHOLD, static_cast<int>(2 * kHeap));
    std::size_t size = kHeap - kLargePage;
    void* const all = std::malloc(size);
    void* first = all;
    if (std::align(kLargePage, kLargePage, first, size) != nullptr) {
        madvise(first, size / kLargePage * kLargePage, MADV_HUGEPAGE);
    }
    std::free(all);
}

/// Called by the dynamic linker before the initialization of any library.
[[gnu::section(".preinit_array"), gnu::used]] constexpr auto kBeforeAllElse =
    back_heap_by_large_pages;

}  // namespace

#endif
