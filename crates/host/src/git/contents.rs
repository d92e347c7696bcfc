//! What git would call the files that are there.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;

use super::{Git, GitError};

/// Returns what git would call the contents of files below a worktree's top, as far as they are there;
/// names with a line's end cannot be asked for.
pub(crate) fn contents<'a>(
    git: &Git,
    paths: impl Iterator<Item = &'a [u8]>,
) -> Result<BTreeMap<Vec<u8>, String>, GitError> {
    let (mut all, mut files) = (BTreeMap::new(), Vec::new());
    for path in paths {
        let there = git.dir().join(OsStr::from_bytes(path));
        match fs::read_link(&there) {
            Ok(target) => {
                let target = target.as_os_str().as_bytes();
                let hash = git.run_with(&["hash-object", "--stdin"], target)?.text();
                all.insert(path.to_vec(), hash);
            }
            Err(_) if there.is_file() && !path.contains(&b'\n') => files.push(path),
            Err(_) => {}
        }
    }
    if files.is_empty() {
        return Ok(all);
    }
    let list: Vec<u8> = files.iter().flat_map(|path| [path, &b"\n"[..]].concat()).collect();
    let listing = git.run_with(&["hash-object", "--stdin-paths"], &list)?.text();
    all.extend(files.into_iter().map(<[u8]>::to_vec).zip(listing.lines().map(str::to_owned)));
    Ok(all)
}
