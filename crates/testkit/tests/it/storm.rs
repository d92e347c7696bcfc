//! Many real processes write one file at once, are killed at any moment, or find the disk full.
//!
//! Every acknowledged line must be in the file, every line must be complete, and the next writer must
//! get the lock at once. `MOW_STORM_KILLS` sets the number of kills, for longer runs.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use mow_store::disk::Writer;
use mow_store::project::Project;
use mow_testkit::seeded_rng::SeededRng;
use tempfile::TempDir;

const WRITERS: usize = 50;
const UPDATES: usize = 20;
const KILLS_DEFAULT: u64 = 200;
/// How many writers are at work, and killed, at the same time.
const LANES: u64 = 3;
/// The longest life of a writer before it is killed; several updates fit into it.
const LIFE_MICROS_MAX: u64 = 12_000;
const HEADING: &str = "# Storm\n\n";

/// A project with a list to write to.
struct ListProject {
    dir: TempDir,
    list: PathBuf,
}

impl ListProject {
    fn new() -> Self {
        let dir = TempDir::new().expect("temporary directories can be made");
        let list = dir.path().join(".planning/LIST.md");
        fs::create_dir(dir.path().join(".planning")).expect("the directory is fresh");
        fs::write(&list, HEADING).expect("the directory is fresh");
        Self { dir, list }
    }

    fn storm(&self, name: &str, count: usize) -> Child {
        Command::new(env!("CARGO_BIN_EXE_storm"))
            .args([self.list.as_os_str(), name.as_ref(), count.to_string().as_ref()])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the storm program was built with this test")
    }

    /// The labels in the list. Fails when anything in it is not whole.
    fn labels(&self) -> Vec<String> {
        let text = fs::read_to_string(&self.list).expect("the list is always there");
        let lines = text.strip_prefix(HEADING).expect("the heading is whole");
        assert!(lines.is_empty() || lines.ends_with('\n'), "the last line is torn: {lines:?}");
        lines.lines().map(|line| parse_label(line).to_owned()).collect()
    }

    fn leftover_files(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.dir.path().join(".planning")).expect("it is a directory");
        let paths = entries.map(|entry| entry.expect("it can be read").path());
        paths.filter(|path| *path != self.list && !path.ends_with(".mow")).collect()
    }
}

/// Reads `- NAME-NUMBER`, where a name has no dash.
fn parse_label(line: &str) -> &str {
    let label = line.strip_prefix("- ").unwrap_or_else(|| panic!("torn line {line:?}"));
    let number = label.split_once('-').and_then(|(_, number)| number.parse::<usize>().ok());
    assert!(number.is_some(), "torn line {line:?}");
    label
}

/// Reads the list without pause until told to stop; returns how often.
fn watch(list_project: &ListProject, done: &AtomicBool) -> usize {
    let (mut looks, mut longest) = (0, 0);
    while !done.load(Ordering::Relaxed) {
        let length = list_project.labels().len();
        assert!(length >= longest, "the list shrank from {longest} to {length} lines");
        longest = length;
        looks += 1;
    }
    looks
}

