//! Tests with small scripts in place of an agent: invalid output, floods, silence, leftovers.

use std::path::PathBuf;
use std::time::Duration;

use mow_host::agent::{AgentJob, AgentKind, AgentOutcome, FailureKind, Limits};

use crate::fixture::{AgentFixture, ScriptedPerson};

#[track_caller]
fn check(kind: AgentKind, script: &str, expected: FailureKind) -> String {
    let fixture = AgentFixture::fake_agent(kind, script);
    let limits = Limits {
        wall: Some(Duration::from_secs(180)),
        line_bytes: 1 << 20,
        output_bytes: 4 << 20,
        ..Limits::default()
    };
    let job = AgentJob { limits, ..fixture.job("do it") };
    let end = fixture.run(&job, &mut ScriptedPerson::default());
    let log = fixture.log();
    assert!(log.len() < 600_000, "{}", log.len());
    let AgentOutcome::Failed { kind, text } = end else { panic!("{script}: {end:?}") };
    assert_eq!(kind, expected, "{script}: {text}");
    text
}

const KINDS: [AgentKind; 3] = [AgentKind::Claude, AgentKind::Codex, AgentKind::Acp];

#[test]
fn misbehaving_programs_are_classified() {
    for kind in KINDS {
        check(kind, "exit 0", FailureKind::NoResult);
        check(kind, "cat >/dev/null & exec 0<&-; exit 0", FailureKind::NoResult);
        assert_eq!(check(kind, "echo oh no >&2; exit 3", FailureKind::Crashed), "oh no");
        assert_eq!(check(kind, "exit 3", FailureKind::Crashed), "it exited with 3");
        assert!(check(kind, "kill -9 $$", FailureKind::Crashed).contains("signal 9"));
        check(kind, "yes 'hello there'", FailureKind::InvalidOutput);
        check(kind, "head -c 9000000 /dev/zero; sleep 300", FailureKind::TooMuchOutput);
        check(kind, "while :; do echo '{\"type\":\"x\"}'; done", FailureKind::TooMuchOutput);
        check(kind, "head -c 9000000 /dev/zero >&2; sleep 300", FailureKind::TooMuchOutput);
        check(kind, "echo hello; echo; echo '[1, 2]'; echo 7; exit 0", FailureKind::NoResult);
    }
}

#[test]
fn an_endless_line_is_limited() {
    let fixture =
        AgentFixture::fake_agent(AgentKind::Claude, "head -c 9000000 /dev/zero; sleep 300");
    let limits = Limits { line_bytes: 1 << 20, ..Limits::default() };
    let end =
        fixture.run(&AgentJob { limits, ..fixture.job("do it") }, &mut ScriptedPerson::default());
    assert!(
        matches!(end, AgentOutcome::Failed { kind: FailureKind::TooMuchOutput, .. }),
        "{end:?}"
    );
}

#[test]
fn a_missing_program_is_reported() {
    for kind in KINDS {
        let mut fixture = AgentFixture::fake_agent(kind, "");
        fixture.program = PathBuf::from("/no/such/agent");
        let end = fixture.run(&fixture.job("do it"), &mut ScriptedPerson::default());
        let AgentOutcome::Failed { kind, .. } = end else { panic!("{end:?}") };
        assert_eq!(kind, FailureKind::NotInstalled);
    }
}

#[test]
fn a_silent_agent_is_ended_with_processes_that_left_its_group() {
    for kind in KINDS {
        let script = "trap '' TERM; (setsid sh -c \"trap '' TERM; sleep 300\" &); sleep 300";
        let fixture = AgentFixture::fake_agent(kind, script);
        let limits = Limits { wall: Some(Duration::from_millis(300)), ..Limits::default() };
        let job = AgentJob { limits, ..fixture.job("do it") };
        let end = fixture.run(&job, &mut ScriptedPerson::default());
        assert!(matches!(end, AgentOutcome::Failed { kind: FailureKind::TimedOut, .. }), "{end:?}");
    }
}

/// An agent that tells what it has cost whenever it does something, and does so again and again.
const COSTLY_AGENT: &str = r#"
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
fn the_cost_limit_is_enforced_during_a_turn() {
    let fixture = AgentFixture::fake_agent(AgentKind::Acp, COSTLY_AGENT);
    let run = |usd| {
        let limits = Limits { usd: Some(usd), ..Limits::default() };
        let mut person = ScriptedPerson::default();
        (fixture.run(&AgentJob { limits, ..fixture.job("do it") }, &mut person), person.used().usd)
    };
    let (end, used) = run(0.5);
    let AgentOutcome::Failed { kind, text } = end else { panic!("{end:?}") };
    assert_eq!((kind, text.as_str(), used), (FailureKind::BudgetExceeded, "$0.50", Some(0.5)));
    let (end, used) = run(0.75);
    assert!(matches!(end, AgentOutcome::Done { .. }), "the last action is completed: {end:?}");
    assert_eq!(used, Some(0.75));
}
