//! `cargo xtask tidy`: the rules of this repository that no compiler checks. It also runs as a test.
//!
//! Each rule is a function from the files to a list of findings, so that a test can show it a file that
//! breaks it. [`rust`] checks source files, [`names`] identifiers, [`layout`] which files exist,
//! [`documents`] the documentation.

mod documents;
mod layout;
mod names;
mod rust;

use crate::{no_arguments, repo, tools};
use anyhow::{Context, Result, bail, ensure};
use std::fs;
use std::path::Path;
use std::process::Command;

/// A text file of the repository; `path` is relative to its root, with `/`.
pub(crate) struct SourceFile {
    path: String,
    text: String,
}

impl SourceFile {
    fn has_extension(&self, extensions: &[&str]) -> bool {
        let extension = Path::new(&self.path).extension().and_then(|name| name.to_str());
        extension.is_some_and(|extension| extensions.contains(&extension))
    }

    fn is_rust(&self) -> bool {
        self.has_extension(&["rs"])
    }

    /// Tells whether the file holds tests, or input for tests.
    fn is_of_tests(&self) -> bool {
        self.path.ends_with("/tests.rs") || self.path.split('/').any(|part| part == "tests")
    }
}

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    no_arguments(arguments)?;
    let files = load_files(&repo::root())?;
    let findings = check(&files);
    for finding in &findings {
        println!("{finding}");
    }
    match findings.len() {
        0 => check_spelling(),
        count => bail!("{count} findings in {} files", files.len()),
    }
}

/// Runs `typos`, which reads its settings from `typos.toml`.
fn check_spelling() -> Result<()> {
    let mut typos = Command::new(tools::ensure_typos()?);
    typos.args(["--format", "brief"]).current_dir(repo::root());
    let status = typos.status().context("cannot run typos")?;
    ensure!(status.success(), "spelling: correct it, or add the word to typos.toml");
    Ok(())
}

fn check(files: &[SourceFile]) -> Vec<String> {
    let mut findings = Vec::new();
    for file in files {
        findings.extend(rust::check(file));
        findings.extend(documents::check_file(file));
    }
    findings.extend(rust::repeated_points(files));
    findings.extend(layout::check(files));
    findings.extend(names::check(files));
    findings.extend(names::unused_words(files));
    findings.extend(documents::check_all(files));
    findings
}

/// Reads every file whose rules are known; build output and git's own files are passed over.
fn load_files(root: &Path) -> Result<Vec<SourceFile>> {
    let mut files = Vec::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if ["target", ".git", ".worktrees", "artifacts"].contains(&name.as_str()) {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
            } else if let Ok(text) = fs::read_to_string(&path) {
                let path = path.strip_prefix(root).expect("found below the root");
                files.push(SourceFile { path: path.to_string_lossy().into_owned(), text });
            }
        }
    }
    files.sort_by(|left, right| left.path.cmp(&right.path));
    Ok(files)
}

#[cfg(test)]
mod tests;
