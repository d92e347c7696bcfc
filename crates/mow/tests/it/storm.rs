//! Many callers write one file at once, and callers are killed at any moment.
//!
//! Nothing that was acknowledged may be lost, nobody may ever read half of anything, and the next
//! call must work at once. `MOW_STORM_KILLS` sets the number of kills, for longer runs.

use std::collections::BTreeSet;
use std::env;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use mow_store::state::{active, snapshot};
use mow_store::status;
use mow_testkit::dice::Dice;
use mow_testkit::sandbox::Sandbox;
use serde_json::json;

use crate::sandbox;

const CALLERS: usize = 50;
const CALLS: usize = 20;
const KILLS_DEFAULT: u64 = 150;
/// How many callers are at work, and killed, at the same time.
const LANES: u64 = 3;
/// What "at once" means, for a machine that has other things to do as well.
const AT_ONCE: Duration = Duration::from_secs(5);

/// Held by the storm that blows: two at once would measure each other.
pub(crate) static WEATHER: Mutex<()> = Mutex::new(());

const STATE: &str = ".planning/STATE.md";
const HEAD: &str = "# State\n\n## Blockers\n\n";
const TAIL: &str = "\n## Session\n\n**Stopped At:** here\n";

/// Runs fifty callers of twenty calls each, with somebody who reads the file all the time.
///
/// `call` gives the arguments of a caller's call; `look` fails on a file that is not whole and
/// returns how far each caller has come in it, which never gets less.
fn storm(
    project: &Sandbox,
    file: &str,
    call: impl Fn(usize, usize) -> Vec<String> + Sync,
    look: impl Fn(&[u8]) -> Vec<usize> + Sync,
) {
    let _alone = WEATHER.lock().unwrap_or_else(PoisonError::into_inner);
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            let mut seen = vec![0; CALLERS];
            let mut looks = 0;
            while !done.load(Ordering::Relaxed) {
                let now = look(&project.bytes(file));
                assert!(now.iter().zip(&seen).all(|(now, seen)| now >= seen), "{seen:?} {now:?}");
                seen = now;
                looks += 1;
                // The callers need the processors too.
                thread::sleep(Duration::from_millis(4));
            }
            looks
        });
        let callers: Vec<_> = (0..CALLERS)
            .map(|caller| {
                let call = &call;
                scope.spawn(move || {
                    for number in 1..=CALLS {
                        project.call(call(caller, number)).run().quietly();
                    }
                })
            })
            .collect();
        let ends: Vec<_> = callers.into_iter().map(thread::ScopedJoinHandle::join).collect();
        done.store(true, Ordering::Relaxed);
        let looks: usize = watcher.join().expect("every look finds a whole file");
        assert!(ends.iter().all(Result::is_ok), "a call failed");
        assert!(looks > CALLERS, "the watcher saw next to nothing");
    });
    assert_eq!(look(&project.bytes(file)), vec![CALLS; CALLERS], "something was lost");
    assert_eq!(strays(project), Vec::<String>::new());
}

