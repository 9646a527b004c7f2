# Every option of the build, with a default that works on a laptop.
#
# An optional part is AUTO (use it if it is found), ON (fail if it is not) or OFF.

option(RINGSIDE_BUILD_TESTS "Build the tests" ON)
option(RINGSIDE_BUILD_BENCH "Build the benchmarks (Google Benchmark)" OFF)
option(RINGSIDE_WERROR "Treat warnings as errors" ON)
option(RINGSIDE_NATIVE "Compile for this machine's own instruction set" OFF)

set(RINGSIDE_CUDA AUTO CACHE STRING "CUDA devices and NCCL: AUTO, ON or OFF")
set(RINGSIDE_MPI AUTO CACHE STRING "MPI backend: AUTO, ON or OFF")
set(RINGSIDE_GRAPHVIZ AUTO CACHE STRING "Rendering with Graphviz's library: AUTO, ON or OFF")
set(RINGSIDE_BLAS AUTO CACHE STRING
    "CPU matrix product: AUTO (the first found), OPENBLAS, CBLAS or PLAIN (own loops)")
set(RINGSIDE_SANITIZE "" CACHE STRING
    "Empty, 'address' (with undefined behaviour) or 'thread'")

set_property(CACHE RINGSIDE_CUDA RINGSIDE_MPI RINGSIDE_GRAPHVIZ PROPERTY STRINGS AUTO ON OFF)
set_property(CACHE RINGSIDE_BLAS PROPERTY STRINGS AUTO OPENBLAS CBLAS PLAIN)
set_property(CACHE RINGSIDE_SANITIZE PROPERTY STRINGS "" address thread)

foreach(option RINGSIDE_CUDA RINGSIDE_MPI RINGSIDE_GRAPHVIZ RINGSIDE_BLAS RINGSIDE_SANITIZE)
  get_property(allowed CACHE ${option} PROPERTY STRINGS)
  # An empty element of a list is lost in IN_LIST, so the empty value is let through by hand.
  if(NOT "${${option}}" IN_LIST allowed AND NOT (option STREQUAL "RINGSIDE_SANITIZE" AND "${${option}}" STREQUAL ""))
    list(JOIN allowed ", " allowed)
    message(FATAL_ERROR "${option} is '${${option}}'; it may be one of: ${allowed}")
  endif()
endforeach()

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Debug, Release or RelWithDebInfo" FORCE)
endif()
