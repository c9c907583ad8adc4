# Completion for bash: options, configuration files, and keys with their values. The program lists them
# (--completion). Installed, bash finds this file; for build/train in the folder of the sources:
#
#     . train/rotor.bash

# The values behind the tab of a word in the list.
_rotor_values() { # _rotor_values LIST WORD
    local line
    while IFS= read -r line; do
        [[ $line != "$2"$'\t'* ]] || { printf '%s\n' "${line#*$'\t'}"; return; }
    done <<<"$1"
}

# Adds the values of a kind that begin with a word. $3 stands before them in what is replaced.
_rotor_add() { # _rotor_add VALUES WORD BEFORE
    local values=${1//,/} value
    for value in $values; do
        case $value in
        @file) mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -P "$3" -f -- "$2") ;;
        @folder) mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -P "$3" -d -- "$2") ;;
        ...) ;;
        *) [[ $value != "$2"* ]] || COMPREPLY+=("$3$value") ;;
        esac
        [[ $value != @* ]] || compopt -o filenames 2>/dev/null
    done
}

_rotor() {
    local program=${COMP_WORDS[0]/#\~/$HOME} i=$COMP_CWORD k list name values more=
    local word=${COMP_WORDS[i]}
    COMPREPLY=()
    list=$("$program" --completion 2>/dev/null) || return
    # bash takes words apart at "=" and ":"
    while [[ $i -gt 1 && (${COMP_WORDS[i]} == [=:] || ${COMP_WORDS[i - 1]} == [=:]) ]]; do
        i=$((i - 1))
        word=${COMP_WORDS[i]}$word
    done
    name=${COMP_WORDS[i - 1]}
    if [[ $word == *=* ]]; then
        name=${word%%=*}
        [[ $name == --* ]] || name+="="
        word=${word#*=}
    elif [[ $name != --* || $list != *"$name"$'\t'* ]]; then
        name=
    fi
    if [ -n "$name" ]; then # the value of a key, perhaps one of several, or of an option
        [[ $word != *:* ]] || return 0
        k=${word##*,}
        _rotor_add "$(_rotor_values "$list" "$name")" "$k" "${word%"$k"}"
    else
        for ((k = 1; k < i; k++)); do # operands of an option
            values=$(_rotor_values "$list" "${COMP_WORDS[k]}")
            [[ $values != *... ]] || more=$values
        done
        if [[ -n $more && $word != -* ]]; then
            [[ $more == *@folder* ]] || more=@file
            _rotor_add "$more" "$word" ""
        else
            mapfile -t COMPREPLY < <(compgen -W "$(cut -f 1 <<<"$list")" -- "$word"
                [[ $word == -* ]] || { compgen -f -X '!*.ini' -- "$word"; compgen -d -S / -- "$word"; })
        fi
    fi
    [[ ${COMPREPLY[0]-} != *[/=:] ]] || compopt -o nospace 2>/dev/null
}

complete -F _rotor rotor rotor-f64 train train-f64