/// Temporary files that somebody left behind.
fn strays(project: &Sandbox) -> Vec<String> {
    project.files().into_keys().filter(|path| path.contains(".mow-tmp-")).collect()
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// Reads the blockers of a STATE.md that must be whole.
fn blockers(bytes: &[u8]) -> Vec<String> {
    let text = String::from_utf8(bytes.to_vec()).expect("the file is text");
    let body = text.strip_prefix(HEAD).and_then(|rest| rest.strip_suffix(TAIL));
    let body = body.unwrap_or_else(|| panic!("torn: {text}"));
    let blockers = snapshot::parse(bytes).blockers;
    assert_eq!(blockers.len(), body.lines().count(), "torn: {text}");
    blockers
}

/// Reads `caller-number` or `k3-4`.
fn parse_label(label: &str) -> (usize, usize) {
    let parts = label.split_once('-').and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
    parts.unwrap_or_else(|| panic!("torn: {label:?}"))
}

#[test]
fn blockers_of_many_callers_are_all_there() {
    let project = sandbox().file(STATE, format!("{HEAD}- 0-0\n{TAIL}"));
    storm(
        &project,
        STATE,
        |caller, number| words(&["state", "add-blocker", &format!("{caller}-{number}")]),
        |bytes| {
            let mut counts = vec![0; CALLERS];
            for (caller, number) in blockers(bytes).iter().skip(1).map(|label| parse_label(label)) {
                counts[caller] += 1;
                assert_eq!(counts[caller], number, "out of order, or twice");
            }
            counts
        },
    );
}

#[test]
fn rows_of_many_phases_are_all_there() {
    let head = "# State\n\n## Active Phases\n\n\
                | Phase | Name | Status | Worker | Plans | Last Update |\n\
                |-------|------|--------|--------|-------|-------------|\n";
    let project = sandbox().file(STATE, format!("{head}\n**Next unblockable:** --\n{TAIL}"));
    storm(
        &project,
        STATE,
        |caller, number| {
            let (phase, plans) = (caller.to_string(), format!("{number}/{CALLS}"));
            let call =
                ["state", "update-phase-row", &phase, "--name", "N", "--status", "executing"];
            words(&[&call[..], &["--plans", &plans]].concat())
        },
        |bytes| {
            assert!(bytes.starts_with(head.as_bytes()) && bytes.ends_with(TAIL.as_bytes()), "torn");
            let rows = active::parse(bytes).expect("the section is whole");
            let phases: Vec<usize> = rows.iter().map(|row| row.phase.parse().unwrap()).collect();
            assert!(phases.is_sorted_by(|a, b| a < b), "{phases:?}");
            let mut counts = vec![0; CALLERS];
            for row in rows {
                let plans = row.plans.strip_suffix("/20").expect("the row is whole");
                assert_eq!((row.status.as_str(), row.last_update.len()), ("executing", 24));
                counts[row.phase.parse::<usize>().unwrap()] = plans.parse().unwrap();
            }
            counts
        },
    );
}

#[test]
fn plans_of_many_workers_are_all_there() {
    let file = ".planning/phases/03-a/03-STATUS.md";
    let mut project = sandbox();
    for plan in 0..CALLERS {
        project = project.file(&format!(".planning/phases/03-a/03-{plan:02}-PLAN.md"), "<task>");
    }
    project.call(["status", "init", "3"]).run().quietly();
    storm(
        &project,
        file,
        |caller, number| {
            let (plan, tasks) = (format!("03-{caller:02}"), format!("{number}/{CALLS}"));
            let state = if number == CALLS { "complete" } else { "executing" };
            let call = ["status", "write", "3", "--plan", &plan, "--status", state];
            words(&[&call[..], &["--tasks", &tasks]].concat())
        },
        |bytes| {
            assert!(bytes.ends_with(b"\n## Context\n\nNone.\n"), "torn");
            let status = status::parse(bytes);
            assert_eq!(status.plans.len(), CALLERS);
            let sums = status.aggregate();
            let line = format!(
                "**Plans:** {} complete, {} in progress, {} not started, 0 failed\n",
                sums.complete, sums.in_progress, sums.not_started
            );
            let text = String::from_utf8_lossy(bytes);
            assert!(text.contains(&line), "the counts are of these rows: {text}");
            assert_eq!(status.status == "complete", sums.complete == CALLERS);
            let done = |row: &status::PlanRow| row.tasks.strip_suffix("/20").map(str::parse);
            status.plans.iter().map(|row| done(row).map_or(0, Result::unwrap)).collect()
        },
    );
}

/// Starts and kills callers one after the other; returns the blockers they acknowledged.
fn kill_lane(project: &Sandbox, lane: u64, kills: u64, life: Duration) -> Vec<String> {
    let mut dice = Dice::new(lane);
    let mut acknowledged = Vec::new();
    for kill in 0..kills {
        let label = format!("{lane}-{kill}");
        let mut caller = project.call(["state", "add-blocker", "--text", &label]).spawn();
        thread::sleep(Duration::from_micros(dice.below(life.as_micros() as u64)));
        caller.kill().expect("it was not waited for yet");
        let output = caller.wait_with_output().expect("it has ended");
        assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
        // Whoever reads the answer takes it for granted, however the caller ended afterwards.
        let answer = json!({ "added": true, "blocker": label });
        if serde_json::from_slice(&output.stdout)
            .is_ok_and(|said: serde_json::Value| said == answer)
        {
            acknowledged.push(label);
        } else {
            assert!(!output.status.success(), "exit 0 without an answer");
        }
    }
    acknowledged
}

/// Twice what an undisturbed call takes, so that kills hit every step of it and some come late.
fn life(project: &Sandbox) -> Duration {
    let times = (0..9).map(|_| {
        let start = Instant::now();
        project.call(["state", "add-blocker", "0-0"]).run().quietly();
        start.elapsed()
    });
    let mut times: Vec<_> = times.collect();
    times.sort();
    times[times.len() / 2] * 2
}

#[test]
fn killed_callers_lose_nothing_they_acknowledged() {
    let kills = env::var("MOW_STORM_KILLS")
        .map_or(KILLS_DEFAULT, |kills| kills.parse().expect("MOW_STORM_KILLS is a number"));
    let project = sandbox().file(STATE, format!("{HEAD}- 0-0\n{TAIL}"));
    let _alone = WEATHER.lock().unwrap_or_else(PoisonError::into_inner);
    let life = life(&project);
    let before = blockers(&project.bytes(STATE)).len();
    let acknowledged: Vec<String> = thread::scope(|scope| {
        let project = &project;
        let lanes: Vec<_> = (1..=LANES)
            .map(|lane| scope.spawn(move || kill_lane(project, lane, kills.div_ceil(LANES), life)))
            .collect();
        lanes.into_iter().flat_map(|lane| lane.join().expect("no kill does harm")).collect()
    });

    let start = Instant::now();
    project.call(["state", "add-blocker", "9-9"]).run().quietly();
    assert!(start.elapsed() < AT_ONCE, "the dead were waited for");
    assert_eq!(strays(&project), Vec::<String>::new());

    let labels = blockers(&project.bytes(STATE)).split_off(before);
    let written: BTreeSet<&String> = labels.iter().collect();
    assert_eq!(written.len(), labels.len(), "something was written twice");
    let lost: Vec<_> = acknowledged.iter().filter(|label| !written.contains(label)).collect();
    assert_eq!(lost, Vec::<&String>::new());
    for label in &labels {
        parse_label(label);
    }
    println!("{kills} kills within {life:?}: {} acknowledged", acknowledged.len());
    assert!(!acknowledged.is_empty(), "nobody lived long enough to say anything");
    assert!((acknowledged.len() as u64) < kills, "nobody was killed in time");
}
