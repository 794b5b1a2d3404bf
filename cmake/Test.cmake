# Test: trnsim_test() builds one binary of a tier (its ctest label) and registers each of its tests.
#
#   trnsim_test(NAME program TIER unit SOURCES reader_test.cpp ... LIBRARIES trnsim::program)
#
# Tiers: unit, component, integration, golden, validation. A binary that reaches SystemC gets the main
# of tests/support/systemc_main.cpp, any other one GoogleTest's.
include_guard()
include(GoogleTest)

set(TRNSIM_TIERS unit component integration golden validation)

function(trnsim_test)
    cmake_parse_arguments(PARSE_ARGV 0 ARG "" "NAME;TIER" "SOURCES;LIBRARIES")
    if(NOT ARG_TIER IN_LIST TRNSIM_TIERS)
        message(FATAL_ERROR "trnsim_test(${ARG_NAME}): TIER is \"${ARG_TIER}\", allowed are ${TRNSIM_TIERS}")
    endif()
    set(binary ${ARG_NAME}_${ARG_TIER}_test)
    add_executable(${binary} ${ARG_SOURCES})
    trnsim_compile_together(${binary})
    target_include_directories(${binary} PRIVATE "${PROJECT_SOURCE_DIR}/tests")
    target_compile_definitions(${binary} PRIVATE TRNSIM_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
    target_compile_options(${binary} PRIVATE $<$<CONFIG:Release>:-Og>)  # In half the time; the layers keep theirs.
    trnsim_sanitize_as_written(${binary})
    target_link_libraries(${binary} PRIVATE ${ARG_LIBRARIES} trnsim::build GTest::gmock)
    trnsim_reaches_systemc(uses_systemc ${ARG_LIBRARIES})
    if(uses_systemc)
        target_link_libraries(${binary} PRIVATE trnsim::systemc_main)
    else()
        target_link_libraries(${binary} PRIVATE GTest::gmock_main)
    endif()
    gtest_discover_tests(${binary}
        WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}"
        DISCOVERY_TIMEOUT 60
        PROPERTIES LABELS ${ARG_TIER})
endfunction()

# Sets `result` to whether one of the targets links SystemC, itself or through others.
function(trnsim_reaches_systemc result)
    set(${result} FALSE PARENT_SCOPE)
    foreach(library IN LISTS ARGN)
        if(library STREQUAL "SystemC::systemc")
            set(${result} TRUE PARENT_SCOPE)
            return()
        elseif(library MATCHES "^trnsim::")
            get_target_property(below ${library} INTERFACE_LINK_LIBRARIES)
            trnsim_reaches_systemc(reaches ${below})
            if(reaches)
                set(${result} TRUE PARENT_SCOPE)
                return()
            endif()
        endif()
    endforeach()
endfunction()
