# FindSystemCLanguage: provides SystemC::systemc.
#
# 1. A SystemC built with CMake ships SystemCLanguageConfig.cmake; use it as it is.
# 2. Debian's libsystemc-dev (2.3.4) ships only systemc.pc; wrap it. That library was built as
#    C++17 and its link-time ABI check names the standard, so a C++20 program must declare it:
#    without SC_CPLUSPLUS the link fails on sc_api_version_2_3_4_cxx202002L.
find_package(SystemCLanguage CONFIG QUIET)
if(TARGET SystemC::systemc)
    set(SystemCLanguage_FOUND TRUE)
    return()
endif()

find_package(PkgConfig QUIET)
pkg_check_modules(PC_SYSTEMC QUIET systemc)
find_path(SystemC_INCLUDE_DIR systemc HINTS ${PC_SYSTEMC_INCLUDE_DIRS})
find_library(SystemC_LIBRARY systemc HINTS ${PC_SYSTEMC_LIBRARY_DIRS})

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(SystemCLanguage
    REQUIRED_VARS SystemC_LIBRARY SystemC_INCLUDE_DIR
    VERSION_VAR PC_SYSTEMC_VERSION)

if(SystemCLanguage_FOUND)
    set(SystemC_ABI_CPLUSPLUS "201703L" CACHE STRING "C++ standard the SystemC library was built with")
    mark_as_advanced(SystemC_INCLUDE_DIR SystemC_LIBRARY SystemC_ABI_CPLUSPLUS)
    find_package(Threads REQUIRED)
    add_library(SystemC::systemc UNKNOWN IMPORTED)
    set_target_properties(SystemC::systemc PROPERTIES
        IMPORTED_LOCATION "${SystemC_LIBRARY}"
        INTERFACE_INCLUDE_DIRECTORIES "${SystemC_INCLUDE_DIR}"
        INTERFACE_COMPILE_DEFINITIONS "SC_CPLUSPLUS=${SystemC_ABI_CPLUSPLUS}"
        INTERFACE_LINK_LIBRARIES Threads::Threads)
endif()
