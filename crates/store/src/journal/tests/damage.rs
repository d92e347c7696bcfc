//! Tests of torn files, damaged files and full disks.

use std::fs;
use std::process::Command;

use serde_json::json;

use super::super::{Journal, JournalError, JournalReader, line, parse};
use super::{Fixture, body, count_to, damaged_line, header, numbers};

/// Set in the child process of the test with a full disk, to the directory of the journal.
const SMALL_DISK: &str = "MOW_TEST_SMALL_DISK";

#[test]
fn a_file_truncated_anywhere_has_its_whole_records_and_accepts_new_ones() {
    let whole = Fixture::with_records(5).bytes();
    let ends: Vec<usize> = (0..whole.len()).filter(|&at| whole[at] == b'\n').collect();
    // Every seventh byte of the first records, and every byte of the last two.
    let cuts = (0..ends[3]).step_by(7).chain(ends[3]..=whole.len());
    for cut in cuts {
        let fixture = Fixture::new();
        fixture.write(&whole[..cut]);
        let left = (ends.iter().filter(|&&end| end < cut).count() as u64).saturating_sub(1);
        let mut tail = JournalReader::new(&fixture.path());
        assert_eq!(numbers(&tail.poll().unwrap()), count_to(left), "cut at {cut}");
        assert_eq!(fixture.bytes(), &whole[..cut]);
        let (mut journal, records) = fixture.open();
        assert_eq!(numbers(&records), count_to(left), "cut at {cut}");
        assert_eq!(journal.append(7, &[body(left + 1)]).unwrap(), left + 1);
        assert_eq!(numbers(&fixture.open().1), count_to(left + 1), "cut at {cut}");
        assert_eq!(numbers(&tail.poll().unwrap()), [left + 1], "cut at {cut}");
    }
}

#[test]
fn a_changed_byte_before_the_last_line_is_refused_and_never_truncated() {
    let fixture = Fixture::with_records(3);
    let whole = fixture.bytes();
    let last = whole[..whole.len() - 1].iter().rposition(|&byte| byte == b'\n').unwrap() + 1;
    for at in 0..last {
        let line = whole[..at].iter().filter(|&&byte| byte == b'\n').count() as u64 + 1;
        for new in [whole[at] ^ 1, whole[at] ^ 0x20, b'\n', b' ', b'0', 0, 0xff] {
            if new == whole[at] {
                continue;
            }
            let mut bytes = whole.clone();
            bytes[at] = new;
            let error = parse(&fixture.path(), &bytes).unwrap_err();
            assert_eq!(damaged_line(&error, &fixture.path()), line, "byte {at} to {new}");
        }
        let mut bytes = whole.clone();
        bytes[at] ^= 0x10;
        fixture.write(&bytes);
        let error = Journal::open(&fixture.path(), &header()).unwrap_err();
        assert_eq!(damaged_line(&error, &fixture.path()), line);
        let error = JournalReader::new(&fixture.path()).poll().unwrap_err();
        assert_eq!(damaged_line(&error, &fixture.path()), line);
        assert_eq!(fixture.bytes(), bytes);
    }
}

#[test]
fn a_wrong_last_line_with_a_line_break_is_refused() {
    let fixture = Fixture::with_records(3);
    let mut bytes = fixture.bytes();
    let at = bytes.len() - 4;
    bytes[at] ^= 1;
    fixture.write(&bytes);
    assert_eq!(
        damaged_line(&JournalReader::new(&fixture.path()).poll().unwrap_err(), &fixture.path()),
        4
    );
}

#[test]
fn unwritten_blocks_are_torn_unless_a_valid_record_follows() {
    let fixture = Fixture::with_records(3);
    let whole = fixture.bytes();
    let mut fourth = Vec::new();
    line::encode(&mut fourth, 4, 7, &body(4)).unwrap();
    let holes = fourth[..30].iter().chain(&[0; 40]).chain(b"\"n\":4}}\n").copied().collect();
    for tail in [holes, vec![0; 100], [&[0; 9], &b"\n\n"[..]].concat()] {
        fixture.write(&[&whole[..], &tail].concat());
        assert_eq!(numbers(&fixture.open().1), count_to(3));
        assert_eq!(fixture.bytes(), whole);
        let damaged = [&whole[..], &tail, b"\0", &fourth].concat();
        fixture.write(&damaged);
        let error = Journal::open(&fixture.path(), &header()).unwrap_err();
        assert_eq!(damaged_line(&error, &fixture.path()), 5);
        assert_eq!(fixture.bytes(), damaged);
    }
}

