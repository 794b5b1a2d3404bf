# Link-time optimization (TRNSIM_LTO): the layers that simulate are compiled for it, the command line is linked with
# it. Tests and benchmarks link the same objects the plain way, which takes a tenth of the time.
include_guard()

if(TRNSIM_LTO AND NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    message(STATUS "TRNSIM_LTO: only with GCC, whose objects also link without it")
    set(TRNSIM_LTO OFF)
endif()

# Compiles a library such that programs may optimize across it.
function(trnsim_optimize_across library)
    if(TRNSIM_LTO)
        target_compile_options(${library} PRIVATE -flto=auto -ffat-lto-objects)
    endif()
endfunction()

# Optimizes a program across its libraries, and resolves what it takes from shared ones before it begins.
function(trnsim_optimize_whole program)
    if(TRNSIM_LTO)
        set_target_properties(${program} PROPERTIES TRNSIM_LTO ON)
        target_link_options(${program} PRIVATE -Wl,-z,now)
    endif()
endfunction()

add_library(trnsim_lto INTERFACE)
add_library(trnsim::lto ALIAS trnsim_lto)
if(TRNSIM_LTO)
    target_link_options(trnsim_lto INTERFACE $<IF:$<BOOL:$<TARGET_PROPERTY:TRNSIM_LTO>>,-flto=auto,-fno-lto>)
endif()
