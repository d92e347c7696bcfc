//! Tests many concurrent writers of one file, and writers that are killed at random moments.
//!
//! Nothing that was acknowledged may be lost, no reader may see a partial file, and the next call
//! must succeed at once. `MOW_STORM_KILLS` sets the number of kills, for longer runs.

use std::collections::BTreeSet;
use std::env;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use mow_store::state::{active_phases, snapshot};
use mow_store::status;
use mow_testkit::sandbox::Sandbox;
use mow_testkit::seeded_rng::SeededRng;
use serde_json::json;

use crate::sandbox;

const CALLERS: usize = 50;
const CALLS: usize = 20;
const KILLS_DEFAULT: u64 = 150;
/// The number of callers that run and are killed at the same time.
const LANES: u64 = 3;
/// The time limit for "at once", generous because the machine may be busy.
const AT_ONCE: Duration = Duration::from_secs(5);

/// Held during a storm test. Two storms at once would slow each other down.
pub(crate) static STORM_LOCK: Mutex<()> = Mutex::new(());

const STATE: &str = ".planning/STATE.md";
const HEAD: &str = "# State\n\n## Blockers\n\n";
const TAIL: &str = "\n## Session\n\n**Stopped At:** here\n";

/// Runs 50 callers with 20 calls each, while a watcher reads the file all the time.
///
/// `call` returns the arguments of a call. `progress_of` panics on a partial file and returns the
/// number of finished calls of each caller, which never decreases.
fn storm(
    project: &Sandbox,
    file: &str,
    call: impl Fn(usize, usize) -> Vec<String> + Sync,
    progress_of: impl Fn(&[u8]) -> Vec<usize> + Sync,
) {
    let _alone = STORM_LOCK.lock().unwrap_or_else(PoisonError::into_inner);
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            let mut seen = vec![0; CALLERS];
            let mut looks = 0;
            while !done.load(Ordering::Relaxed) {
                let progress = progress_of(&project.bytes(file));
                assert!(
                    progress.iter().zip(&seen).all(|(progress, seen)| progress >= seen),
                    "{seen:?} {progress:?}"
                );
                seen = progress;
                looks += 1;
                // Leave processor time to the callers.
                thread::sleep(Duration::from_millis(4));
            }
            looks
        });
        let callers: Vec<_> = (0..CALLERS)
            .map(|caller| {
                let call = &call;
                scope.spawn(move || {
                    for number in 1..=CALLS {
                        project.call(call(caller, number)).run().stdout_on_success();
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
    assert_eq!(progress_of(&project.bytes(file)), vec![CALLS; CALLERS], "something was lost");
    assert_eq!(temporary_files(project), Vec::<String>::new());
}

/// Returns the temporary files that were left behind.
fn temporary_files(project: &Sandbox) -> Vec<String> {
    project.files().into_keys().filter(|path| path.contains(".mow-tmp-")).collect()
}

fn owned_arguments(arguments: &[&str]) -> Vec<String> {
    arguments.iter().map(|word| (*word).to_owned()).collect()
}

/// Reads the blockers of STATE.md. Panics on a partial file.
fn blockers(bytes: &[u8]) -> Vec<String> {
    let text = String::from_utf8(bytes.to_vec()).expect("the file is text");
    let body = text.strip_prefix(HEAD).and_then(|rest| rest.strip_suffix(TAIL));
    let body = body.unwrap_or_else(|| panic!("torn: {text}"));
    let blockers = snapshot::parse(bytes).blockers;
    assert_eq!(blockers.len(), body.lines().count(), "torn: {text}");
    blockers
}

/// Parses a label `CALLER-NUMBER`. Panics on a partial label.
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
        |caller, number| owned_arguments(&["state", "add-blocker", &format!("{caller}-{number}")]),
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
            owned_arguments(&[&call[..], &["--plans", &plans]].concat())
        },
        |bytes| {
            assert!(bytes.starts_with(head.as_bytes()) && bytes.ends_with(TAIL.as_bytes()), "torn");
            let rows = active_phases::parse(bytes).expect("the section is whole");
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
    project.call(["status", "init", "3"]).run().stdout_on_success();
    storm(
        &project,
        file,
        |caller, number| {
            let (plan, tasks) = (format!("03-{caller:02}"), format!("{number}/{CALLS}"));
            let state = if number == CALLS { "complete" } else { "executing" };
            let call = ["status", "write", "3", "--plan", &plan, "--status", state];
            owned_arguments(&[&call[..], &["--tasks", &tasks]].concat())
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
fn kill_lane(project: &Sandbox, lane: u64, kills: u64, kill_delay_max: Duration) -> Vec<String> {
    let mut rng = SeededRng::new(lane);
    let mut acknowledged = Vec::new();
    for kill in 0..kills {
        let label = format!("{lane}-{kill}");
        let mut caller = project.call(["state", "add-blocker", "--text", &label]).spawn();
        thread::sleep(Duration::from_micros(rng.below(kill_delay_max.as_micros() as u64)));
        caller.kill().expect("it was not waited for yet");
        let output = caller.wait_with_output().expect("it has ended");
        assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
        // A printed answer is a promise, even if the caller is killed afterwards.
        let answer = json!({ "added": true, "blocker": label });
        if serde_json::from_slice(&output.stdout)
            .is_ok_and(|printed: serde_json::Value| printed == answer)
        {
            acknowledged.push(label);
        } else {
            assert!(!output.status.success(), "exit 0 without an answer");
        }
    }
    acknowledged
}

/// Returns twice the median time of an undisturbed call, so that kills hit every step and some come
/// late.
fn kill_delay_max(project: &Sandbox) -> Duration {
    let times = (0..9).map(|_| {
        let start = Instant::now();
        project.call(["state", "add-blocker", "0-0"]).run().stdout_on_success();
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
    let _alone = STORM_LOCK.lock().unwrap_or_else(PoisonError::into_inner);
    let kill_delay_max = kill_delay_max(&project);
    let before = blockers(&project.bytes(STATE)).len();
    let acknowledged: Vec<String> = thread::scope(|scope| {
        let project = &project;
        let lanes: Vec<_> = (1..=LANES)
            .map(|lane| {
                scope.spawn(move || kill_lane(project, lane, kills.div_ceil(LANES), kill_delay_max))
            })
            .collect();
        lanes.into_iter().flat_map(|lane| lane.join().expect("no kill does harm")).collect()
    });

    let start = Instant::now();
    project.call(["state", "add-blocker", "9-9"]).run().stdout_on_success();
    assert!(start.elapsed() < AT_ONCE, "the call waited for dead callers");
    assert_eq!(temporary_files(&project), Vec::<String>::new());

    let labels = blockers(&project.bytes(STATE)).split_off(before);
    let written: BTreeSet<&String> = labels.iter().collect();
    assert_eq!(written.len(), labels.len(), "something was written twice");
    let lost: Vec<_> = acknowledged.iter().filter(|label| !written.contains(label)).collect();
    assert_eq!(lost, Vec::<&String>::new());
    for label in &labels {
        parse_label(label);
    }
    println!("{kills} kills within {kill_delay_max:?}: {} acknowledged", acknowledged.len());
    assert!(!acknowledged.is_empty(), "every caller was killed before its answer");
    assert!((acknowledged.len() as u64) < kills, "no caller was killed before its answer");
}
