# Warnings: trnsim::warnings carries the warning flags of everything written here.
add_library(trnsim_warnings INTERFACE)
add_library(trnsim::warnings ALIAS trnsim_warnings)
target_compile_options(trnsim_warnings INTERFACE
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wnon-virtual-dtor
    -Woverloaded-virtual -Wformat=2
    # Designated initialisers name what matters; the rest has its default.
    -Wno-missing-field-initializers
    # GCC 12 sees overlapping copies in std::string's operator+ (GCC bug 105651).
    $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
    # GCC 13 takes a reference that a call returns for one into its temporary arguments.
    $<$<CXX_COMPILER_ID:GNU>:-Wno-dangling-reference>
    # What a compiler newer than those it was tried with (GCC 12 to 14) warns of does not stop a build.
    $<$<AND:$<BOOL:${TRNSIM_WARNINGS_AS_ERRORS}>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,15>>:-Werror>)
