//! Tests that after a power failure each file has its old or its new content.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use mow_store::claims::{self, Claim, Claims};
use mow_store::disk::call_recorder::{Faults, RecordedCall};
use mow_store::disk::{self, AppendOptions, DiskError, Writer};
use mow_store::manifest;
use mow_store::project::Project;
use mow_store::state::assignments::Assignment;
use serde_json::json;

use super::simulated_disk::DiskImage;
use super::{IMAGES_MAX, RecordedScenario, StatementLog, TestDir};

/// A statement about a file.
#[derive(Clone, Debug)]
pub(crate) enum FileStatement {
    /// The scenario is about to write this content; `None` removes the file.
    Tried(PathBuf, Option<Vec<u8>>),
    /// The write of this content was acknowledged.
    Acked(PathBuf, Option<Vec<u8>>),
}

/// A project with two files.
pub(crate) fn fixture() -> (TestDir, Project) {
    let test_dir = TestDir::new();
    for dir in [".planning/todos/pending", ".planning/todos/done"] {
        fs::create_dir_all(test_dir.path(dir)).unwrap();
    }
    fs::write(test_dir.path(".planning/STATE.md"), "# State\n").unwrap();
    fs::write(test_dir.path(".planning/todos/pending/a.md"), "do it\n").unwrap();
    let project = Project::find(&test_dir.root).unwrap();
    (test_dir, project)
}

fn open(project: &Project) -> Writer {
    Writer::open(project, Duration::ZERO).unwrap()
}

/// Checks that every file has the last acknowledged content, or one that was tried since.
pub(crate) fn check(statements: &[&FileStatement]) -> Result<(), String> {
    let paths: BTreeSet<&PathBuf> = statements
        .iter()
        .map(|statement| match statement {
            FileStatement::Tried(path, _) | FileStatement::Acked(path, _) => path,
        })
        .collect();
    for path in paths {
        let found = fs::read(path).ok();
        let mut allowed = Vec::new();
        for statement in statements {
            match statement {
                FileStatement::Tried(of, value) if of == path => allowed.push(value),
                FileStatement::Acked(of, value) if of == path => allowed = vec![value],
                _ => {}
            }
        }
        if !allowed.contains(&&found) {
            let shown = |value: &Option<Vec<u8>>| {
                value.as_ref().map_or("none".to_owned(), |bytes| format!("{} bytes", bytes.len()))
            };
            let allowed: Vec<_> = allowed.into_iter().map(shown).collect();
            return Err(format!("{} is {}, not {allowed:?}", path.display(), shown(&found)));
        }
    }
    Ok(())
}

/// Runs `act`, and states before it what files are to become and after it that they are.
fn attempt<T>(
    log: &mut StatementLog<FileStatement>,
    becomes: &[(&Path, Option<&[u8]>)],
    act: impl FnOnce() -> Result<T, DiskError>,
) {
    let statements: Vec<_> = becomes
        .iter()
        .map(|(path, value)| (path.to_path_buf(), value.map(<[u8]>::to_vec)))
        .collect();
    statements
        .iter()
        .for_each(|(path, value)| log.add(FileStatement::Tried(path.clone(), value.clone())));
    if act().is_ok() {
        statements.into_iter().for_each(|(path, value)| log.add(FileStatement::Acked(path, value)));
    }
}

/// States that the existing files are durable.
fn state_existing(log: &mut StatementLog<FileStatement>, paths: &[&Path]) {
    for path in paths {
        log.add(FileStatement::Acked(path.to_path_buf(), fs::read(path).ok()));
    }
}

