# Install: <prefix>/bin/trnsim, and beside it in <prefix>/share/trnsim what it reads.
include(GNUInstallDirs)
set(share "${CMAKE_INSTALL_DATADIR}/trnsim")
install(TARGETS trnsim RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/configs" DESTINATION "${share}")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/tools/python/trnsim" DESTINATION "${share}/python"
    PATTERN __pycache__ EXCLUDE)
