# sam3_ort_run_path(TARGET): where a program or shared library finds ONNX Runtime (loaded by name at run time) and, once
# installed, libsam3. In the build tree: the folder of SAM3_ONNXRUNTIME_LIBRARY. Installed: next to the library, or the
# private folder that install.cmake fills. A run path counts only for the file that calls dlopen, so both need one.
function(sam3_ort_run_path target)
  if(SAM3_ONNXRUNTIME_LIBRARY)
    get_filename_component(folder ${SAM3_ONNXRUNTIME_LIBRARY} DIRECTORY)
    set_property(TARGET ${target} APPEND PROPERTY BUILD_RPATH ${folder})
  endif()
  get_target_property(type ${target} TYPE)
  set(library_folder "")
  if(type STREQUAL "EXECUTABLE")
    file(RELATIVE_PATH library_folder /${CMAKE_INSTALL_BINDIR} /${CMAKE_INSTALL_LIBDIR})
    set(library_folder /${library_folder})
  endif()
  set_property(TARGET ${target} PROPERTY INSTALL_RPATH "$ORIGIN${library_folder};$ORIGIN${library_folder}/sam3")
  if(SAM3_SANITIZE)
    # The sanitizer's own dlopen makes the call, so only the program's old-style path (DT_RPATH) is searched.
    target_link_options(${target} PRIVATE -Wl,--disable-new-dtags)
  endif()
endfunction()
