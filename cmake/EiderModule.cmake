# The flags that every target shares, and the two functions that make a module and its test program.

add_library(eider_flags INTERFACE)
target_compile_options(eider_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Wimplicit-fallthrough
  -Werror -fno-omit-frame-pointer)
# Asio and Beast are compiled once, in src/base/asio.cc.
target_compile_definitions(eider_flags INTERFACE
  BOOST_ASIO_SEPARATE_COMPILATION BOOST_BEAST_SEPARATE_COMPILATION BOOST_ASIO_NO_DEPRECATED)
target_include_directories(eider_flags INTERFACE "${CMAKE_SOURCE_DIR}/src")
if(EIDER_SANITIZE)
  target_compile_options(eider_flags INTERFACE -fsanitize=${EIDER_SANITIZE} -fno-sanitize-recover=all)
  target_link_options(eider_flags INTERFACE -fsanitize=${EIDER_SANITIZE})
  # g++ 12's optimizer reports false positives of these under instrumentation; the ordinary build has them all.
  target_compile_options(eider_flags INTERFACE -Wno-maybe-uninitialized -Wno-tsan -Wno-array-bounds
    -Wno-stringop-overflow -Wno-stringop-overread -Wno-restrict)
  # Several files are compiled as one (EIDER_TOGETHER): the compiler takes all but the first for headers, and a name of
  # one for what a local name of another hides.
  target_compile_options(eider_flags INTERFACE -Wno-subobject-linkage -Wno-shadow)
endif()

# eider_module(NAME [DEPENDS other modules…] [LINK third-party libraries…])
# A module is a folder of src/: every *.cc that is no test becomes the library eider_NAME, every
# *_test.cc goes into the test program NAME_test (run by ctest, one ctest entry a program).
function(eider_module name)
  cmake_parse_arguments(arg "" "" "DEPENDS;LINK" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.cc")
  set(tests ${sources})
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  if(NOT sources)
    message(STATUS "module ${name} has no source yet")
    return()
  endif()
  string(REPLACE "/" "_" target "${name}")
  set(needs eider_flags ${arg_LINK})
  foreach(dep ${arg_DEPENDS})
    list(APPEND needs eider_${dep})
  endforeach()
  add_library(eider_${target} STATIC ${sources})
  target_link_libraries(eider_${target} PUBLIC ${needs})
  target_precompile_headers(eider_${target} PRIVATE "${CMAKE_SOURCE_DIR}/src/base/precompiled.h")
  if(tests)
    add_executable(${target}_test ${tests})
    target_link_libraries(${target}_test PRIVATE eider_${target} GTest::gtest_main rapidcheck rapidcheck_gtest)
    target_compile_definitions(${target}_test PRIVATE EIDER_TEST_DATA="${CMAKE_CURRENT_SOURCE_DIR}/testdata")
    # What is tested is optimized as it is in the program. At -O2 the tests themselves take a third longer to compile.
    target_compile_options(${target}_test PRIVATE -O1)
    target_precompile_headers(${target}_test PRIVATE "${CMAKE_SOURCE_DIR}/src/base/precompiled_test.h")
    add_test(NAME ${target}_test COMMAND ${target}_test)
    # Far over what the slowest takes under a sanitizer: a test that hangs is a failure with its output, not silence.
    set_tests_properties(${target}_test PROPERTIES TIMEOUT 600)
  endif()
endfunction()
