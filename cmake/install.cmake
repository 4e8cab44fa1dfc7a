# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` puts where, and how other projects find it: CMake's find_package(myriarm) and pkg-config. All of
# it can be moved: nothing in it names the folder that it was installed to.
# The components keep the wheel apart, which takes the component `python` alone.
include(CMakePackageConfigHelpers)
set(cmake_folder ${CMAKE_INSTALL_LIBDIR}/cmake/myriarm)

install(DIRECTORY include/myriarm include/myriarm-c DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development
  FILES_MATCHING PATTERN "*.h")
install(FILES LICENSE README.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT runtime)
if(MYRIARM_BUILD_CLI)
  install(TARGETS myriarm_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT runtime)
endif()
if(MYRIARM_LLVM)
  install(TARGETS myriarm_translator LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/myriarm COMPONENT runtime)
endif()

install(TARGETS myriarm EXPORT myriarm-cxx ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
if(MYRIARM_CUDA AND NOT MYRIARM_CUDA_EMULATED)
  install(TARGETS ${MYRIARM_KERNEL_LIBRARIES} EXPORT myriarm-cxx ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
endif()
install(EXPORT myriarm-cxx FILE myriarm-cxx.cmake NAMESPACE myriarm:: DESTINATION ${cmake_folder} COMPONENT development)
if(MYRIARM_BUILD_SHARED)
  install(TARGETS myriarm_c EXPORT myriarm-c LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime
    NAMELINK_COMPONENT development)
  install(EXPORT myriarm-c FILE myriarm-c.cmake NAMESPACE myriarm:: DESTINATION ${cmake_folder} COMPONENT development)
endif()

configure_package_config_file(cmake/myriarmConfig.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/myriarmConfig.cmake
  INSTALL_DESTINATION ${cmake_folder})
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/myriarmConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/myriarmConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/myriarmConfigVersion.cmake
  DESTINATION ${cmake_folder} COMPONENT development)

# pkg-config: paths are relative to the folder of the .pc file, unless CMake got them as absolute paths.
function(myriarm_pc_folder folder variable)
  if(IS_ABSOLUTE ${folder})
    set(${variable} ${folder} PARENT_SCOPE)
  else()
    set(${variable} "\${prefix}/${folder}" PARENT_SCOPE)
  endif()
endfunction()
if(IS_ABSOLUTE ${CMAKE_INSTALL_LIBDIR})
  set(pc_prefix ${CMAKE_INSTALL_PREFIX})
else()
  file(RELATIVE_PATH up /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
  string(REGEX REPLACE "/$" "" up "${up}")
  set(pc_prefix "\${pcfiledir}/${up}")
endif()
myriarm_pc_folder(${CMAKE_INSTALL_LIBDIR} pc_libdir)
myriarm_pc_folder(${CMAKE_INSTALL_INCLUDEDIR} pc_includedir)
# What the static library needs beside itself.
set(pc_kernels "")
set(pc_system_libraries "-lstdc++ -lm -pthread")
set(pc_variables "")
if(MYRIARM_LLVM)
  string(PREPEND pc_system_libraries "-ldl ")
endif()
if(MYRIARM_CUDA AND NOT MYRIARM_CUDA_EMULATED)
  foreach(name ${MYRIARM_KERNEL_LIBRARIES})
    string(APPEND pc_kernels "\${libdir}/lib${name}.a ")
  endforeach()
  get_filename_component(cuda_folder "${CUDA_cudart_static_LIBRARY}" DIRECTORY)
  set(pc_variables "# Where CUDA was when the library was built; --define-variable=cuda_libdir=... says where it is.\ncuda_libdir=${cuda_folder}\n")
  string(PREPEND pc_system_libraries "-L\${cuda_libdir} -lcudart_static -ldl -lrt ")
endif()
foreach(name myriarm-cpp myriarm)
  if(name STREQUAL myriarm-cpp OR MYRIARM_BUILD_SHARED)
    configure_file(cmake/${name}.pc.in ${CMAKE_CURRENT_BINARY_DIR}/${name}.pc @ONLY)
    install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
      COMPONENT development)
  endif()
endforeach()
