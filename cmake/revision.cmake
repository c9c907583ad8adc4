# Writes the revision of the sources as a header, if it has changed: run at every build, with
# SOURCE and HEADER. It is empty where the sources are not a repository of their own, as in an
# archive of them.

set(revision "")
find_program(GIT git)
if(GIT AND EXISTS ${SOURCE}/.git)
    execute_process(COMMAND ${GIT} -C ${SOURCE} describe --always --dirty --abbrev=10 --exclude=*
        OUTPUT_VARIABLE revision OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
set(text "#define ROTOR_REVISION \"${revision}\"\n")
set(before "")
if(EXISTS ${HEADER})
    file(READ ${HEADER} before)
endif()
if(NOT text STREQUAL before)
    file(WRITE ${HEADER} "${text}")
endif()
