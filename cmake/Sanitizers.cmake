# Sanitizers: trnsim::sanitizers carries TRNSIM_SANITIZE; a finding ends the program.
add_library(trnsim_sanitizers INTERFACE)
add_library(trnsim::sanitizers ALIAS trnsim_sanitizers)
if(TRNSIM_SANITIZE)
    target_compile_options(trnsim_sanitizers INTERFACE
        -fsanitize=${TRNSIM_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_link_options(trnsim_sanitizers INTERFACE -fsanitize=${TRNSIM_SANITIZE})
endif()

# Compiles a target that hardly runs without optimization where it is sanitized: in half the time.
function(trnsim_sanitize_as_written target)
    if(TRNSIM_SANITIZE AND NOT TRNSIM_FUZZ)
        target_compile_options(${target} PRIVATE -O0)
    endif()
endfunction()

if(TRNSIM_FUZZ)
    if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
        message(FATAL_ERROR "TRNSIM_FUZZ: the compiler is ${CMAKE_CXX_COMPILER_ID}, libFuzzer needs "
            "clang; configure with --preset fuzz")
    endif()
    target_compile_options(trnsim_sanitizers INTERFACE -fsanitize=fuzzer-no-link)
endif()
