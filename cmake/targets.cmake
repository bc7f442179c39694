# The functions that declare tgc's libraries, engines and tests. The CMakeLists.txt files list the sources;
# scripts/ci/check_sources finds files that no list names.

# tgc_unity(OUT NAME FILES...): sets OUT to the files to compile: FILES or, with TGC_UNITY=N, generated files that include N of
# them each. Headers then are parsed and inline functions compiled once per N files. CMake's own CMAKE_UNITY_BUILD writes the
# absolute paths of FILES, so clones could not share ccache.
function(tgc_unity out name)
  set(files ${ARGN})
  if(TGC_UNITY LESS 2)
    set(${out} ${files} PARENT_SCOPE)
    return()
  endif()
  file(RELATIVE_PATH folder ${CMAKE_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
  set(units "")
  while(files)
    list(LENGTH units number)
    list(SUBLIST files 0 ${TGC_UNITY} part)
    list(REMOVE_ITEM files ${part})
    list(TRANSFORM part REPLACE "(.+)" "#include \"${folder}/\\1\"\n")
    list(JOIN part "" text)
    set(unit ${CMAKE_CURRENT_BINARY_DIR}/${name}_unity_${number}.cpp)
    file(CONFIGURE OUTPUT ${unit} CONTENT "${text}" @ONLY)
    list(APPEND units ${unit})
  endwhile()
  set(${out} ${units} PARENT_SCOPE)
endfunction()

# tgc_library(NAME [ONE_BY_ONE] [COLD] LINK libraries... SOURCES files... [SMALL files...] [HOT files...] [ALONE files...]
#             [TESTS files...] [TESTS_ALONE files...])
# declares the static library tgc_NAME.
#   ONE_BY_ONE   TGC_UNITY has no effect on SOURCES. For the pipeline and what it spends its time in: g++ inlines less in long
#                files
#   SMALL   files that TGC_UNITY joins although the library is ONE_BY_ONE: together they are no long file
#   COLD    compiled with -O1, which takes less time: for commands that mostly wait for devices, compilers and the pipeline
#   HOT     files that process millions of nodes per second: compiled one by one with -O3
#   ALONE   files compiled one by one, because they are hot, or have flags of their own, or names that clash with another file's
#   TESTS   their objects are tgc_NAME_tests, which tgc_test_program() links
function(tgc_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "ONE_BY_ONE;COLD" "" "LINK;SOURCES;SMALL;HOT;ALONE;TESTS;TESTS_ALONE")
  set(sources ${arg_SOURCES})
  if(NOT arg_ONE_BY_ONE)
    tgc_unity(sources tgc_${name} ${arg_SOURCES})
  endif()
  tgc_unity(small tgc_${name}_small ${arg_SMALL})
  add_library(tgc_${name} STATIC ${sources} ${small} ${arg_HOT} ${arg_ALONE})
  target_link_libraries(tgc_${name} PUBLIC tgc_flags ${arg_LINK})
  set_property(SOURCE ${arg_HOT} APPEND PROPERTY COMPILE_OPTIONS -O3)
  if(arg_COLD)
    target_compile_options(tgc_${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  endif()
  tgc_tests(${name} tgc_${name} SOURCES ${arg_TESTS} ALONE ${arg_TESTS_ALONE})
endfunction()

# tgc_tests(NAME TARGET SOURCES files... ALONE files...): the unit tests tgc_NAME_tests of TARGET. They are not optimised, but
# the library with the tested code is.
function(tgc_tests name target)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "SOURCES;ALONE")
  if(NOT TGC_TESTS OR NOT (arg_SOURCES OR arg_ALONE))
    return()
  endif()
  tgc_unity(sources tgc_${name}_tests ${arg_SOURCES})
  add_library(tgc_${name}_tests OBJECT ${sources} ${arg_ALONE})
  target_link_libraries(tgc_${name}_tests PUBLIC ${target} doctest::doctest)
  target_compile_options(tgc_${name}_tests PRIVATE -O0 -U_FORTIFY_SOURCE)
  file(RELATIVE_PATH folder ${CMAKE_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
  set(files ${arg_SOURCES} ${arg_ALONE})
  list(TRANSFORM files PREPEND ${folder}/)
  set_target_properties(tgc_${name}_tests PROPERTIES TGC_FILES "${files}")
endfunction()

# tgc_loaded(TARGET): puts a shared object that tgc loads on first use into build/PRESET/lib/tgc. It exports only what it marks.
function(tgc_loaded target)
  set_target_properties(${target} PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
                        LIBRARY_OUTPUT_DIRECTORY ${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/tgc)
  set_property(GLOBAL APPEND PROPERTY TGC_LOADED ${target})
endfunction()
