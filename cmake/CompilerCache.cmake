# CompilerCache: compile through ccache where it is installed. Paths are hashed relative to the source
# tree, so that a second clone in another folder finds what the first one compiled.
find_program(TRNSIM_CCACHE ccache)
mark_as_advanced(TRNSIM_CCACHE)
if(TRNSIM_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    set(CMAKE_CXX_COMPILER_LAUNCHER
        "${CMAKE_COMMAND}" -E env "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}" CCACHE_NOHASHDIR=1
        "${TRNSIM_CCACHE}")
endif()
