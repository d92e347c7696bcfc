//! Tests kills of lead and workers, without a chance to clean up, at chosen and at random moments.

use std::fs;
use std::os::unix::fs::MetadataExt;

use mow_testkit::planned_project::{
    ALL, PhaseFixture, PlannedProject, ProjectOptions, kill, phase, plan, processes_of_run, task,
};
use mow_testkit::seeded_rng::SeededRng;

use super::{MOW, one_task_phase, project};

/// Returns two independent phases and one that depends on both, each with a plan of two tasks.
fn fork_phases() -> Vec<PhaseFixture> {
    let two_task_plan = |number: &str| {
        plan(vec![
            task(&format!("echo one > crop-{number}\nmeet {number}-1"))
                .check(&format!("test -s crop-{number}")),
            task(&format!(
                "echo two >> crop-{number}\nmeet {number}-2\necho three >> crop-{number}"
            ))
            .check(&format!("test $(wc -l < crop-{number}) = 3")),
        ])
    };
    vec![
        phase("1", &[]).with(two_task_plan("1")),
        phase("2", &[]).with(two_task_plan("2")),
        phase("3", &["1", "2"]).with(two_task_plan("3")),
    ]
}

/// Waits until a process is blocked on a lock.
pub(super) fn wait_for_lock_waiter(project: &PlannedProject, lock: &fs::File) {
    let inode = lock.metadata().expect("it is open").ino();
    project.wait_for("a process that waits for the lock", || {
        let all = fs::read_to_string("/proc/locks").expect("the kernel tells of locks");
        let is_it = |line: &str| line.contains("->") && line.contains(&format!(":{inode} "));
        all.lines().any(is_it).then_some(())
    });
}

/// If a lead is killed between fork and exec of a child, the child holds its lock until the exec.
#[test]
fn a_new_lead_waits_for_the_lock_of_a_dead_lead() {
    let project = project(&[one_task_phase("1", &[], ""), one_task_phase("2", &[], "")]);
    project.exits_with(&["run", "1", "--yes", "--plain"], 0);
    // The lock file still names the last holder.
    let lock = fs::File::open(project.repository_root().join(".git/mow/locks/lead.lock")).unwrap();
    lock.lock().unwrap();
    let lead = project.start(&ALL);
    wait_for_lock_waiter(&project, &lock);
    drop(lock);
    let (status, output) = lead.end();
    assert!(status.success(), "{output}");
    assert_eq!(project.text("crop-2"), "2\n");
}

const POINTS: [&str; 6] = ["1-1", "1-2", "2-1", "2-2", "3-1", "3-2"];

/// Runs the forked phases without any disturbance.
fn run_undisturbed(ignore: &str) -> PlannedProject {
    let undisturbed = PlannedProject::with_options(
        MOW,
        &ProjectOptions { ignore, ..ProjectOptions::default() },
        &fork_phases(),
    );
    POINTS.iter().for_each(|point| undisturbed.release_point(point));
    undisturbed.run_all();
    undisturbed.assert_consistent();
    assert_eq!(undisturbed.trailers("Mow-Task").len(), 6);
    assert_eq!(undisturbed.trailers("Mow-Plan").len(), 3);
    assert_eq!(undisturbed.git(&["show", "main:crop-3"]), "one\ntwo\nthree\n");
    undisturbed
}

#[test]
fn workers_continue_without_the_lead_and_the_next_lead_adopts_them() {
    let project = project(&fork_phases());
    let lead = project.start(&ALL);
    project.wait_for_point("1-1");
    project.wait_for_point("2-1");
    lead.kill();
    let before = (project.worker_pid("01", 1), project.worker_pid("02", 1));
    // Without a lead, the first worker reaches its second task and completes the phase.
    POINTS[..2].iter().for_each(|point| project.release_point(point));
    project.wait_for("the end of phase 1", || {
        let records = project.records("01-1.ndjson");
        records.iter().any(|record| record.body.contains("\"report\":\"complete\"")).then_some(())
    });
    let lead = project.start(&ALL);
    project.wait_for_status("1", "complete");
    assert_eq!(project.worker_pid("02", 1), before.1, "the second worker is still the first one");
    POINTS.iter().for_each(|point| project.release_point(point));
    let (status, output) = lead.end();
    assert!(status.success(), "{output}");
    project.assert_same_result_as(&run_undisturbed(""));
    assert!(!project.run_dir().unwrap().join("01-2.ndjson").exists(), "no second attempt");
}

#[test]
fn resuming_a_run_keeps_the_rows_in_state_md() {
    let project = project(&[one_task_phase("1", &[], ""), one_task_phase("2", &["1"], "meet 2")]);
    let row = || {
        let state = project.text(".planning/STATE.md");
        state.lines().find(|line| line.starts_with("| 1 ")).map(str::to_owned)
    };
    let lead = project.start(&ALL);
    project.wait_for_point("2");
    let before = project.wait_for("the row", || row().filter(|row| row.contains("| complete |")));
    lead.kill();
    project.release_point("2");
    project.run_all();
    assert_eq!(row().as_ref(), Some(&before), "with the time at which it was complete");
    assert_eq!(project.git(&["status", "--porcelain"]), "");
    project.assert_consistent();
}

