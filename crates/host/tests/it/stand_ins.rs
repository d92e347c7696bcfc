//! Small programs in the place of an agent that garble, flood, say nothing, stay, and leave others.

use std::path::PathBuf;
use std::time::Duration;

use mow_host::agent::{End, Job, Kind, Limits, Trouble};

use crate::bench::{Bench, Person};

#[track_caller]
fn check(kind: Kind, script: &str, expected: Trouble) -> String {
    let bench = Bench::stand_in(kind, script);
    let limits = Limits {
        wall: Some(Duration::from_secs(180)),
        line_bytes: 1 << 20,
        all_bytes: 4 << 20,
        ..Limits::default()
    };
    let job = Job { limits, ..bench.job("do it") };
    let end = bench.run(&job, &mut Person::default());
    let log = bench.log();
    assert!(log.len() < 600_000, "{}", log.len());
    let End::Failed { kind, text } = end else { panic!("{script}: {end:?}") };
    assert_eq!(kind, expected, "{script}: {text}");
    text
}

const KINDS: [Kind; 3] = [Kind::Claude, Kind::Codex, Kind::Acp];

#[test]
fn what_is_no_agent_is_told_apart() {
    for kind in KINDS {
        check(kind, "exit 0", Trouble::NoResult);
        check(kind, "cat >/dev/null & exec 0<&-; exit 0", Trouble::NoResult);
        assert_eq!(check(kind, "echo oh no >&2; exit 3", Trouble::Crashed), "oh no");
        assert_eq!(check(kind, "exit 3", Trouble::Crashed), "it exited with 3");
        assert!(check(kind, "kill -9 $$", Trouble::Crashed).contains("signal 9"));
        check(kind, "yes 'hello there'", Trouble::Garbage);
        check(kind, "head -c 9000000 /dev/zero; sleep 300", Trouble::Flood);
        check(kind, "while :; do echo '{\"type\":\"x\"}'; done", Trouble::Flood);
        check(kind, "head -c 9000000 /dev/zero >&2; sleep 300", Trouble::Flood);
        check(kind, "echo hello; echo; echo '[1, 2]'; echo 7; exit 0", Trouble::NoResult);
    }
}

#[test]
fn a_line_without_an_end_is_bounded_by_itself() {
    let bench = Bench::stand_in(Kind::Claude, "head -c 9000000 /dev/zero; sleep 300");
    let limits = Limits { line_bytes: 1 << 20, ..Limits::default() };
    let end = bench.run(&Job { limits, ..bench.job("do it") }, &mut Person::default());
    assert!(matches!(end, End::Failed { kind: Trouble::Flood, .. }), "{end:?}");
}

#[test]
fn a_program_that_is_not_there_is_said() {
    for kind in KINDS {
        let mut bench = Bench::stand_in(kind, "");
        bench.program = PathBuf::from("/no/such/agent");
        let end = bench.run(&bench.job("do it"), &mut Person::default());
        let End::Failed { kind, .. } = end else { panic!("{end:?}") };
        assert_eq!(kind, Trouble::NotInstalled);
    }
}

#[test]
fn one_that_says_nothing_is_ended_with_all_that_left_its_group() {
    for kind in KINDS {
        let script = "trap '' TERM; (setsid sh -c \"trap '' TERM; sleep 300\" &); sleep 300";
        let bench = Bench::stand_in(kind, script);
        let limits = Limits { wall: Some(Duration::from_millis(300)), ..Limits::default() };
        let job = Job { limits, ..bench.job("do it") };
        let end = bench.run(&job, &mut Person::default());
        assert!(matches!(end, End::Failed { kind: Trouble::TimedOut, .. }), "{end:?}");
    }
}

/// An agent that tells what it has cost whenever it does something, and does so again and again.
const DEAR: &str = r#"
say() { printf '{"jsonrpc":"2.0",%s}\n' "$1"; }
update() { say '"method":"session/update","params":{"sessionId":"s","update":'"$1"'}'; }
while read -r line; do
  id=${line##*'"id":'}; id=${id%%[,\}]*}
  case $line in
  *'"initialize"'*) say '"id":'$id',"result":{"protocolVersion":1,"agentCapabilities":{}}' ;;
  *'"session/new"'*) say '"id":'$id',"result":{"sessionId":"s"}' ;;
  *'"session/prompt"'*)
    for cost in 0.25 0.5 0.75; do
      update '{"sessionUpdate":"tool_call","toolCallId":"t","title":"dig","kind":"execute"}'
      update '{"sessionUpdate":"usage_update","cost":{"amount":'$cost',"currency":"USD"}}'
    done
    say '"id":'$id',"result":{"stopReason":"end_turn"}' ;;
  esac
done
"#;

#[test]
fn what_an_agent_may_cost_is_watched_while_it_works() {
    let bench = Bench::stand_in(Kind::Acp, DEAR);
    let run = |usd| {
        let limits = Limits { usd: Some(usd), ..Limits::default() };
        let mut person = Person::default();
        (bench.run(&Job { limits, ..bench.job("do it") }, &mut person), person.used().usd)
    };
    let (end, used) = run(0.5);
    let End::Failed { kind, text } = end else { panic!("{end:?}") };
    assert_eq!((kind, text.as_str(), used), (Trouble::Budget, "$0.50", Some(0.5)));
    let (end, used) = run(0.75);
    assert!(matches!(end, End::Done { .. }), "its last deed is not cut off: {end:?}");
    assert_eq!(used, Some(0.75));
}
