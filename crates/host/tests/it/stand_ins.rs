//! Small programs in the place of an agent that garble, flood, say nothing, stay, and leave others.

use std::path::PathBuf;
use std::time::Duration;

use mow_host::agent::{End, Job, Kind, Limits, Trouble};

use crate::bench::{Bench, Person};

#[track_caller]
fn check(kind: Kind, script: &str, expected: Trouble) -> String {
    let bench = Bench::stand_in(kind, script);
    let limits = Limits {
        wall: Some(Duration::from_secs(60)),
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
