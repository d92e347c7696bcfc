//! Whole files after a power failure: each is what it was or what it was to become.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use mow_store::claims::{self, Claim, Claims};
use mow_store::disk::tape::{Call, Faults};
use mow_store::disk::{self, Append, DiskError, Writer};
use mow_store::manifest;
use mow_store::project::Project;
use mow_store::state::assignments::Assignment;
use serde_json::json;

use super::disk::Outcome;
use super::{ALL, Notes, Stage, Story};

/// What is said of a file.
#[derive(Clone, Debug)]
pub(crate) enum Said {
    /// It is to become this; `None` is no file.
    Tried(PathBuf, Option<Vec<u8>>),
    /// It was acknowledged that it is.
    Acked(PathBuf, Option<Vec<u8>>),
}

/// A project with two files.
pub(crate) fn fixture() -> (Stage, Project) {
    let stage = Stage::new();
    for dir in [".planning/todos/pending", ".planning/todos/done"] {
        fs::create_dir_all(stage.path(dir)).unwrap();
    }
    fs::write(stage.path(".planning/STATE.md"), "# State\n").unwrap();
    fs::write(stage.path(".planning/todos/pending/a.md"), "do it\n").unwrap();
    let project = Project::find(&stage.root).unwrap();
    (stage, project)
}

fn open(project: &Project) -> Writer {
    Writer::open(project, Duration::ZERO).unwrap()
}

