# 'cmake --install BUILD --prefix DIR' after a build: the program, its completion for bash, zsh and
# fish, and the scenario files. Nothing else is needed to run it.
include(GNUInstallDirs)

install(TARGETS ringside RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
install(DIRECTORY scenarios DESTINATION "${CMAKE_INSTALL_DATADIR}/ringside")

# The program prints its own completion.
install(CODE "
  set(program \"$<TARGET_FILE:ringside>\")
  set(completion \"${PROJECT_BINARY_DIR}/completion\")"
)
install(CODE [[
  file(MAKE_DIRECTORY "${completion}")
  foreach(shell bash zsh fish)
    execute_process(COMMAND "${program}" completion ${shell}
      OUTPUT_FILE "${completion}/${shell}" COMMAND_ERROR_IS_FATAL ANY)
  endforeach()]]
)
foreach(place bash:bash-completion/completions/ringside zsh:zsh/site-functions/_ringside
              fish:fish/vendor_completions.d/ringside.fish)
  string(REGEX MATCH "^([a-z]+):(.*)/([^/]+)$" matched "${place}")
  install(FILES "${PROJECT_BINARY_DIR}/completion/${CMAKE_MATCH_1}"
    DESTINATION "${CMAKE_INSTALL_DATADIR}/${CMAKE_MATCH_2}" RENAME "${CMAKE_MATCH_3}")
endforeach()
