#compdef rotor rotor-f64 train train-f64
# Completion for zsh: options, configuration files, and keys with their values. The program lists them
# (--completion). Installed as _rotor, zsh finds this file; for build/train in the folder of the sources:
#
#     . train/rotor.zsh

# Adds the values of a kind, behind the last comma of a list.
_rotor_add() { # _rotor_add VALUES
    local value
    local -a plain open
    for value in ${=1//,/}; do
        case $value in
        @file) _files ;;
        @folder) _files -/ ;;
        ...) ;;
        *:) open+=($value) ;;
        *) plain+=($value) ;;
        esac
    done
    compadd -a plain
    compadd -S '' -a open
}

_rotor() {
    local program=${(Q)~words[1]} name more= word
    local -A values
    local -a names keys
    for word in ${(f)"$($program --completion 2>/dev/null)"}; do
        name=${word%%$'\t'*}
        names+=($name)
        [[ $word != *$'\t'* ]] || values[$name]=${word#*$'\t'}
    done
    if [[ $PREFIX == *=* ]]; then
        name=${PREFIX%%=*}
        [[ $name == --* ]] || name+="="
        compset -P 1 '*='
        compset -P '*,'
        _rotor_add "${values[$name]}"
        return
    fi
    name=${words[CURRENT - 1]}
    if [[ $name == --* && -n ${values[(i)$name]} ]]; then
        _rotor_add "${values[$name]}"
        return
    fi
    for word in ${words[2, CURRENT - 1]}; do
        [[ ${values[$word]} != *... ]] || more=${values[$word]}
    done
    if [[ -n $more && $PREFIX != -* ]]; then
        [[ $more == *@folder* ]] && _files -/ || _files
    elif [[ $PREFIX == -* ]]; then
        names=(${(M)names:#--*})
        compadd -a names
    else
        keys=(${names:#--*})
        compadd -S '' -a keys
        _files -g '*.ini'
    fi
}

if [[ $funcstack[1] == _rotor ]]; then
    _rotor "$@"
else
    (( $+functions[compdef] )) || { autoload -Uz compinit && compinit }
    compdef _rotor rotor rotor-f64 train train-f64
fi
