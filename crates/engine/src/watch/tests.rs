//! Changes of real files wake the loop once, and only those that matter.

#![expect(clippy::disallowed_methods, reason = "tests make their own files")]

use std::fs::{self, File};
use std::io::Write;
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};

use super::*;

/// Far more than a wake-up takes; less than nothing would be waited for.
const LONG: Duration = Duration::from_secs(60);

struct Fixture {
    dir: tempfile::TempDir,
    flag: WakeFlag,
    /// The names that were asked about, in order.
    names: Receiver<String>,
    woken: Receiver<()>,
    watch: FileWatch,
}

impl Fixture {
    /// Watches a path below a new directory that contains the file `old`; "" is the directory.
    fn watching(path: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        write(&dir.path().join("old"), "1");
        let (flag, (name_sender, names)) = (WakeFlag::default(), mpsc::channel());
        let (wake, woken) = mpsc::channel();
        let is_relevant = move |name: &str| {
            name_sender.send(name.to_owned()).unwrap();
            !name.starts_with("other")
        };
        let watched = dir.path().join(path);
        let watch = watch_files(&[&watched], is_relevant, flag.clone(), move || {
            wake.send(()).unwrap();
        });
        Self { dir, flag, names, woken, watch }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn assert_woken(&self, what: &str) {
        self.woken.recv_timeout(LONG).unwrap_or_else(|error| panic!("{what}: {error}"));
    }

    /// Waits until a change of this name was looked at.
    fn wait_for(&self, name: &str) {
        while self.names.recv_timeout(LONG).unwrap() != name {}
    }
}

fn write(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
}

fn append(path: &Path) {
    let mut file = File::options().append(true).open(path).unwrap();
    file.write_all(b"more").unwrap();
}

#[test]
fn appended_new_and_renamed_files_wake_the_loop() {
    let fixture = Fixture::watching("");
    append(&fixture.path("old"));
    fixture.assert_woken("append");
    fixture.flag.reset();
    write(&fixture.path("new"), "1");
    fixture.assert_woken("create");
    write(&fixture.path("other"), "1");
    fixture.wait_for("other");
    while fixture.woken.try_recv().is_ok() {}
    fixture.flag.reset();
    fs::rename(fixture.path("other"), fixture.path("renamed")).unwrap();
    fixture.assert_woken("rename");
}

#[test]
fn other_files_and_a_raised_flag_do_not_wake_the_loop() {
    let fixture = Fixture::watching("");
    write(&fixture.path("other"), "1");
    append(&fixture.path("old"));
    fixture.assert_woken("append");
    // The flag stays raised, so none of these wakes again.
    append(&fixture.path("old"));
    write(&fixture.path("other-last"), "1");
    fixture.wait_for("other-last");
    assert!(fixture.woken.try_recv().is_err(), "one wake-up until the flag is reset");
}

#[test]
fn a_single_file_is_watched_without_its_neighbours() {
    let fixture = Fixture::watching("old");
    write(&fixture.path("neighbour"), "1");
    append(&fixture.path("old"));
    fixture.assert_woken("append");
    assert!(fixture.names.try_iter().all(|name| name == "old"));
}

#[test]
fn reading_a_file_does_not_wake_the_loop() {
    let fixture = Fixture::watching("");
    fs::read(fixture.path("old")).unwrap();
    write(&fixture.path("other"), "1");
    fixture.wait_for("other");
    assert!(fixture.woken.try_recv().is_err());
}

#[test]
fn dropping_the_watch_ends_its_thread() {
    let Fixture { dir: _dir, woken, watch, .. } = Fixture::watching("");
    drop(watch);
    // The thread owned the other end.
    assert_eq!(woken.recv_timeout(LONG), Err(RecvTimeoutError::Disconnected));
}

#[test]
fn a_missing_path_and_lost_events_are_no_errors() {
    let fixture = Fixture::watching("missing/file");
    assert!(fixture.woken.try_recv().is_err());
    let lost = Event::new(EventKind::Other).set_flag(notify::event::Flag::Rescan);
    assert!(is_change(Ok(lost), |_| false), "after an overflow everything may have changed");
    assert!(is_change(Err(notify::Error::generic("broken")), |_| false));
}