#[test]
fn gaps_in_the_sequence_and_repeats_are_damage() {
    for seq in [0, 2, 4, u64::MAX] {
        let fixture = Fixture::with_records(2);
        let mut bytes = fixture.bytes();
        line::encode(&mut bytes, seq, 7, &body(3)).unwrap();
        fixture.write(&bytes);
        let error = Journal::open(&fixture.path(), &header()).unwrap_err();
        assert_eq!(damaged_line(&error, &fixture.path()), 4);
        assert!(error.to_string().contains("does not follow"), "{error}");
    }
}

#[test]
fn a_line_in_another_form_is_damage() {
    let mut line = Vec::new();
    line::encode(&mut line, 3, 7, &json!([1])).unwrap();
    let line = String::from_utf8(line).unwrap();
    let spaced = line.replacen(":", ": ", 1);
    let upper = line.to_uppercase();
    for line in [&spaced, &upper, " ", "{}", &line.replace("\"seq\":3", "\"seq\":03")] {
        let fixture = Fixture::with_records(2);
        fixture.write(&[&fixture.bytes()[..], line.trim_end().as_bytes(), b"\n"].concat());
        assert_eq!(
            damaged_line(&JournalReader::new(&fixture.path()).poll().unwrap_err(), &fixture.path()),
            4
        );
    }
}

#[test]
fn a_journal_that_lost_records_or_was_deleted_is_not_written() {
    let fixture = Fixture::with_records(2);
    let (mut journal, _) = fixture.open();
    let mut tail = JournalReader::new(&fixture.path());
    tail.poll().unwrap();
    let whole = fixture.bytes();
    fixture.write(&whole[..whole.len() - 3]);
    assert!(matches!(journal.append(7, &[body(3)]), Err(JournalError::Shrunk { .. })));
    assert!(matches!(journal.catch_up(), Err(JournalError::Shrunk { .. })));
    assert!(matches!(tail.poll(), Err(JournalError::Shrunk { .. })));
    fs::remove_file(fixture.path()).unwrap();
    assert!(matches!(journal.append(7, &[body(3)]), Err(JournalError::Disk(_))));
    assert!(matches!(tail.poll(), Err(JournalError::Shrunk { .. })));
    assert!(!fixture.path().exists());
}

/// Runs itself again in a process whose files may have only some KiB.
#[test]
fn a_full_disk_is_an_error_and_no_record_is_lost_or_returned_twice() {
    if let Some(dir) = std::env::var_os(SMALL_DISK) {
        let path = std::path::Path::new(&dir).join("journal.ndjson");
        return fill(&path);
    }
    let fixture = Fixture::new();
    let name =
        "journal::tests::damage::a_full_disk_is_an_error_and_no_record_is_lost_or_returned_twice";
    let script = "trap '' XFSZ; ulimit -f 16; exec \"$0\" --exact \"$1\" --nocapture";
    let output = Command::new("sh")
        .args(["-c", script])
        .arg(std::env::current_exe().unwrap())
        .arg(name)
        .env(SMALL_DISK, fixture.dir.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let (mut journal, records) = fixture.open();
    let last = records.len() as u64;
    assert_eq!(numbers(&records), count_to(last));
    assert!(last > 10, "the child process wrote {last} records");
    assert_eq!(journal.append(7, &[body(last + 1)]).unwrap(), last + 1);
}

/// Fills the disk with single records, then with several at once.
fn fill(path: &std::path::Path) {
    let (mut journal, _) = Journal::open(path, &header()).unwrap();
    while journal.append(7, &[body(journal.last_seq() + 1)]).is_ok() && journal.last_seq() < 99 {}
    let before = fs::read(path).unwrap();
    let next = journal.last_seq() + 1;
    let large = [json!({ "n": next, "text": "x".repeat(20_000) })];
    assert!(journal.append(7, &large).is_err());
    assert_eq!((fs::read(path).unwrap(), journal.catch_up().unwrap().len()), (before, 0));
    let many: Vec<_> = (next..next + 300).map(body).collect();
    assert!(journal.append(7, &many).is_err());
    let written = journal.catch_up().unwrap();
    assert_eq!(numbers(&written), (next..=journal.last_seq()).collect::<Vec<_>>());
    assert!(fs::read(path).unwrap().ends_with(b"\n") && !written.is_empty());
    assert!(journal.append(7, &[json!("x".repeat(20_000))]).is_err());
}
