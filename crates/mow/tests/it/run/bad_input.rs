//! Input that is no good, and machines that do not play along: a clear word, nothing lost, and the
//! rest goes on.
#![expect(clippy::disallowed_methods, reason = "the tests play the machine that breaks things")]

use std::fs;
use std::io::Write;

use mow_testkit::field::{ALL, Field, Plan, Soil, marked, phase, plan, task};
use mow_testkit::sandbox::Sandbox;

use super::{MOW, field, sown};

#[test]
fn what_cannot_be_run_is_refused_in_a_sentence() {
    let circle = field(&[sown("1", &["2"], ""), sown("2", &["1"], "")]);
    let said = circle.ends(&ALL, 1);
    assert!(said.contains("dependency cycle: 1 → 2 → 1"), "{said}");
    let nowhere = Sandbox::new(MOW).file(".planning/ROADMAP.md", "# Roadmap\n");
    nowhere.call(ALL).run().refuses("need a git repository");
    nowhere.git(".", &["init", "-q"]);
    nowhere.call(ALL).run().refuses("no commits yet");
    let nobody = field(&[sown("1", &[], "")]);
    nobody.git(&["config", "--unset", "user.email"]);
    let said = nobody.ends(&ALL, 1);
    assert!(said.contains("who you are") && said.contains("git config user.name"), "{said}");
    assert!(nobody.run_dir().is_none(), "nothing was begun");
}

#[test]
fn a_plan_without_tasks_fails_its_phase_only() {
    let empty = Plan::of_text("---\nphase: 01\nplan: 01\nwave: 1\n---\n\n<tasks>\n</tasks>\n");
    let field = field(&[phase("1", &[]).with(empty), sown("2", &[], "")]);
    let said = field.ends(&ALL, 1);
    assert!(said.contains("it has no tasks that can be read"), "{said}");
    assert!(said.contains("phase 2 is merged"), "{said}");
    field.inspect();
}

/// Appends to a file of the newest run, past everyone who writes there by the rules.
fn scribble(field: &Field, file: &str) {
    let path = field.run_dir().expect("there is a run").join(file);
    let file = fs::OpenOptions::new().append(true).create(true).open(path);
    let mut file = file.expect("the directory is ours");
    file.write_all(b"a person was here\n").expect("the file is ours");
}

#[test]
fn a_damaged_journal_of_a_worker_fails_its_phase_only_and_the_next_run_goes_on() {
    let field = field(&[sown("1", &[], "meet 1"), sown("2", &[], "meet 2")]);
    let lead = field.start(&ALL);
    field.reached("1");
    field.reached("2");
    scribble(&field, "01-1.ndjson");
    field.until_event("the damage", |event| event["report"]["report"] == "failed");
    field.open("1");
    field.open("2");
    let (status, said) = lead.end();
    assert_eq!(status.code(), Some(1), "{said}");
    assert!(said.contains("01-1.ndjson is damaged in line"), "{said}");
    assert!(said.contains("phase 2 is merged"), "{said}");
    field.run_all();
    field.inspect();
    assert_eq!(field.trailers("Mow-Task").len(), 2);
}

#[test]
fn damaged_commands_are_said_and_do_not_stop_a_run() {
    let field = field(&[sown("1", &[], "meet 1")]);
    let lead = field.start(&ALL);
    field.reached("1");
    scribble(&field, "commands.ndjson");
    field.open("1");
    let (status, said) = lead.end();
    assert!(status.success(), "{said}");
    assert!(said.contains("commands.ndjson is damaged in line 1"), "{said}");
    field.inspect();
}

#[test]
fn a_flood_of_output_fills_neither_disk_nor_memory() {
    let flood = "yes 'seed seed seed seed seed seed' | head -c 200000000";
    let field = field(&[sown("1", &[], flood)]);
    field.run_all();
    field.inspect();
    let logs = fs::read_dir(field.run_dir().unwrap().join("logs")).unwrap();
    let sizes = logs.map(|entry| entry.unwrap().metadata().unwrap().len());
    assert!(sizes.sum::<u64>() < 20_000_000);
}

#[test]
fn a_flood_of_what_a_worker_itself_prints_does_not_fill_the_disk() {
    let flood = "yes 'seed seed seed' | head -c 50000000 > /proc/$PPID/fd/2";
    let field = field(&[sown("1", &[], flood)]);
    field.run_all();
    field.inspect();
    let log = field.run_dir().unwrap().join("logs/01-1.log");
    let text = fs::read(&log).unwrap();
    assert!(text.starts_with(b"seed seed seed\n"), "it was written to");
    assert!(text.len() < 1_000_000, "{} bytes", text.len());
}

