//! Lead and workers are killed without a chance to clear up, at chosen moments and at random ones.

use std::fs;
use std::os::unix::fs::MetadataExt;

use mow_testkit::dice::Dice;
use mow_testkit::field::{ALL, Field, Phase, Soil, kill, marked, phase, plan, task};

use super::{MOW, field, sown};

/// Two phases side by side and one after them, each with a plan of two tasks.
fn fork() -> Vec<Phase> {
    let two = |number: &str| {
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
        phase("1", &[]).with(two("1")),
        phase("2", &[]).with(two("2")),
        phase("3", &["1", "2"]).with(two("3")),
    ]
}

/// Waits until somebody waits for a lock.
pub(super) fn waited_for(field: &Field, lock: &fs::File) {
    let inode = lock.metadata().expect("it is open").ino();
    field.until("somebody waits for the lock", || {
        let all = fs::read_to_string("/proc/locks").expect("the kernel tells of locks");
        let is_it = |line: &str| line.contains("->") && line.contains(&format!(":{inode} "));
        all.lines().any(is_it).then_some(())
    });
}

/// A program that a lead was about to start when it was killed has its lock until it runs.
#[test]
fn the_lock_of_a_dead_lead_is_waited_for() {
    let field = field(&[sown("1", &[], ""), sown("2", &[], "")]);
    field.ends(&["run", "1", "--yes", "--plain"], 0);
    // It still says who had it last.
    let lock = fs::File::open(field.top().join(".git/mow/locks/lead.lock")).unwrap();
    lock.lock().unwrap();
    let lead = field.start(&ALL);
    waited_for(&field, &lock);
    drop(lock);
    let (status, said) = lead.end();
    assert!(status.success(), "{said}");
    assert_eq!(field.text("crop-2"), "2\n");
}

const POINTS: [&str; 6] = ["1-1", "1-2", "2-1", "2-2", "3-1", "3-2"];

/// The fork, run without any disturbance.
fn undisturbed(ignore: &str) -> Field {
    let quiet = Field::on(MOW, &Soil { ignore, ..Soil::default() }, &fork());
    POINTS.iter().for_each(|point| quiet.open(point));
    quiet.run_all();
    quiet.inspect();
    assert_eq!(quiet.trailers("Mow-Task").len(), 6);
    assert_eq!(quiet.trailers("Mow-Plan").len(), 3);
    assert_eq!(quiet.git(&["show", "main:crop-3"]), "one\ntwo\nthree\n");
    quiet
}

#[test]
fn workers_go_on_without_the_lead_and_the_next_one_takes_them_up() {
    let field = field(&fork());
    let lead = field.start(&ALL);
    field.reached("1-1");
    field.reached("2-1");
    lead.kill();
    let before = (field.worker("01", 1), field.worker("02", 1));
    // With nobody there, the workers come to their second tasks and to their end.
    POINTS[..2].iter().for_each(|point| field.open(point));
    field.until("the end of phase 1", || {
        let records = field.records("01-1.ndjson");
        records.iter().any(|record| record.body.contains("\"report\":\"complete\"")).then_some(())
    });
    let lead = field.start(&ALL);
    field.until_moved("1", "complete");
    assert_eq!(field.worker("02", 1), before.1, "the second worker is still the first one");
    POINTS.iter().for_each(|point| field.open(point));
    let (status, said) = lead.end();
    assert!(status.success(), "{said}");
    field.equals(&undisturbed(""));
    assert!(!field.run_dir().unwrap().join("01-2.ndjson").exists(), "no second attempt");
}

#[test]
fn taking_up_a_run_leaves_what_is_drawn_as_it_is() {
    let field = field(&[sown("1", &[], ""), sown("2", &["1"], "meet 2")]);
    let row = || {
        let state = field.text(".planning/STATE.md");
        state.lines().find(|line| line.starts_with("| 1 ")).map(str::to_owned)
    };
    let lead = field.start(&ALL);
    field.reached("2");
    let before = field.until("the row", || row().filter(|row| row.contains("| complete |")));
    lead.kill();
    field.open("2");
    field.run_all();
    assert_eq!(row().as_ref(), Some(&before), "with the time at which it was complete");
    assert_eq!(field.git(&["status", "--porcelain"]), "");
    field.inspect();
}

