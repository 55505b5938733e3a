# sam3_layer(NAME SOURCES ... [LINKS ...]): one folder of src/ as one target, sam3_NAME.
# What a layer may include is checked by tools/checks/layers.py; LINKS says what it is linked with.
function(sam3_layer name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINKS" ${ARGN})
  add_library(sam3_${name} STATIC ${ARG_SOURCES})
  target_include_directories(sam3_${name} PUBLIC ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(sam3_${name} PUBLIC ${ARG_LINKS})
  sam3_compile_options(sam3_${name})
  # The sanitized build is not optimized, which halves the time to compile; loops over pixels would be too slow so.
  if(SAM3_SANITIZE AND name MATCHES "^(image|mask|formats|text|quantize|runtime)$")
    target_compile_options(sam3_${name} PRIVATE -O1)
  endif()
endfunction()

function(sam3_compile_options target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion
    $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)  # false alarms of GCC 12 in <string>
  if(SAM3_SANITIZE)
    target_compile_options(${target} PUBLIC -fsanitize=${SAM3_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_link_options(${target} PUBLIC -fsanitize=${SAM3_SANITIZE})
  endif()
endfunction()

# sam3_test(NAME SOURCES ... LINKS ...): a GoogleTest program whose cases ctest knows one by one.
function(sam3_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINKS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_compile_definitions(${name} PRIVATE SAM3_TEST_DATA="${PROJECT_SOURCE_DIR}/tests/data"
                                             SAM3_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  target_link_libraries(${name} PRIVATE ${ARG_LINKS} GTest::gmock GTest::gtest_main)
  sam3_compile_options(${name})
  sam3_ort_run_path(${name})
  target_compile_options(${name} PRIVATE -O0 -pthread)  # half the time to compile; what is tested stays optimized
  # GoogleTest's headers are most of what a test has to read: they are compiled once.
  if(TARGET sam3_test_headers)
    target_precompile_headers(${name} REUSE_FROM sam3_test_headers)
  endif()
  if(SAM3_SANITIZE)
    add_test(NAME ${name} COMMAND ${name})  # a start for every case takes longer than the cases
  else()
    gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60 DISCOVERY_MODE PRE_TEST)
  endif()
endfunction()

# The headers that tests have in common, for sam3_test.
function(sam3_test_headers)
  file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/headers.cc "")
  add_library(sam3_test_headers OBJECT ${CMAKE_CURRENT_BINARY_DIR}/headers.cc)
  target_link_libraries(sam3_test_headers PRIVATE GTest::gmock)
  sam3_compile_options(sam3_test_headers)
  target_compile_options(sam3_test_headers PRIVATE -O0 -fPIE -pthread)
  target_precompile_headers(sam3_test_headers PRIVATE <gmock/gmock.h> <gtest/gtest.h> <filesystem> <fstream> <map> <string> <vector>)
endfunction()
