# An agent without a model, which speaks the Agent Client Protocol: it finds the plans good, and sows.
# In plan 01-01 it asks in the middle of its work; in plan 02-01 it meddles with planning files.

say() { printf '{"jsonrpc":"2.0",%s}\n' "$1"; }
words() {
    say '"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"'"$1"'"}}}'
}
sown='```json\n{\"status\":\"done\",\"summary\":\"Sown.\",\"decisions\":[\"Rows: they are dense\"],\"deferred\":[\"The gate is open\"]}\n```'
good='```json\n{\"verdict\":\"passed\",\"issues\":[]}\n```'

may() {
    say '"id":"p","method":"session/request_permission","params":{"sessionId":"s","toolCall":{"toolCallId":"t","kind":"execute","title":"sow","rawInput":{"command":"sow"}},"options":[{"optionId":"yes","kind":"allow_once","name":"Yes"},{"optionId":"no","kind":"reject_once","name":"No"}]}'
    read -r reply
    case $reply in *'"yes"'*) return 0 ;; *) return 1 ;; esac
}

work() {
    case $1 in
    *'role: plan-checker'*) answer=$good ;;
    *'plan: 01-02'*) echo 2 >> b ;;
    *'plan: 02-01'*)
        echo mine >> .planning/phases/01-field-1/01-01-SUMMARY.md
        echo mine >> .planning/phases/02-field-2/02-CONTEXT.md
        echo 3 >> c
        ;;
    *)
        # Plan 01-01, or on with it after an answer: what it did before is still there.
        grep -q half a 2> /dev/null || echo half >> a
        if may; then echo whole >> a; fi
        ;;
    esac
}

answer=$sown
is_done=
while read -r line; do
    id=$(printf '%s\n' "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')
    case $line in
    *'"method":"initialize"'*)
        say '"id":'"$id"',"result":{"protocolVersion":1,"agentCapabilities":{"sessionCapabilities":{"resume":{}}}}'
        ;;
    *'"method":"session/new"'*) say '"id":'"$id"',"result":{"sessionId":"s"}' ;;
    *'"method":"session/resume"'*) say '"id":'"$id"',"result":{}' ;;
    *'"method":"session/prompt"'*)
        # What comes after it is done is what others tell it.
        [ -n "$is_done" ] || work "$line"
        is_done=yes
        words "$answer"
        say '"id":'"$id"',"result":{"stopReason":"end_turn","usage":{"inputTokens":10,"outputTokens":5}}'
        ;;
    esac
done