#[test]
fn a_killed_worker_resumes_at_its_task_and_its_uncommitted_files_are_rescued() {
    let project = project(&fork_phases());
    POINTS.iter().filter(|p| **p != "1-2").for_each(|point| project.release_point(point));
    let lead = project.start(&ALL);
    project.wait_for_point("1-2");
    // Its shell survives and keeps the life lock until the lead ends it.
    kill(project.worker_pid("01", 1));
    project.wait_for_status("1", "waiting");
    project.release_point("1-2");
    let (status, output) = lead.end();
    assert!(status.success(), "{output}");
    project.assert_same_result_as(&run_undisturbed(""));
    let again = project.records("01-2.ndjson");
    let ran = |task: u32| {
        let intent = format!("{{\"effect\":\"run_task\",\"plan\":\"01-01\",\"task\":{task}}}");
        again.iter().any(|record| record.body.contains(&intent))
    };
    assert!(ran(2) && !ran(1), "only the task that was cut off runs again");
    let kept = project.git(&["for-each-ref", "--format=%(refname)", "refs/mow/rescue"]);
    let kept = kept.lines().next().expect("what the task had written is kept");
    assert_eq!(project.git(&["show", &format!("{kept}:crop-1")]), "one\ntwo\n");
}

#[test]
fn a_killed_shell_fails_its_task_and_the_next_run_repeats_it() {
    let project = project(&[one_task_phase("1", &[], "echo half > crop-1\nmeet 1")]);
    let lead = project.start(&ALL);
    project.wait_for_point("1");
    let worker = project.worker_pid("01", 1);
    let children = fs::read_to_string(format!("/proc/{worker}/task/{worker}/children"));
    let run = project.run_id();
    let others: Vec<_> = processes_of_run(&run).into_iter().filter(|pid| *pid != worker).collect();
    assert!(!others.is_empty(), "{children:?}");
    others.into_iter().for_each(kill);
    let (status, output) = lead.end();
    assert_eq!(status.code(), Some(1), "{output}");
    assert!(output.contains("signal 9"), "{output}");
    project.release_point("1");
    project.run_all();
    project.assert_consistent();
    assert_eq!(project.git(&["show", "main:crop-1"]), "1\n");
}

#[test]
fn a_second_run_is_refused_and_names_the_first() {
    let project = project(&[one_task_phase("1", &[], "meet 1")]);
    let lead = project.start(&ALL);
    project.wait_for_point("1");
    let second = project.exits_with(&ALL, 4);
    assert!(second.contains(&lead.pid().to_string()), "{second}");
    project.release_point("1");
    assert!(lead.end().0.success());
    project.assert_consistent();
}

/// Kills lead and workers at random moments, then resumes the run until it is complete.
fn kill_until_complete(seed: u64, ignore: &str, undisturbed: &PlannedProject) {
    let project = PlannedProject::with_options(
        MOW,
        &ProjectOptions { ignore, ..ProjectOptions::default() },
        &fork_phases(),
    );
    POINTS.iter().for_each(|point| project.release_point(point));
    let mut rng = SeededRng::new(seed);
    for _ in 0..rng.below(6) {
        let mut lead = project.start(&ALL);
        // The moment of the kill is a number of new records in the journal.
        let wanted = project.records("journal.ndjson").len() + 1 + rng.below(25) as usize;
        project.wait_for("a moment", || {
            let is_there = project.records("journal.ndjson").len() >= wanted;
            (is_there || lead.has_ended()).then_some(())
        });
        let run = project.run_id();
        let (kills_lead, kills_workers) =
            [(true, true), (true, false), (false, true)][rng.below(3) as usize];
        if kills_workers {
            processes_of_run(&run).into_iter().filter(|_| rng.below(2) == 0).for_each(kill);
        }
        if kills_lead {
            lead.kill();
        } else {
            lead.end();
        }
    }
    // A killed shell is a failed task. Two of them open the circuit breaker, and a person lets the
    // run continue. A check that was killed twice becomes a question.
    let is_complete = (0..10).any(|_| {
        let is_complete = project.run(&ALL).status.success();
        for event in project.events().iter().filter(|event| event["event"] == "asked") {
            let answer = if event["item"]["kind"] == "breaker" { "continue" } else { "retry" };
            drop(project.run(&["answer", &event["item"]["id"].to_string(), answer]));
        }
        is_complete
    });
    assert!(is_complete, "the run does not complete:\n{}", project.exits_with(&["log"], 0));
    project.run_all();
    project.assert_same_result_as(undisturbed);
}

#[test]
fn storm_of_kills_loses_nothing_and_repeats_nothing() {
    let kills = std::env::var("MOW_STORM_KILLS").ok().and_then(|text| text.parse().ok());
    let rounds: u64 = kills.map_or(6, |kills: u64| kills / 10);
    let only = std::env::var("MOW_STORM_SEED").ok().and_then(|text| text.parse::<u64>().ok());
    // Tracked and ignored planning files take different code paths.
    let variants = ["", ".planning/\n"].map(|ignore| (ignore, run_undisturbed(ignore)));
    for (seed, (ignore, undisturbed)) in (0..rounds).zip(variants.iter().cycle()) {
        if only.is_some_and(|only| only != seed) {
            continue;
        }
        println!("MOW_STORM_SEED={seed} MOW_STORM_KILLS={}", 10 * rounds);
        kill_until_complete(seed, ignore, undisturbed);
    }
}
