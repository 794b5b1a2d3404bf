# Profile: trnsim::profile compiles for what runs often. TRNSIM_PROFILE is "collect", so that every run of trnsim
# adds what it does to the folder profile of the build, or such a folder. tools/optimize does the one, then the other.
include_guard()

add_library(trnsim_profile INTERFACE)
add_library(trnsim::profile ALIAS trnsim_profile)
if(TRNSIM_PROFILE AND NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    message(FATAL_ERROR "TRNSIM_PROFILE: only with GCC; leave it out")
elseif(TRNSIM_PROFILE STREQUAL "collect")
    set(counting "-fprofile-generate=${PROJECT_BINARY_DIR}/profile"
        "-fprofile-prefix-path=${PROJECT_BINARY_DIR}" -fprofile-update=prefer-atomic)
    target_compile_options(trnsim_profile INTERFACE ${counting})
    target_link_options(trnsim_profile INTERFACE ${counting})
elseif(TRNSIM_PROFILE)
    if(NOT IS_DIRECTORY "${TRNSIM_PROFILE}")
        message(FATAL_ERROR "TRNSIM_PROFILE: there is no folder ${TRNSIM_PROFILE}; tools/optimize makes one, and "
            "-DTRNSIM_PROFILE= builds without")
    endif()
    # What has changed since, or did not run, is compiled as without; GCC warns of some of it in any case.
    target_compile_options(trnsim_profile INTERFACE "-fprofile-use=${TRNSIM_PROFILE}"
        "-fprofile-prefix-path=${PROJECT_BINARY_DIR}" -Wno-missing-profile -Wno-coverage-mismatch -Wno-error)
endif()
