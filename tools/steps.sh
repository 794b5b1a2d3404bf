# What tools/demo, tools/test, tools/optimize and tools/install_dependencies share; sourced, not run. Each step writes to
# a log of its own and shows one line; a step that breaks shows the end of its log and ends the script.

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build_dir=$top/build
log_dir=$build_dir/logs
jobs=$(nproc)

# help_if_asked ARGUMENT...: prints the comment at the head of the script that sources this, and ends it.
help_if_asked() {
    local argument
    for argument in "$@"; do
        case "$argument" in
            -h | --help)
                awk 'NR > 1 { if (!sub(/^# ?/, "")) exit; print }' "$0"
                exit 0
                ;;
        esac
    done
}

# allow_no_others ARGUMENT...: ends a script that takes none but --help.
allow_no_others() {
    if [ $# -gt 0 ]; then
        echo "tools/$(basename "$0"): the argument is $1, but it takes none, or --help" >&2
        exit 2
    fi
}

# step NAME COMMAND...: runs the command, quietly; on a terminal with the last line of its log as progress.
step() {
    local name=$1 log start status=0
    shift
    mkdir -p "$log_dir"
    log=$log_dir/${name//[^a-zA-Z0-9]/_}.log
    start=$SECONDS
    # In the background and awaited, so that a function ends at its first error: it would go on where its
    # status is tested. What runs in the background ignores ^C unless told not to, and with bash's own
    # handling it goes on if the command that it waits for ends by itself at that moment.
    (
        trap 'exit 130' INT QUIT
        "$@"
    ) >"$log" 2>&1 &
    if [ -t 2 ]; then
        show_progress "$name" "$log" $!
        printf '\r\033[K' >&2
    fi
    wait $! || status=$?
    if [ "$status" -ne 0 ]; then
        tail -n 60 "$log" >&2
        printf '%s: stopped with status %d after %d s; the whole log is %s\n' \
            "$name" "$status" $((SECONDS - start)) "${log#"$top"/}" >&2
        exit "$status"
    fi
    printf '%-52s %4d s\n' "$name" $((SECONDS - start)) >&2
}

show_progress() {
    local name=$1 log=$2 pid=$3 columns
    columns=$(tput cols 2>/dev/null || echo 80)
    while kill -0 "$pid" 2>/dev/null; do
        printf '\r\033[K%.*s' $((columns - 1)) "$name: $(tail -n 1 "$log" 2>/dev/null | tr -d '\r')" >&2
        sleep 0.3
    done
}

# configure_and_build PRESET [TARGET...]: one step each; an up-to-date tree takes well under a second.
configure_and_build() {
    local preset=$1
    shift
    step "configure $preset" cmake -S "$top" --preset "$preset"
    step "build $preset" cmake --build "$build_dir/$preset" --parallel "$jobs" ${1:+--target "$@"}
}
