//! Objects of all sizes, written and read in process and by git.

use std::os::unix::fs::PermissionsExt;

use gix::objs::Blob;

use super::*;
use crate::test_repository::Repository;

/// Returns bytes that do not compress.
fn noise(length: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[3]
    };
    (0..length).map(|_| next()).collect()
}

#[test]
fn stored_objects_are_read_back_by_us_and_by_git() {
    let repository = Repository::new();
    let repo = repository.git.in_process().unwrap();
    let lengths = [
        0,
        1,
        BUFFER_STEP_BYTES - 30,
        BUFFER_STEP_BYTES,
        BUFFER_STEP_BYTES + 1,
        3 * BUFFER_STEP_BYTES,
        2_000_000,
    ];
    // Buffers are reused, so large objects also come before small ones.
    for length in lengths.into_iter().chain(lengths.into_iter().rev()) {
        for data in [noise(length), vec![b'a'; length]] {
            let id = repo.store(&Blob { data: data.clone() }, Durability::Deferred).unwrap();
            let output = repository.git.run(&["cat-file", "blob", &id.to_string()]).unwrap();
            assert!(output.stdout == data, "git reads other bytes, of {length}");
            let is_same = repo.read(id, Kind::Blob, |bytes| Some(bytes == data));
            assert_eq!(is_same, Some(true), "{length}");
            assert_eq!(repo.read(id, Kind::Tree, |_| Some(())), None, "a blob is no tree");
        }
    }
    repository.run_git(&["fsck", "--strict"]);
}

/// Git prunes old unreferenced objects.
#[test]
fn storing_an_existing_object_refreshes_its_mtime() {
    let repository = Repository::new();
    let repo = repository.git.in_process().unwrap();
    let blob = Blob { data: noise(100) };
    let id = repo.store(&blob, Durability::Deferred).unwrap();
    filetime::set_file_mtime(repo.loose_path(&id), FileTime::from_unix_time(1_000_000, 0)).unwrap();
    assert_eq!(repo.store(&blob, Durability::Deferred), Some(id));
    repository.run_git(&["prune", "--expire=2.weeks.ago"]);
    assert!(repo.has(&id));
}

#[test]
fn a_truncated_object_is_not_read() {
    let repository = Repository::new();
    let repo = repository.git.in_process().unwrap();
    let id = repo.store(&Blob { data: noise(100) }, Durability::Synced).unwrap();
    let hex = id.to_string();
    let file = repository.root().join(".git/objects").join(&hex[..2]).join(&hex[2..]);
    let whole = fs::read(&file).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    for length in [0, 1, 10, whole.len() / 2, whole.len() - 1] {
        fs::write(&file, &whole[..length]).unwrap();
        assert_eq!(repo.read(id, Kind::Blob, |_| Some(())), None, "{length} bytes of it");
    }
    fs::write(&file, &whole).unwrap();
    assert_eq!(repo.read(id, Kind::Blob, |bytes| Some(bytes.len())), Some(100));
}
