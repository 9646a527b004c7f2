# The last words of the configuration: what was found and what a missing part costs.

function(ringside_report part have with without)
  if(have)
    message(STATUS "  ${part} yes  ${with}")
  else()
    message(STATUS "  ${part} no   ${without}")
  endif()
endfunction()

message(STATUS "")
message(STATUS "Ringside ${PROJECT_VERSION}, ${CMAKE_BUILD_TYPE}, "
               "${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}")
if(RINGSIDE_SANITIZE)
  message(STATUS "  Sanitizer     ${RINGSIDE_SANITIZE}")
endif()
message(STATUS "  CPU products  ${RINGSIDE_BLAS_CHOICE}")
ringside_report("Graphviz     " ${RINGSIDE_HAVE_GRAPHVIZ} "${GRAPHVIZ_GVC_LIBRARY}"
                "pictures are written as DOT text only")
ringside_report("MPI          " ${RINGSIDE_HAVE_MPI} "${MPI_CXX_COMPILER}"
                "no runs over several processes")
ringside_report("CUDA and NCCL" ${RINGSIDE_HAVE_CUDA} "${CMAKE_CUDA_COMPILER_VERSION}, ${NCCL_LIBRARY}"
                "no runs on GPUs")
ringside_report("Tests        " ${RINGSIDE_BUILD_TESTS} "" "")
ringside_report("ccache       " "${RINGSIDE_CCACHE}" "${RINGSIDE_CCACHE}" "")
message(STATUS "")
