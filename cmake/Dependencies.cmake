# Looks for the libraries. Required ones stop the configuration with the name of the package
# to install; optional ones set RINGSIDE_HAVE_CUDA, RINGSIDE_HAVE_MPI, RINGSIDE_HAVE_GRAPHVIZ
# (ON or OFF) and RINGSIDE_BLAS_CHOICE (openblas, cblas or plain), by which a room chooses
# between its real source and its stub.

include(CheckLanguage)

# --- required -----------------------------------------------------------------------------

macro(ringside_require package debian_package)
  find_package(${package} QUIET ${ARGN})
  if(NOT ${package}_FOUND)
    message(FATAL_ERROR "${package} is not installed. On Debian or Ubuntu: apt-get install "
                        "${debian_package} (./quickstart.sh packages lists all that is needed)")
  endif()
endmacro()

ringside_require(fmt libfmt-dev)
ringside_require(ZLIB zlib1g-dev)
ringside_require(nlohmann_json nlohmann-json3-dev)
ringside_require(tomlplusplus libtomlplusplus-dev)
ringside_require(Boost libboost-program-options-dev COMPONENTS program_options)
if(RINGSIDE_BUILD_TESTS)
  ringside_require(GTest libgtest-dev)
  # Debian packs the matchers apart.
  if(NOT TARGET GTest::gmock)
    message(FATAL_ERROR "GoogleMock is not installed. On Debian or Ubuntu: apt-get install libgmock-dev")
  endif()
endif()
if(RINGSIDE_BUILD_BENCH)
  ringside_require(benchmark libbenchmark-dev)
endif()

# --- optional -----------------------------------------------------------------------------

# Turns what was found (a true value or not) into RINGSIDE_HAVE_<part>; 'missing' says what an
# ON that cannot be met lacks.
function(ringside_settle part found missing)
  set(have OFF)
  if(NOT RINGSIDE_${part} STREQUAL "OFF")
    if(found)
      set(have ON)
    elseif(RINGSIDE_${part} STREQUAL "ON")
      message(FATAL_ERROR "RINGSIDE_${part} is ON, but ${missing} was not found")
    endif()
  endif()
  set(RINGSIDE_HAVE_${part} ${have} PARENT_SCOPE)
endfunction()

# Graphviz: libgvc lays a graph out and renders it, libcgraph holds it.
if(NOT RINGSIDE_GRAPHVIZ STREQUAL "OFF")
  find_path(GRAPHVIZ_INCLUDE_DIR graphviz/gvc.h)
  find_library(GRAPHVIZ_GVC_LIBRARY gvc)
  find_library(GRAPHVIZ_CGRAPH_LIBRARY cgraph)
  mark_as_advanced(GRAPHVIZ_INCLUDE_DIR GRAPHVIZ_GVC_LIBRARY GRAPHVIZ_CGRAPH_LIBRARY)
endif()
set(found OFF)
if(GRAPHVIZ_INCLUDE_DIR AND GRAPHVIZ_GVC_LIBRARY AND GRAPHVIZ_CGRAPH_LIBRARY)
  set(found ON)
endif()
ringside_settle(GRAPHVIZ ${found} "Graphviz's library (libgraphviz-dev)")
if(RINGSIDE_HAVE_GRAPHVIZ)
  add_library(ringside_graphviz INTERFACE)
  add_library(Graphviz::gvc ALIAS ringside_graphviz)
  # SYSTEM, and graphviz/ itself too: gvc.h includes its neighbours without the folder.
  target_include_directories(ringside_graphviz SYSTEM INTERFACE
    "${GRAPHVIZ_INCLUDE_DIR}" "${GRAPHVIZ_INCLUDE_DIR}/graphviz")
  target_link_libraries(ringside_graphviz INTERFACE
    "${GRAPHVIZ_GVC_LIBRARY}" "${GRAPHVIZ_CGRAPH_LIBRARY}")
endif()

# MPI: its C interface, called from C++.
if(NOT RINGSIDE_MPI STREQUAL "OFF")
  set(MPI_CXX_SKIP_MPICXX ON)
  find_package(MPI QUIET COMPONENTS CXX)
endif()
set(found OFF)
if(MPI_CXX_FOUND)
  set(found ON)
endif()
ringside_settle(MPI ${found} "an MPI library (libopenmpi-dev)")

