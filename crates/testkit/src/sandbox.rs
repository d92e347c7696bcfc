//! A temporary project with a home directory of its own.
//!
//! Dropping the value deletes it. A failed setup panics with the reason.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

use crate::program_call::{ProgramCall, isolate_environment};

/// A temporary project to run a program in. Paths are relative to the project's root.
#[derive(Debug)]
pub struct Sandbox {
    dir: TempDir,
    root: PathBuf,
    program: PathBuf,
}

impl Sandbox {
    /// Makes an empty directory to run a program in.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self::within(&std::env::temp_dir(), program)
    }

    /// Creates a sandbox in `/dev/shm` where that exists: for tests of concurrent processes, not of
    /// disk speed.
    pub fn in_memory(program: impl Into<PathBuf>) -> Self {
        let memory = Path::new("/dev/shm");
        if memory.is_dir() { Self::within(memory, program) } else { Self::new(program) }
    }

    fn within(place: &Path, program: impl Into<PathBuf>) -> Self {
        let dir = TempDir::new_in(place).expect("temporary directories can be made");
        // Printed paths are free of links, so the root is too.
        let root = fs::canonicalize(dir.path()).expect("it was just made").join("project");
        for name in ["project", "home", "temp"] {
            fs::create_dir(root.with_file_name(name)).expect("the directory is fresh");
        }
        Self { dir, root, program: program.into() }
    }

    /// Adds a file and the directories above it.
    #[must_use]
    pub fn file(self, path: &str, content: impl AsRef<[u8]>) -> Self {
        self.write(path, content);
        self
    }

    /// Writes a file; the directories above it are made.
    pub fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let full = self.root.join(path);
        let folder = full.parent().expect("a file lies in a directory");
        fs::create_dir_all(folder).expect("directories can be made");
        fs::write(full, content).expect("files can be written");
    }

    /// Removes a file.
    pub fn remove(&self, path: &str) {
        fs::remove_file(self.root.join(path)).expect("files can be removed");
    }

    /// Makes a directory and those above it.
    pub fn make_dir(&self, path: &str) {
        fs::create_dir_all(self.root.join(path)).expect("directories can be made");
    }

    /// Makes a symbolic link that leads to `target`.
    pub fn link(&self, path: &str, target: impl AsRef<Path>) {
        symlink(target, self.root.join(path)).expect("links can be made");
    }

    /// Sets the mode of a file.
    pub fn set_mode(&self, path: &str, mode: u32) {
        let path = self.root.join(path);
        if mode & 0o111 != 0 && path.is_file() {
            return make_executable(&path);
        }
        let mode = fs::Permissions::from_mode(mode);
        fs::set_permissions(path, mode).expect("modes can be set");
    }

    /// The project's root, free of symbolic links.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The home directory that programs see.
    pub fn home(&self) -> PathBuf {
        self.root.with_file_name("home")
    }

    /// The bytes of a file.
    pub fn bytes(&self, path: &str) -> Vec<u8> {
        fs::read(self.root.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    /// The text of a file.
    pub fn text(&self, path: &str) -> String {
        String::from_utf8(self.bytes(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    /// Every file below the root with its bytes; locks and git's own files are left out.
    pub fn files(&self) -> BTreeMap<String, Vec<u8>> {
        let mut files = BTreeMap::new();
        let mut folders = vec![self.root.clone()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).expect("directories can be listed") {
                let entry = entry.expect("directories can be listed");
                let path = entry.path();
                if [".mow", ".git"].iter().any(|name| entry.file_name() == *name) {
                    continue;
                }
                let kind = entry.file_type().expect("entries have a type");
                if kind.is_dir() {
                    folders.push(path);
                } else if kind.is_file() {
                    let bytes = fs::read(&path).expect("files can be read");
                    let name = path.strip_prefix(&self.root).expect("found below the root");
                    files.insert(name.to_string_lossy().into_owned(), bytes);
                }
            }
        }
        files
    }

    /// Prepares a call of the program, in the root.
    pub fn call<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>) -> ProgramCall {
        ProgramCall::new(&self.program, &self.root, arguments)
    }

    /// Runs git in a directory and returns what it printed.
    pub fn git(&self, folder: &str, arguments: &[&str]) -> String {
        let output = self.git_output(folder, arguments);
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "git {arguments:?}: {message}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Runs git in a directory; returns its output also when git fails.
    pub fn git_output(&self, folder: &str, arguments: &[&str]) -> Output {
        let mut command = Command::new("git");
        isolate_environment(&mut command, &self.root);
        for role in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{role}_NAME"), "Test").env(format!("GIT_{role}_EMAIL"), "t@t");
        }
        let output = command.args(arguments).current_dir(self.root.join(folder)).output();
        output.expect("git can be run")
    }

    /// The directory around project, home and temporary files.
    pub fn outer_dir(&self) -> &Path {
        self.dir.path()
    }
}

/// Makes a file executable that was just written.
///
/// Another process makes the copy. While this process forks in other threads, a child may briefly
/// inherit a descriptor that is open for writing, and the system refuses to run such a file.
pub fn make_executable(path: &Path) {
    let script = "cp -- \"$0\" \"$0~\" && chmod 755 \"$0~\" && mv -- \"$0~\" \"$0\"";
    let made = Command::new("sh").args(["-c", script]).arg(path).status();
    assert!(made.expect("there is a shell").success());
}