#[test]
fn what_a_task_leaves_running_is_ended_with_its_phase() {
    let daemon = "setsid sh -c 'trap \"\" HUP; : > daemon; while :; do sleep 0.1; done' &\n\
                  while [ ! -e daemon ]; do sleep 0.01; done";
    let field = field(&[sown("1", &[], daemon)]);
    field.run_all();
    field.inspect();
}

/// A directory in memory with little room, for as long as the value lives.
struct SmallDisk(std::path::PathBuf);

impl SmallDisk {
    fn mount(path: &std::path::Path, megabytes: u32) -> Self {
        let size = format!("size={megabytes}m");
        let sandbox = Sandbox::new("mount");
        let path_text = path.to_str().expect("it has a plain name");
        let ran = sandbox.call(["-t", "tmpfs", "-o", &size, "tmpfs", path_text]).run();
        assert!(ran.status.success(), "{}", ran.transcript());
        Self(path.to_path_buf())
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let sandbox = Sandbox::new("umount");
        let _ = sandbox.call(["--lazy".as_ref(), self.0.as_os_str()]).run();
    }
}

#[test]
fn a_full_disk_is_said_loses_nothing_and_is_gone_on_from() {
    let field = field(&[sown("1", &[], ""), sown("2", &["1"], "meet 2")]);
    let runs = field.top().join(".git/mow");
    fs::create_dir(&runs).unwrap();
    let _disk = SmallDisk::mount(&runs, 1);
    let lead = field.start(&ALL);
    field.reached("2");
    // Not a byte is left for lead and worker.
    let mut fill = fs::File::create(runs.join("fill")).unwrap();
    while fill.write_all(&[0; 4096]).is_ok() {}
    while fill.write_all(&[0; 1]).is_ok() {}
    drop(fill);
    field.open("2");
    let (status, said) = lead.end();
    assert!(!status.success() && said.contains("No space left on device"), "{said}");
    // Some bytes may be left at the end of the journal, and then it is the phase that fails.
    assert!(status.code() == Some(1) || said.contains("make room"), "{said}");
    let run = field.run_id();
    field.until("the end of the worker", || marked(&run).is_empty().then_some(()));
    let again = field.run(&ALL);
    let said = again.transcript();
    assert!(!again.status.success() && said.contains("No space left"), "{said}");
    fs::remove_file(runs.join("fill")).unwrap();
    field.run_all();
    field.inspect();
    assert_eq!(field.trailers("Mow-Task").len(), 2);
}

#[test]
fn an_engine_directory_that_cannot_be_written_is_said_at_once() {
    let soil = Soil { on_disk: true, ..Soil::default() };
    let field = Field::on(MOW, &soil, &[sown("1", &[], "")]);
    let engine = field.top().join(".git/mow");
    fs::create_dir(&engine).unwrap();
    let mode = |bits| {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(bits);
        fs::set_permissions(&engine, mode).unwrap();
    };
    mode(0o555);
    let ran = field.call(&ALL).unprivileged().run();
    mode(0o755);
    assert_eq!(ran.status.code(), Some(3), "{}", ran.transcript());
    assert!(ran.stderr.contains(".git/mow") && ran.stderr.contains("Hint: "), "{}", ran.stderr);
    field.run_all();
    field.inspect();
}

#[test]
fn a_lead_does_not_outlive_its_repository() {
    let field = field(&[sown("1", &[], "meet 1")]);
    let lead = field.start(&ALL);
    field.reached("1");
    let run = field.run_id();
    fs::remove_dir_all(field.run_dir().unwrap()).unwrap();
    let (status, said) = lead.end();
    assert_eq!(status.code(), Some(1), "{said}");
    assert!(said.contains("is gone, and with it the run"), "{said}");
    field.open("1");
    field.until("the end of the worker", || marked(&run).is_empty().then_some(()));
}

#[test]
fn the_same_worker_started_twice_works_once() {
    let field = field(&[phase("1", &[]).with(plan(vec![task("echo 1 >> a; meet 1")]))]);
    let lead = field.start(&ALL);
    field.reached("1");
    let run = field.run_id();
    let root = field.root();
    let words = ["worker", "--run", &run, "--phase", "1", "--attempt", "1", "--root"];
    let second = field.run(&[&words[..], &[root.to_str().unwrap()]].concat());
    assert!(!second.status.success(), "{}", second.transcript());
    field.open("1");
    let (status, said) = lead.end();
    assert!(status.success(), "{said}");
    field.inspect();
    assert_eq!(field.git(&["show", "main:a"]), "1\n");
}
