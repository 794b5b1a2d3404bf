# Layer: the words with which src/ describes the library. One static library per layer of the design;
# each folder of src/ says which of its files belong to which layer.
#
#   trnsim_sources(timing tensor_engine_timing.cpp ...)   in src/<folder>/CMakeLists.txt
#   trnsim_layer(timing HOT USES base isa spec)           in src/CMakeLists.txt
include_guard()

# Adds sources of the calling folder to a layer.
function(trnsim_sources layer)
    list(TRANSFORM ARGN PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/")
    set_property(GLOBAL APPEND PROPERTY TRNSIM_SOURCES_${layer} ${ARGN})
endfunction()

# Declares the layer: USES lists the layers below, LIBRARIES what others wrote (PUBLIC_LIBRARIES if
# our headers show it). A layer of headers alone is an INTERFACE library. HEADERS takes headers out of
# their folder's layer into this one. HOT layers take part in every simulated instruction.
function(trnsim_layer layer)
    cmake_parse_arguments(PARSE_ARGV 1 ARG "HOT" "" "USES;HEADERS;LIBRARIES;PUBLIC_LIBRARIES")
    list(TRANSFORM ARG_USES PREPEND "trnsim::")
    get_property(sources GLOBAL PROPERTY TRNSIM_SOURCES_${layer})
    if(sources)
        add_library(trnsim_${layer} STATIC ${sources})
        trnsim_compile_together(trnsim_${layer})
        if(ARG_HOT)
            trnsim_optimize_across(trnsim_${layer})
        endif()
        set(scope PUBLIC)
        target_link_libraries(trnsim_${layer} PRIVATE ${ARG_LIBRARIES} trnsim::build)
    else()
        add_library(trnsim_${layer} INTERFACE)
        set(scope INTERFACE)
    endif()
    add_library(trnsim::${layer} ALIAS trnsim_${layer})
    target_compile_features(trnsim_${layer} ${scope} cxx_std_20)
    target_include_directories(trnsim_${layer} ${scope} "${PROJECT_SOURCE_DIR}/include")
    list(TRANSFORM ARG_HEADERS PREPEND "${PROJECT_SOURCE_DIR}/include/trnsim/")
    target_sources(trnsim_${layer} ${scope}
        FILE_SET HEADERS BASE_DIRS "${PROJECT_SOURCE_DIR}/include" FILES ${ARG_HEADERS})
    target_link_libraries(trnsim_${layer} ${scope} ${ARG_USES} ${ARG_PUBLIC_LIBRARIES})
endfunction()

# Lets a target's sources be compiled several at once, so that each header is read once for all of them.
function(trnsim_compile_together target)
    set_target_properties(${target} PROPERTIES
        UNITY_BUILD ${TRNSIM_UNITY} UNITY_BUILD_BATCH_SIZE ${TRNSIM_UNITY_BATCH})
endfunction()

# The flags under which everything here is compiled.
add_library(trnsim_build INTERFACE)
add_library(trnsim::build ALIAS trnsim_build)
target_link_libraries(trnsim_build INTERFACE
    trnsim::warnings trnsim::sanitizers trnsim::coverage trnsim::linker trnsim::lto
    trnsim::profile)
