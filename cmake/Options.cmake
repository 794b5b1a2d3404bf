# Options: what a build may choose. Each is set by a preset; none changes a simulated number.
option(TRNSIM_BUILD_TESTS "Build the tests" ${PROJECT_IS_TOP_LEVEL})
option(TRNSIM_BUILD_BENCHMARKS "Build the benchmarks (Google Benchmark)" OFF)
option(TRNSIM_WARNINGS_AS_ERRORS "Treat compiler warnings as errors" OFF)
option(TRNSIM_UNITY "Compile several sources at once" OFF)
option(TRNSIM_LTO "Optimize trnsim across its libraries, where the compiler is GCC" OFF)
option(TRNSIM_FUZZ "Build the fuzz tests with libFuzzer (clang)" OFF)
option(TRNSIM_COVERAGE "Count executed lines (gcov)" OFF)
set(TRNSIM_UNITY_BATCH 12 CACHE STRING "Sources compiled at once, with TRNSIM_UNITY")
set(TRNSIM_SANITIZE "" CACHE STRING "Sanitizers, comma separated: address,undefined")

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Debug, Release or RelWithDebInfo" FORCE)
endif()
