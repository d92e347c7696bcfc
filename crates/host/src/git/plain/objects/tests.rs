//! Objects of all sizes, written and read here and by git.

use std::os::unix::fs::PermissionsExt;

use gix::objs::Blob;

use super::*;
use crate::test_repository::Repository;

/// Bytes that cannot be packed any smaller.
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
fn what_is_stored_is_what_everybody_reads() {
    let repository = Repository::new();
    let plain = repository.git.plain().unwrap();
    let lengths = [0, 1, STEP_BYTES - 30, STEP_BYTES, STEP_BYTES + 1, 3 * STEP_BYTES, 2_000_000];
    // The memory is used again, so large ones stand before small ones, too.
    for length in lengths.into_iter().chain(lengths.into_iter().rev()) {
        for data in [noise(length), vec![b'a'; length]] {
            let id = plain.store(&Blob { data: data.clone() }, Lasting::AsUsual).unwrap();
            let said = repository.git.run(&["cat-file", "blob", &id.to_string()]).unwrap();
            assert!(said.stdout == data, "git reads other bytes, of {length}");
            let is_same = plain.read(id, Kind::Blob, |bytes| Some(bytes == data));
            assert_eq!(is_same, Some(true), "{length}");
            assert_eq!(plain.read(id, Kind::Tree, |_| Some(())), None, "a blob is no tree");
        }
    }
    repository.say(&["fsck", "--strict"]);
}

/// Git removes what nobody refers to when it is old.
#[test]
fn what_is_stored_again_is_young() {
    let repository = Repository::new();
    let plain = repository.git.plain().unwrap();
    let blob = Blob { data: noise(100) };
    let id = plain.store(&blob, Lasting::AsUsual).unwrap();
    filetime::set_file_mtime(plain.loose(&id), FileTime::from_unix_time(1_000_000, 0)).unwrap();
    assert_eq!(plain.store(&blob, Lasting::AsUsual), Some(id));
    repository.say(&["prune", "--expire=2.weeks.ago"]);
    assert!(plain.has(&id));
}

#[test]
fn a_torn_object_is_nothing() {
    let repository = Repository::new();
    let plain = repository.git.plain().unwrap();
    let id = plain.store(&Blob { data: noise(100) }, Lasting::Now).unwrap();
    let hex = id.to_string();
    let file = repository.root().join(".git/objects").join(&hex[..2]).join(&hex[2..]);
    let whole = fs::read(&file).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    for length in [0, 1, 10, whole.len() / 2, whole.len() - 1] {
        fs::write(&file, &whole[..length]).unwrap();
        assert_eq!(plain.read(id, Kind::Blob, |_| Some(())), None, "{length} bytes of it");
    }
    fs::write(&file, &whole).unwrap();
    assert_eq!(plain.read(id, Kind::Blob, |bytes| Some(bytes.len())), Some(100));
}
