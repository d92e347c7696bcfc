//! Tests bad input and failing machines: a clear message, no lost work, and other phases continue.
#![expect(clippy::disallowed_methods, reason = "the tests play the machine that breaks things")]

use std::fs;
use std::io::Write;

use mow_testkit::planned_project::{
    ALL, PlanFixture, PlannedProject, ProjectOptions, phase, plan, processes_of_run, task,
};
use mow_testkit::sandbox::Sandbox;

use super::{MOW, one_task_phase, project};

#[test]
fn projects_that_cannot_run_are_refused_with_the_reason() {
    let cyclic = project(&[one_task_phase("1", &["2"], ""), one_task_phase("2", &["1"], "")]);
    let output = cyclic.exits_with(&ALL, 1);
    assert!(output.contains("dependency cycle: 1 → 2 → 1"), "{output}");
    let without_git = Sandbox::new(MOW).file(".planning/ROADMAP.md", "# Roadmap\n");
    without_git.call(ALL).run().refuses("there is no git repository here");
    without_git.git(".", &["init", "-q"]);
    without_git.call(ALL).run().refuses("no commits yet");
    let anonymous = project(&[one_task_phase("1", &[], "")]);
    anonymous.git(&["config", "--unset", "user.email"]);
    let output = anonymous.exits_with(&ALL, 1);
    assert!(
        output.contains("does not know your name") && output.contains("git config user.name"),
        "{output}"
    );
    assert!(anonymous.run_dir().is_none(), "no run was started");
}

#[test]
fn a_plan_without_tasks_fails_its_phase_only() {
    let empty =
        PlanFixture::from_text("---\nphase: 01\nplan: 01\nwave: 1\n---\n\n<tasks>\n</tasks>\n");
    let project = project(&[phase("1", &[]).with(empty), one_task_phase("2", &[], "")]);
    let output = project.exits_with(&ALL, 1);
    assert!(output.contains("it has no tasks that can be read"), "{output}");
    assert!(output.contains("phase 2 is merged"), "{output}");
    project.assert_consistent();
}

/// Appends a line that is not a record to a file of the newest run.
fn append_garbage(project: &PlannedProject, file: &str) {
    let path = project.run_dir().expect("there is a run").join(file);
    let file = fs::OpenOptions::new().append(true).create(true).open(path);
    let mut file = file.expect("the directory is ours");
    file.write_all(b"a person was here\n").expect("the file is ours");
}

#[test]
fn a_damaged_journal_of_a_worker_fails_its_phase_only_and_the_next_run_goes_on() {
    let project =
        project(&[one_task_phase("1", &[], "meet 1"), one_task_phase("2", &[], "meet 2")]);
    let lead = project.start(&ALL);
    project.wait_for_point("1");
    project.wait_for_point("2");
    append_garbage(&project, "01-1.ndjson");
    project.wait_for_event("the damage", |event| event["report"]["report"] == "failed");
    project.release_point("1");
    project.release_point("2");
    let (status, output) = lead.end();
    assert_eq!(status.code(), Some(1), "{output}");
    assert!(output.contains("01-1.ndjson is damaged in line"), "{output}");
    assert!(output.contains("phase 2 is merged"), "{output}");
    project.run_all();
    project.assert_consistent();
    assert_eq!(project.trailers("Mow-Task").len(), 2);
}

#[test]
fn a_damaged_command_file_is_reported_and_does_not_stop_a_run() {
    let project = project(&[one_task_phase("1", &[], "meet 1")]);
    let lead = project.start(&ALL);
    project.wait_for_point("1");
    append_garbage(&project, "commands.ndjson");
    project.release_point("1");
    let (status, output) = lead.end();
    assert!(status.success(), "{output}");
    assert!(output.contains("commands.ndjson is damaged in line 1"), "{output}");
    project.assert_consistent();
}

#[test]
fn a_flood_of_output_fills_neither_disk_nor_memory() {
    let flood = "yes 'seed seed seed seed seed seed' | head -c 200000000";
    let project = project(&[one_task_phase("1", &[], flood)]);
    project.run_all();
    project.assert_consistent();
    let logs = fs::read_dir(project.run_dir().unwrap().join("logs")).unwrap();
    let sizes = logs.map(|entry| entry.unwrap().metadata().unwrap().len());
    assert!(sizes.sum::<u64>() < 20_000_000);
}

