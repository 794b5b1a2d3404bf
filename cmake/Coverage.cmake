# Coverage: trnsim::coverage counts executed lines; tools/coverage turns the counts into a table.
add_library(trnsim_coverage INTERFACE)
add_library(trnsim::coverage ALIAS trnsim_coverage)
if(TRNSIM_COVERAGE)
    target_compile_options(trnsim_coverage INTERFACE --coverage)
    target_link_options(trnsim_coverage INTERFACE --coverage)
endif()