# CUDA: nvcc, the runtime, cuBLAS and NCCL; all four or none.
set(found OFF)
if(NOT RINGSIDE_CUDA STREQUAL "OFF")
  # Set before the language is enabled: CMake 3.25's own default is too old for current toolkits.
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES AND NOT DEFINED ENV{CUDAARCHS})
    set(ENV{CUDAARCHS} "75-real;80-real;90")
  endif()
  if(NOT DEFINED ENV{CUDACXX} AND NOT CMAKE_CUDA_COMPILER)
    find_program(RINGSIDE_NVCC nvcc HINTS ENV CUDA_HOME ENV CUDA_PATH PATHS /usr/local/cuda PATH_SUFFIXES bin)
    mark_as_advanced(RINGSIDE_NVCC)
    if(RINGSIDE_NVCC)
      set(ENV{CUDACXX} "${RINGSIDE_NVCC}")
    endif()
  endif()
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    enable_language(CUDA)
    set(CMAKE_CUDA_STANDARD 20)
    set(CMAKE_CUDA_RUNTIME_LIBRARY Shared)
    # CMake 3.25 does not know that an nvcc with Debian 12's GCC speaks C++20.
    if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
      set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
      set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
    endif()
    # Not find_package(CUDAToolkit): CMake 3.25's stops with an error at CUDA 13.
    get_filename_component(toolkit "${CMAKE_CUDA_COMPILER}" REALPATH)
    get_filename_component(toolkit "${toolkit}/../.." ABSOLUTE)
    set(places HINTS ${CMAKE_CUDA_TOOLKIT_INCLUDE_DIRECTORIES} ${CMAKE_CUDA_IMPLICIT_LINK_DIRECTORIES}
               "${toolkit}" ENV NCCL_HOME PATH_SUFFIXES include lib lib64)
    find_path(CUDA_INCLUDE_DIR cuda_runtime.h ${places})
    find_path(NCCL_INCLUDE_DIR nccl.h ${places})
    find_library(CUDA_CUDART_LIBRARY cudart ${places})
    find_library(CUDA_CUBLAS_LIBRARY cublas ${places})
    find_library(NCCL_LIBRARY nccl ${places})
    mark_as_advanced(CUDA_INCLUDE_DIR NCCL_INCLUDE_DIR CUDA_CUDART_LIBRARY CUDA_CUBLAS_LIBRARY
                     NCCL_LIBRARY)
    # C++20 device code needs CUDA 12.
    if(CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL 12 AND CUDA_INCLUDE_DIR AND
       NCCL_INCLUDE_DIR AND CUDA_CUDART_LIBRARY AND CUDA_CUBLAS_LIBRARY AND NCCL_LIBRARY)
      set(found ON)
    endif()
  endif()
endif()
ringside_settle(CUDA ${found} "one of nvcc (12 or later), the CUDA runtime, cuBLAS and NCCL")
if(RINGSIDE_HAVE_CUDA)
  add_library(ringside_cudart INTERFACE)
  add_library(CUDA::cudart ALIAS ringside_cudart)
  target_include_directories(ringside_cudart SYSTEM INTERFACE "${CUDA_INCLUDE_DIR}")
  target_link_libraries(ringside_cudart INTERFACE "${CUDA_CUDART_LIBRARY}")
  add_library(ringside_nccl INTERFACE)
  add_library(NCCL::nccl ALIAS ringside_nccl)
  target_include_directories(ringside_nccl SYSTEM INTERFACE "${NCCL_INCLUDE_DIR}")
  target_link_libraries(ringside_nccl INTERFACE "${NCCL_LIBRARY}")
endif()

# CPU matrix product: an interface library that src/tensor links, whatever the choice.
# The sanitizers cannot see generated or assembled code, so under them it is plain loops.
add_library(ringside_blas INTERFACE)
set(RINGSIDE_BLAS_CHOICE plain)
if(NOT RINGSIDE_SANITIZE)
  # CBLAS is part of the BLAS (OpenBLAS) or a library of its own (the reference BLAS).
  if(RINGSIDE_BLAS MATCHES "^(AUTO|OPENBLAS)$")
    find_path(OPENBLAS_INCLUDE_DIR openblas_config.h
      PATH_SUFFIXES openblas openblas-serial openblas-pthread openblas-openmp)
    # The variant with threads, held to one, may be called by several threads at a time; the one
    # without would have to serve them one by one. Its folder becomes part of the program's search
    # path, so that it is the one that is loaded.
    find_library(OPENBLAS_LIBRARY openblas NO_DEFAULT_PATH
      PATHS "/usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/openblas-pthread")
    find_library(OPENBLAS_LIBRARY openblas
      PATH_SUFFIXES openblas-pthread openblas-openmp openblas-serial)
    mark_as_advanced(OPENBLAS_INCLUDE_DIR OPENBLAS_LIBRARY)
    if(OPENBLAS_INCLUDE_DIR AND OPENBLAS_LIBRARY)
      set(RINGSIDE_BLAS_CHOICE openblas)
      target_include_directories(ringside_blas SYSTEM INTERFACE "${OPENBLAS_INCLUDE_DIR}")
      target_link_libraries(ringside_blas INTERFACE "${OPENBLAS_LIBRARY}")
    endif()
  endif()
  if(RINGSIDE_BLAS_CHOICE STREQUAL "plain" AND RINGSIDE_BLAS MATCHES "^(AUTO|CBLAS)$")
    find_path(CBLAS_INCLUDE_DIR cblas.h)
    find_library(CBLAS_LIBRARY NAMES cblas blas)
    mark_as_advanced(CBLAS_INCLUDE_DIR CBLAS_LIBRARY)
    if(CBLAS_INCLUDE_DIR AND CBLAS_LIBRARY)
      set(RINGSIDE_BLAS_CHOICE cblas)
      target_include_directories(ringside_blas SYSTEM INTERFACE "${CBLAS_INCLUDE_DIR}")
      target_link_libraries(ringside_blas INTERFACE "${CBLAS_LIBRARY}")
    endif()
  endif()
  if(RINGSIDE_BLAS MATCHES "^(OPENBLAS|CBLAS)$")
    string(TOLOWER "${RINGSIDE_BLAS}" wanted)
    if(NOT RINGSIDE_BLAS_CHOICE STREQUAL wanted)
      message(FATAL_ERROR "RINGSIDE_BLAS is ${RINGSIDE_BLAS}, but it was not found")
    endif()
  endif()
endif()