/// A scenario with every operation of a writer.
pub(crate) fn scenario(
    test_dir: &TestDir,
    project: &Project,
    faults: Faults,
) -> RecordedScenario<FileStatement> {
    let [state, new, a, done, copy] =
        ["STATE.md", "NEW.md", "todos/pending/a.md", "todos/done/a.md", "fresh/COPY.md"]
            .map(|name| project.planning.join(name));
    let fresh = copy.parent().unwrap();
    let long = "a line of some length\n".repeat(60);
    RecordedScenario::record(test_dir, faults, |log| {
        state_existing(log, &[&state, &new, &a, &done, &copy]);
        let Ok(writer) = Writer::open(project, Duration::ZERO) else { return };
        let bytes = long.as_bytes();
        attempt(log, &[(&state, Some(bytes))], || writer.replace(&state, bytes));
        attempt(log, &[(&new, Some(b"new\n"))], || writer.replace(&new, b"new\n"));
        attempt(log, &[(&new, Some(b"new\n"))], || writer.replace(&new, b"new\n"));
        drop(writer);
        let Ok(writer) = Writer::open(project, Duration::ZERO) else { return };
        let moved = [(&*done, Some(&b"do it\n"[..])), (&*a, None)];
        attempt(log, &moved, || writer.rename(&a, &done));
        if writer.create_dir(fresh).is_ok() {
            let bytes = fs::read(&state).unwrap();
            attempt(log, &[(&copy, Some(&bytes))], || writer.copy(&state, &copy));
        }
        attempt(log, &[(&new, None)], || writer.remove_file(&new));
        attempt(log, &[(&state, Some(b"# Short\n"))], || {
            writer.update(&state, |_| Ok::<_, DiskError>(Some(b"# Short\n".to_vec())))
        });
    })
}

/// Checks the files, and that the next writer can write at once and leaves no temporary file.
fn check_and_write_again(
    project: &Project,
    statements: &[&FileStatement],
    _: &DiskImage,
) -> Result<(), String> {
    // A crash during a rename between two directories may leave both names, never none.
    let moved = ["todos/pending/a.md", "todos/done/a.md"].map(|name| project.planning.join(name));
    if !moved.iter().any(|path| path.is_file()) {
        return Err("a.md has no name".to_owned());
    }
    check(statements)?;
    let state = project.planning.join("STATE.md");
    let writer = open(project);
    writer.replace(&state, b"# Next\n").map_err(|error| error.to_string())?;
    writer.remove_temp_files(&project.planning).map_err(|error| error.to_string())?;
    let left = disk::list_temp_files(&project.planning).map_err(|error| error.to_string())?;
    let is_next = fs::read(&state).unwrap() == b"# Next\n";
    if is_next && left.is_empty() { Ok(()) } else { Err(format!("left: {left:?}")) }
}

#[test]
fn a_crash_after_any_call_leaves_old_files_or_new_ones() {
    let (test_dir, project) = fixture();
    let scenario = scenario(&test_dir, &project, Faults::default());
    let check = |statements: &[&FileStatement], image: &DiskImage| {
        check_and_write_again(&project, statements, image)
    };
    let images = scenario.crash_after_every_call(&test_dir, IMAGES_MAX, check).unwrap();
    assert!(images > 500, "{images} images");
}

#[test]
fn without_its_syncs_a_writer_loses_files() {
    let is_sync: [fn(&RecordedCall) -> bool; 2] = [
        |call| matches!(call, RecordedCall::Sync { .. }),
        |call| matches!(call, RecordedCall::SyncDir { .. }),
    ];
    for is_sync in is_sync {
        let (test_dir, project) = fixture();
        let bare = scenario(&test_dir, &project, Faults::default()).without(is_sync);
        let check = |statements: &[&FileStatement], image: &DiskImage| {
            check_and_write_again(&project, statements, image)
        };
        let problem = bare.crash_after_every_call(&test_dir, IMAGES_MAX, check).unwrap_err();
        assert!(problem.contains(".md is "), "{problem}");
    }
}

/// Claims a phase, as `mow worktree claim` does.
pub(crate) fn claim(project: &Project, phase: u64) -> Result<(), DiskError> {
    let text = |text: &str| text.to_owned();
    let assignment = Assignment {
        worktree: format!("/w/{phase}"),
        branch: text("b"),
        phase: format!("{phase:02}"),
        plan: text("—"),
        status: text("executing"),
        started: text("now"),
        agent: text("a"),
    };
    let claim = Claim { project: String::new(), assignment, run: None, attempt: None };
    let writer = Writer::open_engine(project, Duration::ZERO)?;
    let path = claims::path(project);
    writer.update(&path, |old| {
        let mut claims = Claims::parse(old.unwrap_or_default()).expect("claims always parse");
        claims.take(claim.clone(), &[]);
        Ok::<_, DiskError>(Some(claims.render()))
    })?;
    Ok(())
}

