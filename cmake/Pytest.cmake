# Pytest: trnsim_pytest(scripts integration tests/integration/cli/scripts) registers a folder of
# Python tests as one ctest of that tier, run by the interpreter of build/venv against the trnsim of
# this build.
include_guard()
find_program(TRNSIM_PYTHON python PATHS "${PROJECT_SOURCE_DIR}/build/venv/bin" NO_DEFAULT_PATH)
mark_as_advanced(TRNSIM_PYTHON)
if(NOT TRNSIM_PYTHON)
    message(STATUS "Python tests are left out: build/venv is missing; run tools/install_dependencies")
endif()

function(trnsim_pytest name tier folder)
    if(NOT TRNSIM_PYTHON)
        return()
    endif()
    add_test(NAME Python.${name}
        COMMAND "${TRNSIM_PYTHON}" -m pytest -q -p no:cacheprovider "${folder}"
        WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
    set_tests_properties(Python.${name} PROPERTIES
        ENVIRONMENT "TRNSIM_BINARY=$<TARGET_FILE:trnsim>;PYTHONDONTWRITEBYTECODE=1"
        ENVIRONMENT_MODIFICATION
            "PYTHONPATH=path_list_prepend:${PROJECT_SOURCE_DIR}/tools/python"
        LABELS ${tier}
        COST 100)  # ctest starts these first
endfunction()
