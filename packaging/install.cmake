# Defines the installation by `cmake --install build/release --prefix ANY`, and the Debian package (scripts/package).
#   bin/tgc                 finds the other files relative to itself, so the installation can be moved
#   lib/tgc/                the engines, which lib/compile/engines.cpp loads, and the emulators of --emulate
#   include/tgc/            headers for a backend in a shared library: c++ -I PREFIX/include/tgc
#   share/                  the man page and completions, which tgc prints itself; the exporter and its Python package; extensions of
#                           editors; a sample backend
set(TGC_MAINTAINER "The tgc maintainers <maintainers@tgc.invalid>")

install(TARGETS tgc RUNTIME DESTINATION bin COMPONENT tgc)
get_property(loaded GLOBAL PROPERTY TGC_LOADED)
install(TARGETS ${loaded} LIBRARY DESTINATION lib/tgc COMPONENT tgc)
if(TGC_STATIC AND TARGET tgc_clang)   # clang's headers, which its engine looks for beside itself
  execute_process(COMMAND ${TGC_LLVM_BIN}/clang -print-resource-dir OUTPUT_VARIABLE clang_folder OUTPUT_STRIP_TRAILING_WHITESPACE
                  COMMAND_ERROR_IS_FATAL ANY)
  install(DIRECTORY ${clang_folder}/include DESTINATION lib/tgc/clang COMPONENT tgc)
endif()
foreach(header lib/runtime/device.h lib/support/result.h)
  get_filename_component(folder ${header} DIRECTORY)
  install(FILES ${CMAKE_SOURCE_DIR}/${header} DESTINATION include/tgc/${folder} COMPONENT tgc)
endforeach()
install(PROGRAMS ${CMAKE_SOURCE_DIR}/scripts/tinygrad_export.py DESTINATION share/tgc COMPONENT tgc)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/python/tgc DESTINATION share/tgc COMPONENT tgc
        FILES_MATCHING PATTERN *.py PATTERN py.typed PATTERN AGENTS.md PATTERN __pycache__ EXCLUDE)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/editors DESTINATION share/tgc COMPONENT tgc
        FILES_MATCHING PATTERN *.json PATTERN *.js PATTERN *.lua PATTERN node_modules EXCLUDE)
string(TIMESTAMP TGC_DATE "%a, %d %b %Y %H:%M:%S +0000" UTC)
configure_file(${CMAKE_SOURCE_DIR}/packaging/changelog.in ${CMAKE_BINARY_DIR}/changelog @ONLY)
install(FILES ${CMAKE_SOURCE_DIR}/packaging/copyright ${CMAKE_BINARY_DIR}/changelog DESTINATION share/doc/tgc COMPONENT tgc)
install(FILES ${CMAKE_SOURCE_DIR}/packaging/lintian-overrides DESTINATION share/lintian/overrides RENAME tgc COMPONENT tgc)
install(FILES ${CMAKE_SOURCE_DIR}/apps/sample_device/sample_device.cpp DESTINATION share/doc/tgc/examples COMPONENT tgc)

# The installed binary prints these files, so they always match it.
install(CODE "set(tgc_binary \"$<TARGET_FILE:tgc>\")" COMPONENT tgc)
install(CODE [[
  function(written_by_tgc file)   # FILE ARGUMENTS...
    set(path "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/share/${file}")
    message(STATUS "Writing: ${path}")
    get_filename_component(folder "${path}" DIRECTORY)
    file(MAKE_DIRECTORY "${folder}")
    execute_process(COMMAND "${tgc_binary}" ${ARGN} OUTPUT_FILE "${path}" COMMAND_ERROR_IS_FATAL ANY)
  endfunction()
  set(zsh_folder site-functions)
  if(CMAKE_INSTALL_PREFIX STREQUAL "/usr")   # the folder that Debian's zsh searches
    set(zsh_folder vendor-completions)
  endif()
  written_by_tgc(man/man1/tgc.1 help --man)
  written_by_tgc(bash-completion/completions/tgc completion bash)
  written_by_tgc(zsh/${zsh_folder}/_tgc completion zsh)
  written_by_tgc(fish/vendor_completions.d/tgc.fish completion fish)
  execute_process(COMMAND gzip -9nf man/man1/tgc.1 doc/tgc/changelog COMMAND_ERROR_IS_FATAL ANY
                  WORKING_DIRECTORY "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/share")
]] COMPONENT tgc)

# ---- the Debian package ------------------------------------------------------------------------------------------
set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON)   # the package does not need the tests
set(CPACK_GENERATOR DEB)
set(CPACK_COMPONENTS_ALL tgc)
set(CPACK_PACKAGE_CONTACT "${TGC_MAINTAINER}")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION "Loads a graph or a model, runs the compiler pipeline of tinygrad
${TGC_TINYGRAD_VERSION}, shows what every stage did and which rule did it, and runs the
kernels to compare them with a reference.")
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)   # depend on the libraries that the binary and the engines are linked with
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "libclang-common-19-dev, rocm-device-libs, libz3-4")   # for C, HIP and IGNORE_OOB=0
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "python3, ocl-icd-libopencl1")
include(CPack)
