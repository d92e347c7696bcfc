//! The index of a worktree, changed under git's own lock.

use std::fs;
use std::io::{self, BufWriter, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

use filetime::FileTime;
use gix::bstr::{BStr, ByteSlice};
use gix::index::entry::{Flags, Mode, Stage};
use gix::index::extension::Tree;

use super::Plain;
use super::files::{File, State, stat_of};
use super::lock::Lock;

/// How long writing an index usually takes at most.
const WRITTEN_WITHIN: Duration = Duration::from_millis(50);

/// An index that nobody else may change.
pub(super) struct Locked {
    lock: Lock,
    pub(super) index: gix::index::File,
    /// The second up to which a new index may be written without more files in doubt.
    doubted_until: i64,
}

impl Locked {
    /// Locks and reads an index; `None` when it is not one that lists every file by itself, or has
    /// something to be settled first.
    pub(super) fn take(path: &Path) -> Option<Self> {
        let lock = Lock::take(path)?;
        let index = read(path)?;
        let is_odd = |entry: &gix::index::Entry| {
            entry.stage() != Stage::Unconflicted || entry.flags.contains(Flags::INTENT_TO_ADD)
        };
        let doubted_until = i64::MIN;
        (!index.entries().iter().any(is_odd)).then_some(Self { lock, index, doubted_until })
    }

    /// Takes files over as they are.
    pub(super) fn set(&mut self, plain: &Plain, files: &[File<'_>]) -> Option<()> {
        self.keep_doubtful(plain);
        let gone = |file: &&File<'_>| matches!(file.state, State::Gone);
        for file in files.iter().filter(gone) {
            if let Some(at) = self.find(file.path)? {
                self.index.remove_entry_at_index(at);
            }
        }
        let mut new = Vec::new();
        for file in files {
            let State::There { kind, object, stat } = file.state else { continue };
            let mode = Mode::from(gix::objs::tree::EntryMode::from(kind));
            match self.find(file.path)? {
                Some(at) => {
                    let entry = &mut self.index.entries_mut()[at];
                    (entry.id, entry.mode, entry.stat) = (object, mode, stat);
                }
                None => new.push((stat, object, mode, file.path)),
            }
        }
        let is_new = !new.is_empty();
        for (stat, object, mode, path) in new {
            self.index.dangerously_push_entry(stat, object, Flags::empty(), mode, path);
        }
        if is_new {
            self.index.sort_entries();
        }
        for file in files {
            if let Some(tree) = self.index.tree_mut() {
                forget(tree, file.path);
            }
        }
        (!is_new || self.is_sound()).then_some(())
    }

    /// Writes the changed index beside the old one; `None` also when that took so long that more
    /// files are in doubt by now.
    pub(super) fn write(&mut self) -> Option<()> {
        let Self { lock, index, doubted_until } = self;
        let at = lock.write(|file| {
            let mut out = BufWriter::with_capacity(64 * 1024, &mut *file);
            let options = gix::index::write::Options::default();
            index.write_to(&mut out, options).map_err(io::Error::other)?;
            out.flush()?;
            drop(out);
            file.metadata()
        })?;
        (at.mtime() <= *doubted_until).then_some(())
    }

    /// Puts the changed index into the place of the old one.
    pub(super) fn put(self) -> Option<()> {
        self.lock.commit()
    }

    /// Returns where a file stands in the list; `None` when git was told something about it.
    fn find(&self, path: &BStr) -> Option<Option<usize>> {
        let Ok(at) = self.index.entry_index_by_path(path) else { return Some(None) };
        is_usual(self.index.entry(at)).then_some(Some(at))
    }

    /// Marks the files of which the old index's own time does not tell whether they changed since.
    ///
    /// They were changed when the index was written or later, so git reads them to find out. The
    /// new index will be younger than they are; a size of zero makes git read them nevertheless.
    /// Most builds of git compare whole seconds: as long as the second is the same, they go on
    /// reading.
    fn keep_doubtful(&mut self, plain: &Plain) {
        let index = &self.index;
        let second = index.timestamp().unix_seconds();
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let is_later =
            i64::try_from((now + WRITTEN_WITHIN).as_secs()).is_ok_and(|now| now > second);
        self.doubted_until = if is_later { i64::MAX } else { second };
        let is_same = |entry: &gix::index::Entry| {
            plain.file(entry.path(index)).and_then(|file| stat_of(&file)) == Some(entry.stat)
        };
        let is_of_it = |entry: &gix::index::Entry| {
            !is_older(entry, index) || (is_later && i64::from(entry.stat.mtime.secs) >= second)
        };
        let (mut marked, mut unread) = (Vec::new(), Vec::new());
        for (place, entry) in index.entries().iter().enumerate().filter(|(_, it)| is_of_it(it)) {
            match (is_same(entry), is_older(entry, index)) {
                (false, _) => marked.push(place),
                (true, true) => {}
                (true, false) => unread.push((place, entry)),
            }
        }
        let (places, entries): (Vec<_>, Vec<_>) = unread.into_iter().unzip();
        let hold = plain.hold(index, &entries).unwrap_or(vec![false; entries.len()]);
        marked.extend(places.into_iter().zip(hold).filter(|(_, holds)| !holds).map(|(at, _)| at));
        for place in marked {
            self.index.entries_mut()[place].stat.size = 0;
        }
    }

    /// Returns whether no name is both a file and a directory, or there twice.
    fn is_sound(&self) -> bool {
        let paths: Vec<_> = self.index.entries().iter().map(|one| one.path(&self.index)).collect();
        let is_listed = |path: &BStr| paths.binary_search(&path).is_ok();
        let mut pairs = paths.windows(2);
        pairs.all(|pair| pair[0] < pair[1])
            && paths.iter().all(|path| {
                let mut ends = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
                !ends.any(|(end, _)| is_listed(path[..end].as_bstr()))
            })
    }
}

/// Reads an index that lists every file by itself.
///
/// gix could read the file, too, but maps it into memory, and puts the parts of a split index together
/// without a word.
pub(in crate::git) fn read(path: &Path) -> Option<gix::index::File> {
    let mut file = fs::File::open(path).ok()?;
    let time = FileTime::from_last_modification_time(&file.metadata().ok()?);
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).ok()?;
    let kind = gix::hash::Kind::Sha1;
    let (content, sum) = bytes.split_at_checked(bytes.len().checked_sub(kind.len_in_bytes())?)?;
    // Without a sum it is what those wrote who were told to leave it out.
    let is_whole = sum.iter().all(|byte| *byte == 0) || {
        let mut hasher = gix::hash::hasher(kind);
        hasher.update(content);
        hasher.try_finalize().ok()?.as_slice() == sum
    };
    if !is_whole {
        return None;
    }
    let options = gix::index::decode::Options::default();
    let (state, _) = gix::index::State::from_bytes(&bytes, time, kind, options).ok()?;
    let is_all = !state.is_sparse() && state.link().is_none();
    is_all.then(|| gix::index::File::from_state(state, path))
}

/// Returns whether an entry is a file or a link, and git was told nothing about it.
pub(super) fn is_usual(entry: &gix::index::Entry) -> bool {
    let told = Flags::ASSUME_VALID | Flags::SKIP_WORKTREE | Flags::INTENT_TO_ADD;
    entry.stage() == Stage::Unconflicted
        && !entry.flags.intersects(told)
        && matches!(entry.mode, Mode::FILE | Mode::FILE_EXECUTABLE | Mode::SYMLINK)
}

/// Returns whether a file was changed before the index was written, so that a later change shows.
pub(super) fn is_older(entry: &gix::index::Entry, index: &gix::index::File) -> bool {
    let (time, at) = (&entry.stat.mtime, index.timestamp());
    (i64::from(time.secs), time.nsecs) < (at.unix_seconds(), at.nanoseconds())
}

/// Lets git compute the trees again that a file is in.
fn forget(tree: &mut Tree, path: &BStr) {
    tree.num_entries = None;
    let Some((dir, rest)) = path.split_once_str("/") else { return };
    if let Some(child) = tree.children.iter_mut().find(|child| child.name.as_slice() == dir) {
        forget(child, rest.as_bstr());
    }
}
