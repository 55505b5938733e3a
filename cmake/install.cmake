# What `cmake --install` puts where. The tree may be moved as a whole: every path in it is relative.
include(CMakePackageConfigHelpers)

# Where the system's linker would not find ONNX Runtime (one that scripts/setup.sh fetched, say), it goes along.
get_filename_component(_folder "${SAM3_ONNXRUNTIME_LIBRARY}" DIRECTORY)
if(NOT _folder OR _folder IN_LIST CMAKE_CXX_IMPLICIT_LINK_DIRECTORIES)
  set(_bundle OFF)
else()
  set(_bundle ON)
endif()
option(SAM3_BUNDLE_ONNXRUNTIME "Install a copy of ONNX Runtime's library for libsam3 alone" ${_bundle})

set(_package ${CMAKE_INSTALL_LIBDIR}/cmake/sam3)
set(_data ${CMAKE_INSTALL_DATADIR}/sam3)

sam3_ort_run_path(sam3)
sam3_ort_run_path(sam3_cli)

install(TARGETS sam3 EXPORT sam3Targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS sam3_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/sam3 DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(DIRECTORY ${PROJECT_SOURCE_DIR}/models/demo DESTINATION ${_data}/models)
install(FILES LICENSE NOTICE README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING PATTERN "*.md")

if(SAM3_BUNDLE_ONNXRUNTIME)
  file(GLOB _libraries "${_folder}/libonnxruntime.so.1*")  # the link that is loaded by name, and its target
  if(NOT _libraries)
    message(FATAL_ERROR "SAM3_BUNDLE_ONNXRUNTIME is on, but there is no libonnxruntime.so.1 in '${_folder}'")
  endif()
  install(FILES ${_libraries} DESTINATION ${CMAKE_INSTALL_LIBDIR}/sam3)
endif()

install(EXPORT sam3Targets NAMESPACE sam3:: DESTINATION ${_package})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/sam3Config.cmake.in ${PROJECT_BINARY_DIR}/sam3Config.cmake
  INSTALL_DESTINATION ${_package} PATH_VARS _data)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/sam3ConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/sam3Config.cmake ${PROJECT_BINARY_DIR}/sam3ConfigVersion.cmake DESTINATION ${_package})

file(RELATIVE_PATH SAM3_PC_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" SAM3_PC_PREFIX ${SAM3_PC_PREFIX})
configure_file(${CMAKE_CURRENT_LIST_DIR}/sam3.pc.in ${PROJECT_BINARY_DIR}/sam3.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/sam3.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