#[test]
fn a_killed_worker_resumes_at_its_task_and_what_it_left_is_kept() {
    let field = field(&fork());
    POINTS.iter().filter(|p| **p != "1-2").for_each(|point| field.open(point));
    let lead = field.start(&ALL);
    field.reached("1-2");
    // Its shell lives on and keeps the life lock, until the lead ends it.
    kill(field.worker("01", 1));
    field.until_moved("1", "waiting");
    field.open("1-2");
    let (status, said) = lead.end();
    assert!(status.success(), "{said}");
    field.equals(&undisturbed(""));
    let again = field.records("01-2.ndjson");
    let ran = |task: u32| {
        let intent = format!("{{\"effect\":\"run_task\",\"plan\":\"01-01\",\"task\":{task}}}");
        again.iter().any(|record| record.body.contains(&intent))
    };
    assert!(ran(2) && !ran(1), "only the task that was cut off runs again");
    let kept = field.git(&["for-each-ref", "--format=%(refname)", "refs/mow/rescue"]);
    let kept = kept.lines().next().expect("what the task had written is kept");
    assert_eq!(field.git(&["show", &format!("{kept}:crop-1")]), "one\ntwo\n");
}

#[test]
fn a_killed_shell_fails_its_task_and_the_next_run_repeats_it() {
    let field = field(&[sown("1", &[], "echo half > crop-1\nmeet 1")]);
    let lead = field.start(&ALL);
    field.reached("1");
    let worker = field.worker("01", 1);
    let children = fs::read_to_string(format!("/proc/{worker}/task/{worker}/children"));
    let run = field.run_id();
    let others: Vec<_> = marked(&run).into_iter().filter(|pid| *pid != worker).collect();
    assert!(!others.is_empty(), "{children:?}");
    others.into_iter().for_each(kill);
    let (status, said) = lead.end();
    assert_eq!(status.code(), Some(1), "{said}");
    assert!(said.contains("signal 9"), "{said}");
    field.open("1");
    field.run_all();
    field.inspect();
    assert_eq!(field.git(&["show", "main:crop-1"]), "1\n");
}

#[test]
fn a_second_run_is_refused_and_names_the_first() {
    let field = field(&[sown("1", &[], "meet 1")]);
    let lead = field.start(&ALL);
    field.reached("1");
    let second = field.ends(&ALL, 4);
    assert!(second.contains(&lead.pid().to_string()), "{second}");
    field.open("1");
    assert!(lead.end().0.success());
    field.inspect();
}

/// Kills lead and workers at random moments until a run comes through.
fn storm(seed: u64, ignore: &str, quiet: &Field) {
    let field = Field::on(MOW, &Soil { ignore, ..Soil::default() }, &fork());
    POINTS.iter().for_each(|point| field.open(point));
    let mut dice = Dice::new(seed);
    for _ in 0..dice.below(6) {
        let mut lead = field.start(&ALL);
        // A moment is known by how much the lead has written down since.
        let wanted = field.records("journal.ndjson").len() + 1 + dice.below(25) as usize;
        field.until("a moment", || {
            let is_there = field.records("journal.ndjson").len() >= wanted;
            (is_there || lead.has_ended()).then_some(())
        });
        let run = field.run_id();
        let (kills_lead, kills_workers) =
            [(true, true), (true, false), (false, true)][dice.below(3) as usize];
        if kills_workers {
            marked(&run).into_iter().filter(|_| dice.below(2) == 0).for_each(kill);
        }
        if kills_lead {
            lead.kill();
        } else {
            lead.end();
        }
    }
    // A shell that was killed is a failure that a person has to look at: two of them trip the
    // breaker, and the same command goes on. A check that was killed twice is asked about.
    let is_through = (0..10).any(|_| {
        let is_through = field.run(&ALL).status.success();
        for event in field.events().iter().filter(|event| event["event"] == "asked") {
            drop(field.run(&["answer", &event["item"]["id"].to_string(), "retry"]));
        }
        is_through
    });
    assert!(is_through, "it does not come through:\n{}", field.ends(&["log"], 0));
    field.run_all();
    field.equals(quiet);
}

#[test]
fn storm_of_kills_loses_nothing_and_repeats_nothing() {
    let kills = std::env::var("MOW_STORM_KILLS").ok().and_then(|text| text.parse().ok());
    let rounds: u64 = kills.map_or(6, |kills: u64| kills / 10);
    let only = std::env::var("MOW_STORM_SEED").ok().and_then(|text| text.parse::<u64>().ok());
    // Planning files in git and outside of it go different ways.
    let soils = ["", ".planning/\n"].map(|ignore| (ignore, undisturbed(ignore)));
    for (seed, (ignore, quiet)) in (0..rounds).zip(soils.iter().cycle()) {
        if only.is_some_and(|only| only != seed) {
            continue;
        }
        println!("MOW_STORM_SEED={seed} MOW_STORM_KILLS={}", 10 * rounds);
        storm(seed, ignore, quiet);
    }
}
