//! Tests of a single writer: what it writes, what it refuses, and what a failure leaves.
//! Parallel writers and killed writers are tested with real processes in `crates/testkit`.

use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::sync::mpsc;
use std::thread;

use tempfile::TempDir;

use super::*;

/// A project outside of git with one planning file, `S.md`.
struct Fixture {
    /// The directory of the test; `out/` in it is outside of the project.
    dir: TempDir,
    project: Project,
}

impl Fixture {
    fn new() -> Self {
        let dir = TempDir::new().unwrap();
        fs::create_dir_all(dir.path().join("project/.planning")).unwrap();
        fs::create_dir(dir.path().join("out")).unwrap();
        fs::write(dir.path().join("out/S.md"), "outside").unwrap();
        let project = Project::find(&dir.path().join("project")).unwrap();
        fs::write(project.planning.join("S.md"), "old").unwrap();
        Self { dir, project }
    }

    fn writer(&self) -> Writer {
        Writer::open(&self.project, Duration::ZERO).unwrap()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.project.planning.join(name)
    }

    fn outside(&self) -> PathBuf {
        self.dir.path().join("out")
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// The names in the planning directory, without the engine's own.
    fn names(&self) -> Vec<String> {
        let names = fs::read_dir(&self.project.planning).unwrap();
        let mut names: Vec<String> =
            names.map(|name| name.unwrap().file_name().into_string().unwrap()).collect();
        names.retain(|name| name != ".mow");
        names.sort();
        names
    }
}

fn kind(error: &DiskError) -> io::ErrorKind {
    match error {
        DiskError::Io { source, .. } => source.kind(),
        other => panic!("not an I/O error: {other}"),
    }
}

#[test]
fn replace_writes_new_files_and_changed_ones() {
    let fixture = Fixture::new();
    let writer = fixture.writer();
    assert_eq!(writer.replace(Path::new(".planning/S.md"), b"new").unwrap(), WriteOutcome::Written);
    assert_eq!(writer.replace(&fixture.path("N.md"), b"fresh").unwrap(), WriteOutcome::Written);
    assert_eq!((fixture.text("S.md"), fixture.text("N.md")), ("new".into(), "fresh".into()));
    assert_eq!(fixture.names(), ["N.md", "S.md"]);
}

#[test]
fn equal_content_is_not_written_again() {
    let fixture = Fixture::new();
    let inode = |name| fs::metadata(fixture.path(name)).unwrap().ino();
    let before = inode("S.md");
    assert_eq!(
        fixture.writer().replace(&fixture.path("S.md"), b"old").unwrap(),
        WriteOutcome::Unchanged
    );
    assert_eq!(inode("S.md"), before);
    fixture.writer().replace(&fixture.path("S.md"), b"new").unwrap();
    assert_ne!(inode("S.md"), before, "a changed file is replaced, not rewritten in place");
}

#[test]
fn mode_and_owner_are_kept() {
    let fixture = Fixture::new();
    let path = fixture.path("S.md");
    for mode in [0o640, 0o666, 0o755, 0o600] {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        // Only root can change the owner; other users keep their own files.
        std::os::unix::fs::chown(&path, Some(4321), Some(1234)).ok();
        let before = fs::metadata(&path).unwrap();
        fixture.writer().replace(&path, format!("{mode:o}").as_bytes()).unwrap();
        let after = fs::metadata(&path).unwrap();
        assert_eq!(after.mode() & 0o7777, mode);
        assert_eq!((after.uid(), after.gid()), (before.uid(), before.gid()));
    }
}

#[test]
fn a_write_protected_file_is_not_replaced() {
    let fixture = Fixture::new();
    fs::set_permissions(fixture.path("S.md"), fs::Permissions::from_mode(0o444)).unwrap();
    let error = fixture.writer().replace(&fixture.path("S.md"), b"new").unwrap_err();
    assert_eq!(kind(&error), io::ErrorKind::PermissionDenied);
    assert_eq!((fixture.text("S.md"), fixture.names()), ("old".into(), vec!["S.md".to_owned()]));
}

#[test]
fn a_link_within_the_root_is_followed_and_stays_a_link() {
    let fixture = Fixture::new();
    symlink("S.md", fixture.path("one.md")).unwrap();
    symlink(fixture.path("one.md"), fixture.path("two.md")).unwrap();
    symlink("later.md", fixture.path("dangling.md")).unwrap();
    let writer = fixture.writer();
    writer.replace(&fixture.path("two.md"), b"new").unwrap();
    writer.replace(&fixture.path("dangling.md"), b"made").unwrap();
    assert_eq!((fixture.text("S.md"), fixture.text("later.md")), ("new".into(), "made".into()));
    for name in ["one.md", "two.md", "dangling.md"] {
        assert!(fs::symlink_metadata(fixture.path(name)).unwrap().is_symlink(), "{name}");
    }
}

#[test]
fn paths_that_lead_outside_are_refused() {
    let fixture = Fixture::new();
    symlink(fixture.outside().join("S.md"), fixture.path("file.md")).unwrap();
    symlink(fixture.outside().join("none.md"), fixture.path("dangling.md")).unwrap();
    symlink(fixture.outside(), fixture.path("dir")).unwrap();
    let writer = fixture.writer();
    let paths = ["file.md", "dangling.md", "dir/S.md", "../../out/S.md", "dir/../out/S.md"];
    for path in paths.map(|path| fixture.path(path)) {
        let replaced = writer.replace(&path, b"new");
        assert!(matches!(replaced, Err(DiskError::Outside { .. })), "{}", path.display());
        let appended = writer.append_line(&path, b"new", AppendOptions::default());
        assert!(matches!(appended, Err(DiskError::Outside { .. })), "{}", path.display());
    }
    let through_dir = fixture.path("dir/S.md");
    assert!(matches!(writer.remove_file(&through_dir), Err(DiskError::Outside { .. })));
    let renamed = writer.rename(&fixture.path("S.md"), &fixture.path("dir/T.md"));
    assert!(matches!(renamed, Err(DiskError::Outside { .. })));
    let removed = writer.remove_dir_all(&fixture.project.root);
    assert!(matches!(removed, Err(DiskError::Outside { .. })));
    let created = writer.create_dir(&fixture.path("dir/made"));
    assert!(matches!(created, Err(DiskError::Outside { .. })));
    assert_eq!(fs::read_to_string(fixture.outside().join("S.md")).unwrap(), "outside");
    assert_eq!(fs::read_dir(fixture.outside()).unwrap().count(), 1);
}

#[test]
fn links_in_a_circle_are_an_error() {
    let fixture = Fixture::new();
    symlink("b", fixture.path("a")).unwrap();
    symlink("a", fixture.path("b")).unwrap();
    assert!(fixture.writer().replace(&fixture.path("a"), b"new").is_err());
}

#[test]
fn a_planning_directory_that_is_a_link_may_be_written() {
    let fixture = Fixture::new();
    let root = fixture.dir.path().join("linked");
    fs::create_dir(&root).unwrap();
    symlink(fixture.outside(), root.join(".planning")).unwrap();
    let project = Project::find(&root).unwrap();
    let writer = Writer::open(&project, Duration::ZERO).unwrap();
    writer.replace(Path::new(".planning/S.md"), b"new").unwrap();
    assert_eq!(fs::read_to_string(fixture.outside().join("S.md")).unwrap(), "new");
}

#[test]
fn an_additional_root_may_be_written() {
    let fixture = Fixture::new();
    let writer = fixture.writer().with_root(&fixture.outside()).unwrap();
    writer.replace(&fixture.outside().join("S.md"), b"new").unwrap();
    assert_eq!(fs::read_to_string(fixture.outside().join("S.md")).unwrap(), "new");
}

#[test]
fn impossible_paths_are_errors() {
    let fixture = Fixture::new();
    fs::create_dir(fixture.path("dir")).unwrap();
    let writer = fixture.writer();
    for path in ["S.md/T.md", "none/T.md", "dir", "..", "a\0b"] {
        let error = writer.replace(&fixture.path(path), b"new").unwrap_err();
        assert!(error.to_string().contains(".planning") || path == "..", "{error}");
    }
    assert_eq!(
        (fixture.text("S.md"), fixture.names()),
        ("old".into(), vec!["S.md".into(), "dir".into()])
    );
}

#[test]
#[cfg(target_os = "linux")]
fn in_a_directory_without_new_files_the_old_content_stays() {
    let fixture = Fixture::new();
    let proc = fs::canonicalize("/proc/self").unwrap();
    let writer = fixture.writer().with_root(&proc).unwrap();
    let before = fs::read(proc.join("limits")).unwrap();
    assert!(writer.replace(&proc.join("limits"), b"new").is_err());
    assert_eq!(fs::read(proc.join("limits")).unwrap(), before);
}

#[test]
fn update_passes_the_old_content() {
    let fixture = Fixture::new();
    let longer = |old: Option<&[u8]>| -> Result<_, DiskError> {
        Ok(Some([old.unwrap_or(b"none"), b"+"].concat()))
    };
    for name in ["S.md", "S.md", "N.md"] {
        assert_eq!(
            update(&fixture.project, &fixture.path(name), longer).unwrap(),
            WriteOutcome::Written
        );
    }
    assert_eq!((fixture.text("S.md"), fixture.text("N.md")), ("old++".into(), "none+".into()));
    let nothing = update(&fixture.project, &fixture.path("S.md"), |_| Ok::<_, DiskError>(None));
    assert_eq!(nothing.unwrap(), WriteOutcome::Unchanged);
}

#[test]
fn a_file_that_an_editor_saves_meanwhile_is_updated_again() {
    let fixture = Fixture::new();
    let (path, mut times) = (fixture.path("S.md"), 0);
    let save_in_editor = |text: &str| {
        fs::write(fixture.path("S.md~"), text).unwrap();
        fs::rename(fixture.path("S.md~"), fixture.path("S.md")).unwrap();
    };
    let changed = update(&fixture.project, &path, |old| {
        times += 1;
        match times {
            1 => save_in_editor("a person's"),
            2 => fs::remove_file(fixture.path("S.md")).unwrap(),
            3 => fs::write(fixture.path("S.md"), "in place").unwrap(),
            _ => {}
        }
        Ok::<_, DiskError>(Some([old.unwrap_or(b"none"), b"+"].concat()))
    });
    assert_eq!((changed.unwrap(), times), (WriteOutcome::Written, 4));
    assert_eq!(fixture.text("S.md"), "in place+");
    assert!(
        !fixture.names().iter().any(|name| name.starts_with(TEMP_PREFIX)),
        "no temporary file is left"
    );
    let never = update(&fixture.project, &path, |_| {
        save_in_editor("mine");
        Ok::<_, DiskError>(Some(b"ours".to_vec()))
    });
    assert!(matches!(never, Err(DiskError::Io { action: "write", .. })));
    assert_eq!(fixture.text("S.md"), "mine");
}

#[test]
fn a_failed_change_writes_nothing_and_frees_the_lock() {
    #[derive(Debug, Error)]
    enum Refused {
        #[error("no")]
        No,
        #[error(transparent)]
        Disk(#[from] DiskError),
    }
    let fixture = Fixture::new();
    let outcome = update(&fixture.project, &fixture.path("S.md"), |_| Err(Refused::No));
    assert!(matches!(outcome, Err(Refused::No)));
    assert_eq!(fixture.text("S.md"), "old");
    drop(fixture.writer());
}

#[test]
fn reading_creates_no_files() {
    let fixture = Fixture::new();
    assert_eq!(read(&fixture.path("S.md")).unwrap().unwrap(), b"old");
    assert_eq!(read(&fixture.path("none.md")).unwrap(), None);
    assert!(!fixture.project.engine_dir.exists());
    drop(fixture.writer());
    assert!(fixture.project.engine_dir.exists());
}

#[test]
fn writing_to_a_directory_without_planning_does_not_make_it_a_project() {
    let fixture = Fixture::new();
    let project = Project::find_or_cwd(&fixture.outside()).unwrap();
    let writer = Writer::open(&project, Duration::ZERO).unwrap();
    writer.replace(Path::new("S.md"), b"new").unwrap();
    assert!(matches!(Writer::open(&project, Duration::ZERO), Err(DiskError::Busy { .. })));
    assert_eq!(fs::read_dir(fixture.outside()).unwrap().count(), 1);
}

#[test]
fn the_error_of_a_second_writer_names_the_lock_holder() {
    let fixture = Fixture::new();
    let first = fixture.writer();
    for wait in [Duration::ZERO, Duration::from_millis(20)] {
        let error = Writer::open(&fixture.project, wait).unwrap_err();
        let DiskError::Busy { holder: Some(holder), waited, .. } = &error else {
            panic!("{error}");
        };
        assert_eq!(holder.pid, std::process::id());
        assert!(*waited >= wait);
        assert!(error.to_string().contains(&format!("process {} (", holder.pid)), "{error}");
    }
    drop(first);
    // The thread that timed out may still get the lock for a moment and then drop it.
    Writer::open(&fixture.project, WAIT_DEFAULT).unwrap();
}

#[test]
fn a_waiting_writer_goes_on_when_the_lock_is_freed() {
    let fixture = Fixture::new();
    let first = fixture.writer();
    let (sender, receiver) = mpsc::channel();
    thread::scope(|scope| {
        scope.spawn(|| {
            sender.send("waits").unwrap();
            let second = Writer::open(&fixture.project, WAIT_DEFAULT).unwrap();
            second
                .update(&fixture.path("S.md"), |old| {
                    Ok::<_, DiskError>(Some([old.unwrap(), b" second"].concat()))
                })
                .unwrap();
        });
        receiver.recv().unwrap();
        first.replace(&fixture.path("S.md"), b"first").unwrap();
        drop(first);
    });
    assert_eq!(fixture.text("S.md"), "first second");
}

#[test]
#[cfg(target_os = "linux")]
fn a_deleted_lock_file_does_not_lead_to_two_holders() {
    let fixture = Fixture::new();
    let first = fixture.writer();
    let path = fixture.project.lock_path();
    let inode = format!(":{} ", fs::metadata(&path).unwrap().ino());
    let someone_waits = || {
        let locks = fs::read_to_string("/proc/locks").unwrap();
        locks.lines().any(|line| line.contains("->") && line.contains(&inode))
    };
    thread::scope(|scope| {
        let second = scope.spawn(|| Writer::open(&fixture.project, WAIT_DEFAULT).unwrap());
        while !someone_waits() {
            assert!(!second.is_finished(), "the second writer did not wait");
            thread::yield_now();
        }
        fs::remove_file(&path).unwrap();
        drop(first);
        let _second = second.join().unwrap();
        let third = Writer::open(&fixture.project, Duration::ZERO);
        assert!(matches!(third, Err(DiskError::Busy { .. })), "{third:?}");
    });
}

#[test]
fn the_next_holder_removes_the_temporary_file_of_a_killed_holder() {
    let fixture = Fixture::new();
    let temp = fixture.path(".mow-tmp-1-2");
    fs::write(&temp, "half").unwrap();
    drop(fixture.writer());
    let notes = [b"1 mow\n", temp.as_os_str().as_bytes(), b"\0rest of longer notes"].concat();
    fs::write(fixture.project.lock_path(), notes).unwrap();
    drop(fixture.writer());
    assert_eq!(fixture.names(), ["S.md"]);
}

#[test]
fn wrong_notes_never_remove_an_ordinary_file() {
    let fixture = Fixture::new();
    drop(fixture.writer());
    let path = fixture.path("S.md");
    let path = path.as_os_str().as_bytes();
    let cases = [[b"1 mow\n", path, b"\0"].concat(), path.to_vec(), b"\xff\n\n\0".to_vec()];
    for notes in cases {
        fs::write(fixture.project.lock_path(), notes).unwrap();
        drop(fixture.writer());
        assert_eq!(fixture.text("S.md"), "old");
    }
}

#[test]
fn only_temporary_files_are_removed() {
    let fixture = Fixture::new();
    fs::write(fixture.path(".mow-tmp-1-2"), "half").unwrap();
    fs::write(fixture.path(".mow-tmp-3-4"), "").unwrap();
    assert_eq!(fixture.writer().remove_temp_files(Path::new(".planning")).unwrap(), 2);
    assert_eq!(fixture.names(), ["S.md"]);
}

#[test]
fn lines_are_appended_whole() {
    let fixture = Fixture::new();
    let log = fixture.path("log.ndjson");
    let durable = AppendOptions { durable: true, line_limit: None };
    append_line(&fixture.project, &log, b"{\"n\":1}", durable).unwrap();
    append_line(&fixture.project, &log, b"{\"n\":2}", AppendOptions::default()).unwrap();
    assert_eq!(fixture.text("log.ndjson"), "{\"n\":1}\n{\"n\":2}\n");
    let error = append_line(&fixture.project, &log, b"a\nb", durable).unwrap_err();
    assert!(matches!(error, DiskError::NotOneLine { .. }));
    assert_eq!(fixture.text("log.ndjson"), "{\"n\":1}\n{\"n\":2}\n");
}

#[test]
fn a_line_break_is_added_after_a_torn_last_line() {
    let fixture = Fixture::new();
    fs::write(fixture.path("log.ndjson"), "{\"n\":1}\n{\"n\"").unwrap();
    append_line(&fixture.project, &fixture.path("log.ndjson"), b"{}", AppendOptions::default())
        .unwrap();
    assert_eq!(fixture.text("log.ndjson"), "{\"n\":1}\n{\"n\"\n{}\n");
}

#[test]
fn old_lines_are_dropped_when_a_log_is_too_long() {
    let fixture = Fixture::new();
    let line_limit = Some(LineLimit { lines_max: 4, lines_kept: 2 });
    let mut seen = Vec::new();
    fs::write(fixture.path("log"), "\n0\n \n").unwrap();
    for line in 1..=6 {
        let line = line.to_string();
        let options = AppendOptions { durable: false, line_limit };
        append_line(&fixture.project, &fixture.path("log"), line.as_bytes(), options).unwrap();
        seen.push(fixture.text("log").split_whitespace().collect::<Vec<_>>().join(","));
    }
    assert_eq!(seen, ["0,1", "0,1,2", "0,1,2,3", "3,4", "3,4,5", "3,4,5,6"]);
    assert_eq!(fixture.names(), ["S.md", "log"]);
}

#[test]
fn directories_are_created_with_their_parents() {
    let fixture = Fixture::new();
    let writer = fixture.writer();
    let path = Path::new(".planning/phases/01-a/deep");
    assert_eq!(writer.create_dir(path).unwrap(), WriteOutcome::Written);
    assert_eq!(writer.create_dir(path).unwrap(), WriteOutcome::Unchanged);
    assert!(fixture.path("phases/01-a/deep").is_dir());
    for path in [".planning/S.md/deep", ".planning/none/../../..", &"a/".repeat(60_000)] {
        assert!(writer.create_dir(Path::new(path)).is_err());
    }
    assert!(!fixture.project.root.join("a").exists());
}

#[test]
fn rename_moves_and_never_overwrites() {
    let fixture = Fixture::new();
    let writer = fixture.writer();
    writer.create_dir(&fixture.path("dir")).unwrap();
    fs::write(fixture.path("T.md"), "other").unwrap();
    let error = writer.rename(&fixture.path("S.md"), &fixture.path("T.md")).unwrap_err();
    assert_eq!(kind(&error), io::ErrorKind::AlreadyExists);
    writer.rename(&fixture.path("S.md"), &fixture.path("dir/S.md")).unwrap();
    assert_eq!((fixture.text("dir/S.md"), fixture.text("T.md")), ("old".into(), "other".into()));
    assert_eq!(fixture.names(), ["T.md", "dir"]);
}

#[test]
fn copy_keeps_content_and_mode() {
    let fixture = Fixture::new();
    let writer = fixture.writer();
    let from = fixture.outside().join("S.md");
    fs::set_permissions(&from, fs::Permissions::from_mode(0o750)).unwrap();
    assert_eq!(writer.copy(&from, &fixture.path("T.md")).unwrap(), WriteOutcome::Written);
    assert_eq!(fixture.text("T.md"), "outside");
    assert_eq!(fs::metadata(fixture.path("T.md")).unwrap().mode() & 0o777, 0o750);
    assert_eq!(writer.copy(&from, &fixture.path("T.md")).unwrap(), WriteOutcome::Unchanged);
    assert!(writer.copy(&fixture.path("none.md"), &fixture.path("T.md")).is_err());
}

#[test]
fn removing_reports_whether_the_file_existed() {
    let fixture = Fixture::new();
    let writer = fixture.writer();
    symlink("S.md", fixture.path("link.md")).unwrap();
    assert_eq!(writer.remove_file(&fixture.path("link.md")).unwrap(), WriteOutcome::Written);
    assert_eq!(writer.remove_file(&fixture.path("link.md")).unwrap(), WriteOutcome::Unchanged);
    assert_eq!(fixture.text("S.md"), "old");
    writer.create_dir(&fixture.path("a/b")).unwrap();
    assert_eq!(writer.remove_dir_all(&fixture.path("a")).unwrap(), WriteOutcome::Written);
    assert_eq!(fixture.names(), ["S.md"]);
}

#[test]
fn the_engine_directory_has_its_own_lock() {
    let fixture = Fixture::new();
    let _writer = fixture.writer();
    let engine = Writer::open_engine(&fixture.project, Duration::ZERO).unwrap();
    engine.replace(Path::new("claims.json"), b"{}").unwrap();
    assert_eq!(fixture.text(".mow/claims.json"), "{}");
    let error = engine.replace(&fixture.path("S.md"), b"new").unwrap_err();
    assert!(matches!(error, DiskError::Outside { .. }));
}