/// Returns the claimed phases.
pub(crate) fn claimed_phases(project: &Project) -> Result<Vec<u64>, String> {
    let bytes = fs::read(claims::path(project)).unwrap_or_default();
    let claims = Claims::parse(&bytes).map_err(|error| error.to_string())?;
    Ok(claims.claims.iter().map(|claim| claim.assignment.phase.parse().unwrap()).collect())
}

/// Adds a worktree to the manifest, as the lead does.
pub(crate) fn add_worktree(project: &Project, phase: u64) -> Result<(), DiskError> {
    let fields = [("phase", json!(phase)), ("status", json!("active"))];
    let writer = Writer::open(project, Duration::ZERO)?;
    writer.update(&project.root.join("manifest.json"), |old| {
        let old = old.unwrap_or_default();
        let new = manifest::set_entry(old, &format!("phase-{phase:02}"), &fields, "now");
        Ok::<_, DiskError>(Some(new.expect("a manifest always parses")))
    })?;
    Ok(())
}

/// Returns the phases with a worktree in the manifest.
pub(crate) fn worktree_phases(project: &Project) -> Result<Vec<u64>, String> {
    let bytes = fs::read(project.root.join("manifest.json")).unwrap_or_default();
    let manifest = manifest::parse(&bytes).map_err(|error| error.to_string())?;
    let phases = manifest.worktrees.iter().map(|(name, _)| name[6..].parse().unwrap());
    Ok(phases.collect())
}

/// The list that a phase is added to, the phase, and whether that was acknowledged.
type ListStatement = (&'static str, u64, bool);

#[test]
fn claims_and_manifest_always_parse_and_lose_nothing() {
    let (test_dir, project) = fixture();
    let scenario = RecordedScenario::record(&test_dir, Faults::default(), |log| {
        for phase in 1..=3 {
            log.add(("claims", phase, false));
            claim(&project, phase).unwrap();
            log.add(("claims", phase, true));
            log.add(("manifest", phase, false));
            add_worktree(&project, phase).unwrap();
            log.add(("manifest", phase, true));
        }
    });
    let check = |statements: &[&ListStatement], _: &DiskImage| {
        for (list, found) in
            [("claims", claimed_phases(&project)?), ("manifest", worktree_phases(&project)?)]
        {
            let of_list =
                |acked: bool| statements.iter().filter(move |s| s.0 == list && (s.2 || !acked));
            if of_list(true).any(|(_, phase, _)| !found.contains(phase))
                || found.iter().any(|phase| of_list(false).all(|s| s.1 != *phase))
            {
                return Err(format!("{list}: {found:?}"));
            }
        }
        Ok(())
    };
    scenario.crash_after_every_call(&test_dir, IMAGES_MAX, check).unwrap();
}

#[test]
fn an_acknowledged_line_is_readable_after_a_torn_line() {
    let (test_dir, project) = fixture();
    let path = project.planning.join("chat.ndjson");
    let options = AppendOptions { durable: true, line_limit: None };
    let line = |n: u64| json!({ "n": n, "text": "x".repeat(300) }).to_string();
    let scenario = RecordedScenario::record(&test_dir, Faults::default(), |log| {
        for n in 1..=3 {
            let options = AppendOptions { durable: n != 2, ..options };
            open(&project).append_line(&path, line(n).as_bytes(), options).unwrap();
            log.add(if n == 2 { 1 } else { n });
        }
    });
    let check = |statements: &[&u64], _: &DiskImage| {
        open(&project).append_line(&path, line(9).as_bytes(), options).unwrap();
        let read = mow_store::ndjson::objects(&fs::read(&path).unwrap());
        let read: Vec<u64> = read.iter().map(|line| line["n"].as_u64().unwrap()).collect();
        let acked = statements.last().map_or(0, |n| **n);
        let is_there = (1..=acked).all(|n| read.contains(&n)) && read.last() == Some(&9);
        if is_there { Ok(()) } else { Err(format!("{read:?} of {acked}")) }
    };
    scenario.crash_after_every_call(&test_dir, IMAGES_MAX, check).unwrap();
}
