//! Compares what was changed with what a plan says it changes.
//!
//! A file that nobody declared is worth a note. A test that is not the plan's, a file that decides a
//! check, a file of another plan and the folder of another phase are not: then the work is not
//! accepted.

use std::cell::OnceCell;
use std::collections::BTreeSet;

use mow_core::deciding::{decides_check, packages_of, runs_the_same, scripts_of, takes_over};
use mow_core::declared::{covers, decides_tests, is_declared, is_test};
use mow_host::history::Change;
use mow_store::plan::{Files, Plan};

use super::desk::Desk;
use super::freeze::ALTERED;
use super::task::checks;
use crate::EngineError;
use crate::marks::{BESIDE_KEY, Marks};

/// A file that was changed.
pub(super) struct Changed {
    /// Its name below the top of the repository.
    pub(super) path: String,
    is_new: bool,
    is_repository: bool,
}

/// What is said of the work that is judged.
struct Said {
    /// What the plans change.
    files: Vec<String>,
    /// All checks that this could decide.
    checks: Vec<String>,
    /// The commit that the plans began at.
    base: String,
    /// What the checks run by way of a package's scripts, once somebody asks.
    scripts: OnceCell<Vec<String>>,
}

/// Files as they are in the last commit.
pub(super) struct InCommit<'a>(pub(super) &'a Desk);

impl InCommit<'_> {
    fn name(&self, path: &str) -> String {
        let path = path.trim_start_matches("./").trim_end_matches('/');
        self.0.site.below_top().join(path).display().to_string()
    }
}

impl Files for InCommit<'_> {
    fn exists(&self, path: &str) -> bool {
        if !self.0.commits_docs && path.starts_with(".planning/") {
            return self.0.project.root.join(path).exists();
        }
        self.0
            .git()
            .ask(&["cat-file", "-e", &format!("HEAD:{}", self.name(path))])
            .is_ok_and(|a| a.success)
    }

    fn text(&self, path: &str) -> Option<String> {
        if !self.0.commits_docs && path.starts_with(".planning/") {
            let bytes = std::fs::read(self.0.project.root.join(path)).ok()?;
            return Some(String::from_utf8_lossy(&bytes).into_owned());
        }
        self.0.text_in("HEAD", &self.name(path))
    }
}

impl Desk {
    /// Lists the files that differ between a commit and the last one.
    pub(super) fn differing(&self, from: &str) -> Result<Vec<Changed>, EngineError> {
        let (marks, head) = (self.marks()?, self.head()?);
        if let Some(changes) = marks.history.differing(from, &head) {
            let changed = |change: Change| Changed {
                is_new: change.is_new(),
                is_repository: change.is_repository(),
                path: change.path,
            };
            return Ok(changes.into_iter().map(changed).collect());
        }
        // What somebody merged shows in none of its commits.
        let args = ["diff", "--raw", "--no-renames", "--no-ext-diff", "-z", from, &head];
        let output = self.git().plumbing().run(&args)?.stdout;
        let names = mow_host::git::parse_names(&output);
        // `:<mode before> <mode after> <object> <object> <letter>`, then the name
        let changed = |pair: &[String]| Changed {
            is_new: pair[0].ends_with('A'),
            is_repository: pair[0].split(' ').nth(1) == Some("160000"),
            path: pair[1].clone(),
        };
        Ok(names.chunks_exact(2).map(changed).collect())
    }

