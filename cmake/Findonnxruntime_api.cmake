# Headers and library of ONNX Runtime: SAM3_ONNXRUNTIME_ROOT (variable or environment), else .deps/onnxruntime (made by
# scripts/setup.sh), else the system's. The library is loaded at run time; its folder goes into the programs' run path.
# Result: target onnxruntime_api (headers only), SAM3_ONNXRUNTIME_LIBRARY (may be empty).
if(NOT SAM3_ONNXRUNTIME_ROOT AND DEFINED ENV{SAM3_ONNXRUNTIME_ROOT})
  set(SAM3_ONNXRUNTIME_ROOT $ENV{SAM3_ONNXRUNTIME_ROOT})
endif()
set(_roots ${SAM3_ONNXRUNTIME_ROOT})
if(NOT SAM3_ONNXRUNTIME_ROOT)
  set(_roots ${PROJECT_SOURCE_DIR}/.deps/onnxruntime)
endif()
find_path(SAM3_ONNXRUNTIME_INCLUDE onnxruntime_c_api.h HINTS ${_roots}
          PATH_SUFFIXES include include/onnxruntime include/onnxruntime/core/session)
find_library(SAM3_ONNXRUNTIME_LIBRARY NAMES onnxruntime libonnxruntime.so.1 HINTS ${_roots} PATH_SUFFIXES lib)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(onnxruntime_api REQUIRED_VARS SAM3_ONNXRUNTIME_INCLUDE
  REASON_FAILURE_MESSAGE "run scripts/setup.sh, or set SAM3_ONNXRUNTIME_ROOT to a folder with include/ and lib/")
if(onnxruntime_api_FOUND AND NOT TARGET onnxruntime_api)
  add_library(onnxruntime_api INTERFACE)
  target_include_directories(onnxruntime_api SYSTEM INTERFACE ${SAM3_ONNXRUNTIME_INCLUDE})
  target_compile_definitions(onnxruntime_api INTERFACE ORT_API_MANUAL_INIT)
  target_link_libraries(onnxruntime_api INTERFACE ${CMAKE_DL_LIBS})
endif()
