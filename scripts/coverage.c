/* scripts/check links this into programs whose lines are counted: those that a process ran which
 * ended with _exit, as the runs of a sweep do, count as well (ld --wrap=_exit). */

void __gcov_dump(void);
_Noreturn void __real__exit(int code);
_Noreturn void __wrap__exit(int code);

void __wrap__exit(int code)
{
    __gcov_dump();
    __real__exit(code);
}