    /// Returns a file's name as plans have it: below the project's root.
    fn named<'a>(&self, path: &'a str) -> Option<&'a str> {
        let below = self.site.below_top().display().to_string();
        if below.is_empty() {
            return Some(path);
        }
        path.strip_prefix(&below)?.strip_prefix('/')
    }

    /// Returns why a change is not accepted, whoever of the plans made it.
    fn offence(&self, file: &Changed, said: &Said) -> Option<String> {
        let Changed { path, is_new, is_repository } = file;
        let name = self.named(path).unwrap_or(path);
        if *is_repository && !self.is_submodule(path) {
            let why = "whose commits would stay behind: it is no submodule";
            return Some(format!("it committed {path} as a repository of its own, {why}"));
        }
        if let Some(rest) = name.strip_prefix(".planning/phases/") {
            let own = rest.strip_prefix(&self.dir_name).is_some_and(|rest| rest.starts_with('/'));
            return (!own).then(|| format!("it changed {path}, which belongs to another phase"));
        }
        if is_declared(&said.files, name) {
            return None;
        }
        if is_test(name) && (!is_new || decides_tests(name)) {
            return Some(format!("{ALTERED}: {path} is a test outside files_modified"));
        }
        let decides = match is_new {
            true => {
                said.checks.iter().any(|check| takes_over(check, name))
                    && self.had_other(path, said)
            }
            false => self.decides(name, said) && self.runs_other(path, said),
        };
        decides.then(|| format!("{ALTERED}: {path} decides a check and is outside files_modified"))
    }

    /// Returns whether a file decides what one of the checks says, by way of a package's scripts too.
    fn decides(&self, name: &str, said: &Said) -> bool {
        let scripts = said.scripts.get_or_init(|| self.scripts(said));
        said.checks.iter().chain(scripts).any(|check| decides_check(check, name))
    }

    /// Returns what the checks run by way of a package's scripts.
    fn scripts(&self, said: &Said) -> Vec<String> {
        let mut all = BTreeSet::new();
        for check in &said.checks {
            for package in packages_of(check) {
                let place = self.site.below_top().join(&package).display().to_string();
                let text = self.text_in(&said.base, &place).unwrap_or_default();
                let dir = package.strip_suffix("/package.json").unwrap_or(".");
                let scripts = scripts_of(check, &text).into_iter();
                all.extend(scripts.map(|script| format!("cd {dir} && {script}")));
            }
        }
        all.into_iter().collect()
    }

    /// Returns whether there was a file already whose place a new one takes; settings need none.
    fn had_other(&self, path: &str, said: &Said) -> bool {
        let (dir, name) = path.rsplit_once('/').map_or(("", path), |(dir, name)| (dir, name));
        let other = match name {
            "GNUmakefile" | "makefile" => "Makefile",
            ".justfile" => "justfile",
            _ => return true,
        };
        let other = if dir.is_empty() { other.to_owned() } else { format!("{dir}/{other}") };
        self.text_in(&said.base, &other).is_some()
    }

    /// Returns whether a file that decides a check is another one than when the plans began.
    fn runs_other(&self, path: &str, said: &Said) -> bool {
        // What a plan makes itself, it may go on with.
        let Some(before) = self.text_in(&said.base, path) else { return false };
        let now = self.text_in("HEAD", path).unwrap_or_default();
        !(path.ends_with("package.json") && runs_the_same(&before, &now))
    }

    /// Returns whether the last commit says where a repository inside of it comes from.
    fn is_submodule(&self, path: &str) -> bool {
        let modules = self.text_in("HEAD", ".gitmodules").unwrap_or_default();
        let mut settings = modules.lines().filter_map(|line| line.split_once('='));
        settings.any(|(key, value)| {
            key.trim() == "path" && value.trim().trim_matches('"').trim_end_matches('/') == path
        })
    }

    fn text_in(&self, commit: &str, path: &str) -> Option<String> {
        let answer = self.git().ask(&["cat-file", "blob", &format!("{commit}:{path}")]).ok()?;
        answer.success.then(|| String::from_utf8_lossy(&answer.stdout).into_owned())
    }

    /// Returns the commit that the first task of a plan began at.
    fn base_of(&self, id: &str) -> Result<String, EngineError> {
        let marks = self.marks()?;
        let is_own = |commit: &String| {
            marks.tasks.iter().any(|((plan, _), made)| plan == id && made == commit)
        };
        let first = marks.commits.iter().rposition(is_own);
        let before = first.and_then(|first| marks.commits.get(first + 1));
        Ok(before.unwrap_or(&self.brief.base).clone())
    }

    /// Returns what is said of work that may change some files and began at a commit: no plan may
    /// change what decides the checks of another one either.
    fn said(&self, files: Vec<String>, base: &str) -> Said {
        let trust = self.trust();
        let tasks = trust.plans.values().flat_map(|frozen| &frozen.plan.tasks);
        let checks = tasks.flat_map(checks).collect();
        Said { files, checks, base: base.to_owned(), scripts: OnceCell::new() }
    }

    /// Judges what a task changed; returns why it is not accepted.
    pub(super) fn judge(&self, id: &str, files: &[Changed]) -> Result<Option<String>, EngineError> {
        let own = self.frozen(id)?.files_modified;
        let said = self.said(own.clone(), &self.base_of(id)?);
        let plans = self.trust().plans.clone();
        for file in files {
            if let Some(offence) = self.offence(file, &said) {
                return Ok(Some(offence));
            }
            let name = self.named(&file.path).unwrap_or(&file.path);
            let is_theirs = |plan: &Plan| is_declared(&plan.files_modified, name);
            let other = plans.iter().find(|(of, frozen)| *of != id && is_theirs(&frozen.plan));
            if let Some((other, _)) = other.filter(|_| !is_declared(&own, name)) {
                let path = &file.path;
                return Ok(Some(format!("it changed {path}, which belongs to plan {other}")));
            }
        }
        Ok(None)
    }

    /// Judges what plans changed side by side; returns why it is not accepted.
    pub(super) fn judge_group(
        &self,
        plans: &[String],
        files: &[Changed],
        base: &str,
    ) -> Result<Option<String>, EngineError> {
        let mut all = Vec::new();
        for plan in plans {
            all.extend(self.frozen(plan)?.files_modified);
        }
        let said = self.said(all, base);
        Ok(files.iter().find_map(|file| self.offence(file, &said)))
    }

    /// Judges all that a phase changed; returns why it is not accepted.
    pub(super) fn judge_phase(&self) -> Result<Option<String>, EngineError> {
        let plans = self.trust().plans.clone();
        let all = plans.values().flat_map(|frozen| frozen.plan.files_modified.clone()).collect();
        let said = self.said(all, &self.brief.base);
        let files = self.differing(&self.brief.base)?;
        Ok(files.iter().find_map(|file| self.offence(file, &said)))
    }

    /// Returns whether rules about what is ignored were changed without being declared.
    pub(super) fn hides_files(&self, id: &str, files: &[Changed]) -> Result<bool, EngineError> {
        let own = self.frozen(id)?.files_modified;
        Ok(files.iter().any(|file| {
            let name = file.path.rsplit('/').next().unwrap_or_default();
            matches!(name, ".gitignore" | ".gitattributes") && !is_declared(&own, &file.path)
        }))
    }

    /// Lists the files that the commits of a plan changed, agents' commits included.
    pub(super) fn changed_by(&self, id: &str, marks: &Marks) -> Result<Vec<String>, EngineError> {
        let mut files = BTreeSet::new();
        let own = self.frozen(id)?.files_modified;
        let is_own = |path: &&String| self.named(path).is_some_and(|name| is_declared(&own, name));
        for (n, commit) in marks.commits.iter().enumerate() {
            let is_its = |((of, _), made): (&(String, usize), &String)| of == id && made == commit;
            if !marks.tasks.iter().any(is_its) {
                continue;
            }
            // What lies between is of any of the plans side by side.
            let is_alone = marks.value(commit, BESIDE_KEY).is_none();
            let before = marks.commits.get(n + 1).unwrap_or(&self.brief.base);
            if let Some(line) = marks.history.line(before, commit) {
                let changes = line.into_iter().flat_map(|one| &one.changes);
                let paths = changes.map(|change| &change.path);
                files.extend(paths.filter(|path| is_alone || is_own(path)).cloned());
                continue;
            }
            let range = format!("{before}..{commit}");
            let args = ["log", "--no-merges", "--name-only", "--no-renames", "--format=", "-z"];
            let base = format!("^{}", self.brief.base);
            let output = self.git().plumbing().run(&[&args[..], &[&range, &base]].concat())?;
            files.extend(mow_host::git::parse_names(&output.stdout));
        }
        // Beside other plans an agent's own commits may lie before any mark.
        let by_agents =
            marks.history.commits.iter().filter(|one| !marks.commits.contains(&one.commit));
        let by_agents = by_agents.flat_map(|one| &one.changes).map(|change| &change.path);
        files.extend(by_agents.filter(is_own).cloned());
        // The papers of the phase are not the plan's work, whichever commit they came with.
        let papers = format!("{}/phases/{}/", self.planning_below_top(), self.dir_name);
        files.retain(|file| !file.starts_with(&papers));
        Ok(files.into_iter().collect())
    }

    /// Returns what a plan did other than it says, in sentences.
    pub(super) fn deviations(&self, plan: &Plan, files: &[String]) -> Vec<String> {
        let mut deviations = Vec::new();
        for path in files {
            let name = self.named(path).unwrap_or(path);
            if name.starts_with(".planning/phases/") {
                continue;
            }
            if name.starts_with(".planning/") {
                deviations.push(format!("`{path}` is left out of the merge: it is the lead's"));
            } else if !is_declared(&plan.files_modified, name) {
                deviations.push(format!("`{path}` is not among files_modified"));
            }
        }
        let changed: Vec<_> = files.iter().filter_map(|path| self.named(path)).collect();
        let in_commit = InCommit(self);
        for entry in plan.files_modified.iter().filter(|entry| !entry.contains('*')) {
            let name = entry.split_once(" (").map_or(entry.as_str(), |(name, _)| name);
            // What is there already may have needed no change; what is nowhere may be ignored.
            let is_missing = !changed.is_empty()
                && !changed.iter().any(|path| covers(entry, path))
                && !in_commit.exists(name);
            if is_missing {
                deviations
                    .push(format!("`{name}` is among files_modified, but in none of its commits"));
            }
        }
        deviations
    }

    /// Returns what a plan promised and its last commit does not hold.
    pub(super) fn broken_promises(&self, plan: &Plan) -> Vec<(String, String)> {
        let files = InCommit(self);
        let must = &plan.must_haves;
        let mut broken = Vec::new();
        for artifact in &must.artifacts {
            let issues = artifact.issues(&files);
            broken.extend(issues.into_iter().map(|issue| (artifact.path.clone(), issue)));
        }
        for link in must.key_links.iter().filter(|link| link.has_ends()) {
            if let Err(missing) = link.follow(&files) {
                broken.push((format!("{} -> {}", link.from, link.to), missing));
            }
        }
        broken
    }
}
