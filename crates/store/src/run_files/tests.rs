//! Tests of the names of a run's files.

use std::fs;
use std::path::Path;

use mow_core::phase::PhaseNumber;

use super::{RunDir, join_name, latest_run, list_runs, new_run_name};
use crate::project::Project;

#[test]
fn the_files_of_a_run_have_fixed_names() {
    let run = RunDir::new(Path::new("/e"), "20261115-233012-4f2a").unwrap();
    let (whole, part) = (PhaseNumber::whole(3), PhaseNumber::parse("2.1").unwrap());
    let files = [
        run.journal(),
        run.commands(),
        run.worker_journal(&whole, 1),
        run.worker_inbox(&part, 2),
        run.life_lock(&part, 2),
        run.log(&PhaseNumber::whole(12), 3),
    ];
    let names = files.map(|file| file.strip_prefix(run.path()).unwrap().display().to_string());
    let expected = [
        "journal.ndjson",
        "commands.ndjson",
        "03-1.ndjson",
        "02.1-2.inbox.ndjson",
        "02.1-2.lock",
        "logs/12-3.log",
    ];
    assert_eq!(names, expected);
    assert_eq!(run.path(), Path::new("/e/runs/20261115-233012-4f2a"));
    assert_eq!(run.worker_header(&whole, 1).phase.as_deref(), Some("03"));
}

#[test]
fn a_run_name_with_a_path_is_refused() {
    for name in ["", ".", "..", "../x", "a/b", "/a", "-x", "a\0b", "a\nb"] {
        assert!(RunDir::new(Path::new("/e"), name).is_err(), "{name:?}");
    }
}

#[test]
fn runs_are_listed_oldest_first() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir_all(dir.path().join("app/.planning")).unwrap();
    fs::create_dir_all(dir.path().join(".planning")).unwrap();
    fs::create_dir_all(dir.path().join(".git")).unwrap();
    fs::write(dir.path().join(".git/HEAD"), "ref: refs/heads/main").unwrap();
    let [top, app] = ["", "app"].map(|at| Project::find(&dir.path().join(at)).unwrap());
    let engine = top.engine_dir.clone();
    assert_eq!((list_runs(&engine).unwrap(), latest_run(&top).unwrap()), (Vec::new(), None));
    for name in ["20261116-000000-aaaa", "20261115-233012-4f2a", "20261115-233012-4f2a"] {
        let run = RunDir::new(&engine, name).unwrap();
        run.create().unwrap();
        assert!(run.log(&PhaseNumber::whole(1), 1).parent().unwrap().is_dir());
    }
    fs::create_dir(engine.join("runs/.hidden")).unwrap();
    fs::write(engine.join("runs/zzz"), "a file").unwrap();
    assert_eq!(list_runs(&engine).unwrap(), ["20261115-233012-4f2a", "20261116-000000-aaaa"]);
    assert_eq!(latest_run(&app).unwrap(), None, "those are runs of the project at the top");
    let of_app = join_name("20261117-000000-bbbb", &app.tag());
    RunDir::new(&engine, &of_app).unwrap().create().unwrap();
    assert_eq!(latest_run(&app).unwrap(), Some(of_app));
    assert_eq!(latest_run(&top).unwrap().as_deref(), Some("20261116-000000-aaaa"));
}

#[test]
fn a_new_run_sorts_after_all_others() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir_all(dir.path().join(".planning")).unwrap();
    let project = Project::find(dir.path()).unwrap();
    let engine = project.engine_dir.clone();
    let now: jiff::Timestamp = "2026-11-15T23:30:12.5Z".parse().unwrap();
    let make = |now| {
        let name = new_run_name(&project, now).unwrap();
        RunDir::new(&engine, &name).unwrap().create().unwrap();
        name
    };
    assert_eq!(make(now), "20261115-233012-8000");
    assert_eq!(make(now), "20261115-233012-8001", "at the same moment");
    assert_eq!(make("2020-01-01T00:00:00Z".parse().unwrap()), "20261115-233012-8002", "or earlier");
    RunDir::new(&engine, "20261115-233012-ffff").unwrap().create().unwrap();
    assert_eq!(make(now), "20261115-233013-0000");
    for _ in 0..100 {
        let last = latest_run(&project).unwrap().unwrap();
        assert!(make(now) > last);
    }
    // A name in another form does not count.
    RunDir::new(&engine, "zzz").unwrap().create().unwrap();
    assert_eq!(make(now), "20261115-233012-8000");
}
