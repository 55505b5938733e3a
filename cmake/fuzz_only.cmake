# What the fuzzers (fuzz/) stand on. Everything else stays out: the build is short, and Clang needs no ONNX Runtime.
if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  message(FATAL_ERROR "SAM3_FUZZ needs Clang, for libFuzzer; the compiler is ${CMAKE_CXX_COMPILER_ID}")
endif()
foreach(layer base text graph)
  add_subdirectory(src/${layer})
endforeach()
add_subdirectory(fuzz)
