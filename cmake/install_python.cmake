# Installs rotor.py into the folder of the prefix where python3 looks for modules, as of /usr, /usr/local,
# ~/.local or a virtual environment; otherwise into the one that Debian's packages use.

get_filename_component(prefix "${CMAKE_INSTALL_PREFIX}" ABSOLUTE)
set(folder "")
foreach(python python3 /usr/bin/python3)
    if(NOT folder)
        execute_process(COMMAND ${python} -c "import site, sys
folders = [*site.getsitepackages(), site.getusersitepackages()]
print(next((p for p in folders if p.startswith(sys.argv[1] + '/lib')), ''), end='')"
            ${prefix} OUTPUT_VARIABLE folder ERROR_QUIET)
    endif()
endforeach()
if(NOT folder)
    set(folder ${prefix}/lib/python3/dist-packages)
endif()
file(INSTALL ${CMAKE_CURRENT_LIST_DIR}/../python/rotor.py DESTINATION ${folder})