#[test]
fn a_flood_on_the_stderr_of_a_worker_does_not_fill_the_disk() {
    let flood = "yes 'seed seed seed' | head -c 50000000 > /proc/$PPID/fd/2";
    let project = project(&[one_task_phase("1", &[], flood)]);
    project.run_all();
    project.assert_consistent();
    let log = project.run_dir().unwrap().join("logs/01-1.log");
    let text = fs::read(&log).unwrap();
    assert!(text.starts_with(b"seed seed seed\n"), "it was written to");
    assert!(text.len() < 1_000_000, "{} bytes", text.len());
}

#[test]
fn processes_that_a_task_leaves_behind_are_ended_with_its_phase() {
    let daemon = "setsid sh -c 'trap \"\" HUP; : > daemon; while :; do sleep 0.1; done' &\n\
                  while [ ! -e daemon ]; do sleep 0.01; done";
    let project = project(&[one_task_phase("1", &[], daemon)]);
    project.run_all();
    project.assert_consistent();
}

/// A small tmpfs, mounted until the value is dropped.
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
fn a_full_disk_is_reported_loses_nothing_and_the_run_resumes() {
    let project = project(&[one_task_phase("1", &[], ""), one_task_phase("2", &["1"], "meet 2")]);
    let runs = project.repository_root().join(".git/mow");
    fs::create_dir(&runs).unwrap();
    let _disk = SmallDisk::mount(&runs, 1);
    let lead = project.start(&ALL);
    project.wait_for_point("2");
    // Fill the disk to the last byte.
    let mut fill = fs::File::create(runs.join("fill")).unwrap();
    while fill.write_all(&[0; 4096]).is_ok() {}
    while fill.write_all(&[0; 1]).is_ok() {}
    drop(fill);
    project.release_point("2");
    let (status, output) = lead.end();
    assert!(!status.success() && output.contains("No space left on device"), "{output}");
    // If the last block of the journal has room left, the phase fails and not the lead.
    assert!(status.code() == Some(1) || output.contains("free some disk space"), "{output}");
    let run = project.run_id();
    project.wait_for("the end of the worker", || processes_of_run(&run).is_empty().then_some(()));
    let again = project.run(&ALL);
    let output = again.transcript();
    assert!(!again.status.success() && output.contains("No space left"), "{output}");
    fs::remove_file(runs.join("fill")).unwrap();
    project.run_all();
    project.assert_consistent();
    assert_eq!(project.trailers("Mow-Task").len(), 2);
}

#[test]
fn a_read_only_engine_directory_is_reported_at_once() {
    let options = ProjectOptions { on_disk: true, ..ProjectOptions::default() };
    let project = PlannedProject::with_options(MOW, &options, &[one_task_phase("1", &[], "")]);
    let engine = project.repository_root().join(".git/mow");
    fs::create_dir(&engine).unwrap();
    let mode = |bits| {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(bits);
        fs::set_permissions(&engine, mode).unwrap();
    };
    mode(0o555);
    let ran = project.call(&ALL).unprivileged().run();
    mode(0o755);
    assert_eq!(ran.status.code(), Some(3), "{}", ran.transcript());
    assert!(ran.stderr.contains(".git/mow") && ran.stderr.contains("Hint: "), "{}", ran.stderr);
    project.run_all();
    project.assert_consistent();
}

#[test]
fn a_lead_does_not_outlive_its_repository() {
    let project = project(&[one_task_phase("1", &[], "meet 1")]);
    let lead = project.start(&ALL);
    project.wait_for_point("1");
    let run = project.run_id();
    fs::remove_dir_all(project.run_dir().unwrap()).unwrap();
    let (status, output) = lead.end();
    assert_eq!(status.code(), Some(1), "{output}");
    assert!(output.contains("is gone, and with it the run"), "{output}");
    project.release_point("1");
    project.wait_for("the end of the worker", || processes_of_run(&run).is_empty().then_some(()));
}

#[test]
fn the_same_worker_started_twice_works_once() {
    let project = project(&[phase("1", &[]).with(plan(vec![task("echo 1 >> a; meet 1")]))]);
    let lead = project.start(&ALL);
    project.wait_for_point("1");
    let run = project.run_id();
    let root = project.root();
    let words = ["worker", "--run", &run, "--phase", "1", "--attempt", "1", "--root"];
    let second = project.run(&[&words[..], &[root.to_str().unwrap()]].concat());
    assert!(!second.status.success(), "{}", second.transcript());
    project.release_point("1");
    let (status, output) = lead.end();
    assert!(status.success(), "{output}");
    project.assert_consistent();
    assert_eq!(project.git(&["show", "main:a"]), "1\n");
}
