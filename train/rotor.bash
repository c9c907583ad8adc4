# Completion for bash: options, configuration files, and keys with what they can be. The program
# itself knows them all (--help).

# The keys, with "=" behind each, or the options, of the program $1.
_rotor_list() { # _rotor_list PROGRAM options|keys
    local pattern='s/^  \([a-z_]*\.[a-z_0-9]*=\).*/\1/p'
    [ "$2" = keys ] || pattern='s/^  \(-h, \)*\(--[a-z-]*\).*/\2/p'
    "$1" --help 2>/dev/null | sed -n "$pattern"
}

# The words of a choice, which --help has in brackets at the end of the key's line.
_rotor_values() { # _rotor_values PROGRAM KEY
    case $("$1" --help 2>/dev/null | grep -F "  $2=") in
    *\)) "$1" --help | sed -n "s/^  $2=.*(\([a-z0-9_, ]*\))\$/\1/p" | tr -d , ;;
    *=yes\ * | *=no\ *) echo yes no ;;
    esac
}

_rotor() {
    local program=${COMP_WORDS[0]} word=${COMP_WORDS[COMP_CWORD]} key= before=
    [ "$COMP_CWORD" -lt 1 ] || before=${COMP_WORDS[COMP_CWORD - 1]}
    # bash takes "key=value" apart at the "="
    if [ "$word" = = ]; then
        key=$before word=
    elif [ "$before" = = ]; then
        key=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    COMPREPLY=()
    if [ -n "$key" ]; then
        case $key in
        *.file | *.eval_file | *.init_from | *.vocab_file | *.cache | run.dir)
            mapfile -t COMPREPLY < <(compgen -f -- "$word")
            compopt -o filenames 2>/dev/null ;;
        *)
            mapfile -t COMPREPLY < <(compgen -W "$(_rotor_values "$program" "$key")" -- "$word") ;;
        esac
        return
    fi
    case $before in
    --report | --watch | --export)
        mapfile -t COMPREPLY < <(compgen -d -- "$word")
        compopt -o filenames 2>/dev/null
        return ;;
    --checkpoint | --output | --encode | --embed)
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
        compopt -o filenames 2>/dev/null
        return ;;
    --pool)
        mapfile -t COMPREPLY < <(compgen -W 'mean first last' -- "$word")
        return ;;
    --theta)
        mapfile -t COMPREPLY < <(compgen -W 'start base' -- "$word"; compgen -f -- "$word")
        compopt -o filenames 2>/dev/null
        return ;;
    --init)
        mapfile -t COMPREPLY < <(compgen -W 'gpt mlm classify tag theta' -- "$word")
        return ;;
    --level)
        mapfile -t COMPREPLY < <(compgen -W 'bpe wordpiece' -- "$word")
        return ;;
    --dtype)
        mapfile -t COMPREPLY < <(compgen -W 'f32 f16' -- "$word")
        return ;;
    --predict | --temperature | --top-k | --top-p | --stop | --seed | --layer | --tokens | --samples | --threads | --train-tokenizer)
        return ;;
    esac
    if [[ $word != -* && " ${COMP_WORDS[*]:1:COMP_CWORD-1} " = *' --'@(train-tokenizer|encode)' '* ]]; then
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
        compopt -o filenames 2>/dev/null
        return
    fi
    case $word in
    -*) mapfile -t COMPREPLY < <(compgen -W "$(_rotor_list "$program" options)" -- "$word") ;;
    *)
        mapfile -t COMPREPLY < <(compgen -f -X '!*.ini' -- "$word"; compgen -d -S / -- "$word"
            compgen -W "$(_rotor_list "$program" keys)" -- "$word") ;;
    esac
    case ${COMPREPLY[0]-} in
    */ | *=) compopt -o nospace 2>/dev/null ;;
    esac
}

complete -F _rotor rotor rotor-f64