/// Checks that every file is the last that was acknowledged, or one that was tried since.
pub(crate) fn check(said: &[&Said]) -> Result<(), String> {
    let paths: BTreeSet<&PathBuf> = said
        .iter()
        .map(|said| match said {
            Said::Tried(path, _) | Said::Acked(path, _) => path,
        })
        .collect();
    for path in paths {
        let found = fs::read(path).ok();
        let mut allowed = Vec::new();
        for said in said {
            match said {
                Said::Tried(of, value) if of == path => allowed.push(value),
                Said::Acked(of, value) if of == path => allowed = vec![value],
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

/// Tries something that gives files values, and says so.
fn try_out<T>(
    notes: &mut Notes<Said>,
    becomes: &[(&Path, Option<&[u8]>)],
    act: impl FnOnce() -> Result<T, DiskError>,
) {
    let said: Vec<_> =
        becomes.iter().map(|(p, v)| (p.to_path_buf(), v.map(<[u8]>::to_vec))).collect();
    said.iter().for_each(|(path, value)| notes.say(Said::Tried(path.clone(), value.clone())));
    if act().is_ok() {
        said.into_iter().for_each(|(path, value)| notes.say(Said::Acked(path, value)));
    }
}

/// Starts with what is there, which is durable.
fn begin(notes: &mut Notes<Said>, paths: &[&Path]) {
    for path in paths {
        notes.say(Said::Acked(path.to_path_buf(), fs::read(path).ok()));
    }
}

/// Does everything that a writer can do.
pub(crate) fn story(stage: &Stage, project: &Project, faults: Faults) -> Story<Said> {
    let [state, new, a, done, copy] =
        ["STATE.md", "NEW.md", "todos/pending/a.md", "todos/done/a.md", "fresh/COPY.md"]
            .map(|name| project.planning.join(name));
    let fresh = copy.parent().unwrap();
    let long = "a line of some length\n".repeat(60);
    Story::tell(stage, faults, |notes| {
        begin(notes, &[&state, &new, &a, &done, &copy]);
        let Ok(writer) = Writer::open(project, Duration::ZERO) else { return };
        let bytes = long.as_bytes();
        try_out(notes, &[(&state, Some(bytes))], || writer.replace(&state, bytes));
        try_out(notes, &[(&new, Some(b"new\n"))], || writer.replace(&new, b"new\n"));
        try_out(notes, &[(&new, Some(b"new\n"))], || writer.replace(&new, b"new\n"));
        drop(writer);
        let Ok(writer) = Writer::open(project, Duration::ZERO) else { return };
        let moved = [(&*done, Some(&b"do it\n"[..])), (&*a, None)];
        try_out(notes, &moved, || writer.rename(&a, &done));
        if writer.create_dir(fresh).is_ok() {
            let bytes = fs::read(&state).unwrap();
            try_out(notes, &[(&copy, Some(&bytes))], || writer.copy(&state, &copy));
        }
        try_out(notes, &[(&new, None)], || writer.remove_file(&new));
        try_out(notes, &[(&state, Some(b"# Short\n"))], || {
            writer.update(&state, |_| Ok::<_, DiskError>(Some(b"# Short\n".to_vec())))
        });
    })
}

/// Checks the files, and that the next writer is at work at once and leaves nothing behind.
fn check_and_go_on(project: &Project, said: &[&Said], _: &Outcome) -> Result<(), String> {
    // A rename between two directories may show both names, never none.
    let moved = ["todos/pending/a.md", "todos/done/a.md"].map(|name| project.planning.join(name));
    if !moved.iter().any(|path| path.is_file()) {
        return Err("a.md has no name".to_owned());
    }
    check(said)?;
    let state = project.planning.join("STATE.md");
    let writer = open(project);
    writer.replace(&state, b"# Next\n").map_err(|error| error.to_string())?;
    writer.sweep(&project.planning).map_err(|error| error.to_string())?;
    let left = disk::strays(&project.planning).map_err(|error| error.to_string())?;
    let is_next = fs::read(&state).unwrap() == b"# Next\n";
    if is_next && left.is_empty() { Ok(()) } else { Err(format!("left: {left:?}")) }
}

#[test]
fn a_writer_cut_off_anywhere_leaves_old_files_or_new_ones() {
    let (stage, project) = fixture();
    let story = story(&stage, &project, Faults::default());
    let check = |said: &[&Said], outcome: &Outcome| check_and_go_on(&project, said, outcome);
    let images = story.cut_everywhere(&stage, ALL, check).unwrap();
    assert!(images > 500, "{images} images");
}

#[test]
fn without_its_syncs_a_writer_loses_files() {
    let is_sync: [fn(&Call) -> bool; 2] =
        [|call| matches!(call, Call::Sync { .. }), |call| matches!(call, Call::SyncDir { .. })];
    for is_sync in is_sync {
        let (stage, project) = fixture();
        let bare = story(&stage, &project, Faults::default()).without(is_sync);
        let check = |said: &[&Said], outcome: &Outcome| check_and_go_on(&project, said, outcome);
        let problem = bare.cut_everywhere(&stage, ALL, check).unwrap_err();
        assert!(problem.contains(".md is "), "{problem}");
    }
}

/// Takes a phase, as `mow worktree claim` does.
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

/// Returns the phases that are taken.
pub(crate) fn claimed(project: &Project) -> Result<Vec<u64>, String> {
    let bytes = fs::read(claims::path(project)).unwrap_or_default();
    let claims = Claims::parse(&bytes).map_err(|error| error.to_string())?;
    Ok(claims.claims.iter().map(|claim| claim.assignment.phase.parse().unwrap()).collect())
}

/// Notes a worktree, as the lead does.
pub(crate) fn enter(project: &Project, phase: u64) -> Result<(), DiskError> {
    let fields = [("phase", json!(phase)), ("status", json!("active"))];
    let writer = Writer::open(project, Duration::ZERO)?;
    writer.update(&project.root.join("manifest.json"), |old| {
        let old = old.unwrap_or_default();
        let new = manifest::set_entry(old, &format!("phase-{phase:02}"), &fields, "now");
        Ok::<_, DiskError>(Some(new.expect("a manifest always parses")))
    })?;
    Ok(())
}

/// Returns the phases that have worktrees.
pub(crate) fn entered(project: &Project) -> Result<Vec<u64>, String> {
    let bytes = fs::read(project.root.join("manifest.json")).unwrap_or_default();
    let manifest = manifest::parse(&bytes).map_err(|error| error.to_string())?;
    let phases = manifest.worktrees.iter().map(|(name, _)| name[6..].parse().unwrap());
    Ok(phases.collect())
}

/// Which list a phase is in, and whether that is acknowledged.
type Listed = (&'static str, u64, bool);

#[test]
fn claims_and_manifest_always_parse_and_lose_nothing() {
    let (stage, project) = fixture();
    let story = Story::tell(&stage, Faults::default(), |notes| {
        for phase in 1..=3 {
            notes.say(("claims", phase, false));
            claim(&project, phase).unwrap();
            notes.say(("claims", phase, true));
            notes.say(("manifest", phase, false));
            enter(&project, phase).unwrap();
            notes.say(("manifest", phase, true));
        }
    });
    let check = |said: &[&Listed], _: &Outcome| {
        for (list, found) in [("claims", claimed(&project)?), ("manifest", entered(&project)?)] {
            let of_list = |acked: bool| said.iter().filter(move |s| s.0 == list && (s.2 || !acked));
            if of_list(true).any(|(_, phase, _)| !found.contains(phase))
                || found.iter().any(|phase| of_list(false).all(|s| s.1 != *phase))
            {
                return Err(format!("{list}: {found:?}"));
            }
        }
        Ok(())
    };
    story.cut_everywhere(&stage, ALL, check).unwrap();
}

#[test]
fn a_line_that_was_acknowledged_can_be_read_whatever_was_torn_before_it() {
    let (stage, project) = fixture();
    let path = project.planning.join("chat.ndjson");
    let options = Append { durable: true, keep: None };
    let line = |n: u64| json!({ "n": n, "text": "x".repeat(300) }).to_string();
    let story = Story::tell(&stage, Faults::default(), |notes| {
        for n in 1..=3 {
            let loose = Append { durable: n != 2, ..options };
            open(&project).append_line(&path, line(n).as_bytes(), loose).unwrap();
            notes.say(if n == 2 { 1 } else { n });
        }
    });
    let check = |said: &[&u64], _: &Outcome| {
        open(&project).append_line(&path, line(9).as_bytes(), options).unwrap();
        let read = mow_store::ndjson::objects(&fs::read(&path).unwrap());
        let read: Vec<u64> = read.iter().map(|line| line["n"].as_u64().unwrap()).collect();
        let acked = said.last().map_or(0, |n| **n);
        let is_there = (1..=acked).all(|n| read.contains(&n)) && read.last() == Some(&9);
        if is_there { Ok(()) } else { Err(format!("{read:?} of {acked}")) }
    };
    story.cut_everywhere(&stage, ALL, check).unwrap();
}
