# Fuzz: trnsim_fuzz() builds one fuzz target, a file that defines LLVMFuzzerTestOneInput.
#
#   trnsim_fuzz(NAME trace_reader SOURCES trace_reader_fuzz.cpp LIBRARIES trnsim::program
#       CORPUS ${PROJECT_SOURCE_DIR}/examples/traces)
#
# With TRNSIM_FUZZ it links libFuzzer, and the target `fuzz_targets` builds all of them. In every build
# a ctest replays the files below the CORPUS folders, as they are and cut short.
include_guard()

add_custom_target(fuzz_targets)

function(trnsim_fuzz)
    cmake_parse_arguments(PARSE_ARGV 0 ARG "" "NAME" "SOURCES;LIBRARIES;CORPUS")
    set(binary ${ARG_NAME}_fuzz)
    add_executable(${binary} ${ARG_SOURCES})
    target_link_libraries(${binary} PRIVATE ${ARG_LIBRARIES} trnsim::build)
    add_dependencies(fuzz_targets ${binary})
    if(TRNSIM_FUZZ)
        target_link_options(${binary} PRIVATE -fsanitize=fuzzer)
        list(JOIN ARG_CORPUS "\n" corpus)
        file(GENERATE OUTPUT "$<TARGET_FILE:${binary}>.corpus" CONTENT "${corpus}\n")
    else()
        target_link_libraries(${binary} PRIVATE trnsim::fuzz_replay_main)
        add_test(NAME Fuzz.${ARG_NAME}SurvivesItsCorpus COMMAND ${binary} ${ARG_CORPUS})
        set_tests_properties(Fuzz.${ARG_NAME}SurvivesItsCorpus PROPERTIES LABELS fuzz)
    endif()
endfunction()