#[test]
fn many_writers_lose_nothing() {
    let list_project = ListProject::new();
    let done = AtomicBool::new(false);
    let looks = thread::scope(|scope| {
        let watcher = scope.spawn(|| watch(&list_project, &done));
        let writers: Vec<Child> =
            (0..WRITERS).map(|writer| list_project.storm(&format!("w{writer}"), UPDATES)).collect();
        for writer in writers {
            let output = writer.wait_with_output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
        done.store(true, Ordering::Relaxed);
        watcher.join().unwrap()
    });
    let labels: BTreeSet<String> = list_project.labels().into_iter().collect();
    let expected: BTreeSet<String> = (0..WRITERS)
        .flat_map(|writer| (1..=UPDATES).map(move |update| format!("w{writer}-{update}")))
        .collect();
    assert_eq!(labels, expected);
    assert_eq!(list_project.labels().len(), WRITERS * UPDATES, "something was written twice");
    assert!(looks > WRITERS, "the watcher saw next to nothing");
    assert_eq!(list_project.leftover_files(), Vec::<PathBuf>::new());
}

/// Starts and kills writers one after the other; returns what they had acknowledged.
fn kill_lane(list_project: &ListProject, lane: u64, kills: u64) -> Vec<String> {
    let mut rng = SeededRng::new(lane);
    let mut acknowledged = Vec::new();
    for kill in 0..kills {
        let mut writer = list_project.storm(&format!("k{lane}x{kill}"), usize::MAX);
        let mut labels = BufReader::new(writer.stdout.take().expect("it is a pipe"));
        let mut text = String::new();
        // Every other writer may be killed while it starts or before its first update is done.
        if kill % 2 == 0 {
            labels.read_line(&mut text).expect("labels are plain text");
        }
        thread::sleep(Duration::from_micros(rng.below(LIFE_MICROS_MAX)));
        writer.kill().expect("it was not waited for yet");
        labels.read_to_string(&mut text).expect("labels are plain text");
        let output = writer.wait_with_output().expect("it was killed");
        assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
        acknowledged.extend(text.lines().map(str::to_owned));
    }
    acknowledged
}

#[test]
fn killed_writers_lose_nothing_they_acknowledged() {
    let kills = env::var("MOW_STORM_KILLS")
        .map_or(KILLS_DEFAULT, |kills| kills.parse().expect("MOW_STORM_KILLS is a number"));
    let list_project = ListProject::new();
    let done = AtomicBool::new(false);
    let acknowledged: Vec<String> = thread::scope(|scope| {
        let watcher = scope.spawn(|| watch(&list_project, &done));
        let lanes: Vec<_> = (0..LANES)
            .map(|lane| {
                let list_project = &list_project;
                scope.spawn(move || kill_lane(list_project, lane, kills.div_ceil(LANES)))
            })
            .collect();
        let acknowledged = lanes.into_iter().flat_map(|lane| lane.join().unwrap()).collect();
        done.store(true, Ordering::Relaxed);
        watcher.join().unwrap();
        acknowledged
    });
    let labels = list_project.labels();
    let written: BTreeSet<&String> = labels.iter().collect();
    assert_eq!(written.len(), labels.len(), "something was written twice");
    let lost: Vec<&String> = acknowledged.iter().filter(|label| !written.contains(label)).collect();
    assert_eq!(lost, Vec::<&String>::new());
    assert!(acknowledged.len() as u64 >= kills / 2, "the writers did not get to do anything");

    let output = list_project.storm("after", 1).wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(list_project.labels().last().unwrap(), "after-1");
    assert_eq!(list_project.leftover_files(), Vec::<PathBuf>::new());
}

#[test]
fn the_lock_of_a_killed_holder_is_free_at_once() {
    let list_project = ListProject::new();
    let mut writer = list_project.storm("k", usize::MAX);
    while list_project.labels().is_empty() {
        thread::yield_now();
    }
    writer.kill().unwrap();
    writer.wait().unwrap();
    let project = Project::find(list_project.dir.path()).unwrap();
    Writer::open(&project, Duration::ZERO).unwrap();
}

#[test]
fn a_busy_project_does_not_starve_a_writer() {
    let list_project = ListProject::new();
    let mut hogs: Vec<Child> =
        (0..4).map(|hog| list_project.storm(&format!("h{hog}"), usize::MAX)).collect();
    while list_project.labels().len() < 8 {
        thread::yield_now();
    }
    let project = Project::find(list_project.dir.path()).unwrap();
    for _ in 0..20 {
        // A writer that lost the race for the lock again and again would give up here.
        drop(Writer::open(&project, Duration::from_secs(20)).unwrap());
    }
    for hog in &mut hogs {
        hog.kill().unwrap();
        hog.wait().unwrap();
    }
}

/// Runs the storm's `fill` where no file may grow beyond a few blocks, as on a full disk.
fn fill_beyond_the_limit(list: &Path) -> std::process::Output {
    Command::new("sh")
        .args(["-c", "trap '' XFSZ; ulimit -f 64; exec \"$0\" \"$1\" x fill 1000000"])
        .args([Path::new(env!("CARGO_BIN_EXE_storm")), list])
        .output()
        .expect("there is a shell")
}

#[test]
fn a_write_that_finds_no_room_leaves_everything_as_it_was() {
    let list_project = ListProject::new();
    let output = fill_beyond_the_limit(&list_project.list);
    assert_eq!(output.status.code(), Some(1));
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(message.contains("cannot write") && message.contains("LIST.md"), "{message}");
    assert_eq!(fs::read_to_string(&list_project.list).unwrap(), HEADING);
    assert_eq!(list_project.leftover_files(), Vec::<PathBuf>::new());
}
