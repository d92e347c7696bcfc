//! Reviews changed files: compares what a task, a group of plans or a phase changed with the files
//! that its plans declare.
//!
//! An undeclared file is only noted. The work is rejected if an undeclared file is a test, decides
//! a check, or belongs to another plan, and if a file belongs to another phase.

use std::cell::OnceCell;
use std::collections::BTreeSet;

use mow_core::check_inputs::{
    has_same_scripts, is_check_input, overrides_check_input, package_manifests, package_scripts,
};
use mow_core::file_scope::{DeclaredFiles, is_test_config, is_test_file};
use mow_host::history::FileChange;
use mow_store::plan::{FileLookup, Plan};

use super::frozen_plans::{EVIDENCE_ALTERED, FrozenPlans};
use super::phase_workspace::PhaseWorkspace;
use super::shell_blocks::check_commands;
use crate::EngineError;
use crate::sealed_commits::{PARALLEL_KEY, SealedCommits};

/// A file that differs between two commits.
pub(super) struct ChangedFile {
    /// The path relative to the top of the repository.
    pub(super) path: String,
    pub(super) is_new: bool,
    /// Whether the entry is a repository inside this one (mode 160000).
    is_repository: bool,
}

/// What reviewed work may change, and what must not be affected.
struct ReviewScope {
    /// The files that the reviewed plans declare.
    files: DeclaredFiles,
    /// The check commands of all plans.
    checks: Vec<String>,
    /// The commit that the reviewed plans began at.
    base: String,
    /// The package scripts that the checks run. Filled on first use.
    scripts: OnceCell<Vec<String>>,
}

/// The files of the last commit, and of the worktree for planning files that are not committed.
pub(super) struct CommittedFiles<'a>(&'a PhaseWorkspace);

impl CommittedFiles<'_> {
    fn below_top(&self, path: &str) -> String {
        let path = path.trim_start_matches("./").trim_end_matches('/');
        self.0.ctx.below_top().join(path).display().to_string()
    }
}

impl FileLookup for CommittedFiles<'_> {
    fn exists(&self, path: &str) -> bool {
        if !self.0.commits_docs && path.starts_with(".planning/") {
            return self.0.project.root.join(path).exists();
        }
        self.0
            .git()
            .ask(&["cat-file", "-e", &format!("HEAD:{}", self.below_top(path))])
            .is_ok_and(|a| a.success)
    }

    fn text(&self, path: &str) -> Option<String> {
        if !self.0.commits_docs && path.starts_with(".planning/") {
            let bytes = std::fs::read(self.0.project.root.join(path)).ok()?;
            return Some(String::from_utf8_lossy(&bytes).into_owned());
        }
        text_at(self.0, "HEAD", &self.below_top(path))
    }
}

/// Returns the text of a file in a commit; `None` if the commit does not have it.
fn text_at(workspace: &PhaseWorkspace, commit: &str, path: &str) -> Option<String> {
    let answer = workspace.git().ask(&["cat-file", "blob", &format!("{commit}:{path}")]).ok()?;
    answer.success.then(|| String::from_utf8_lossy(&answer.stdout).into_owned())
}

/// Returns whether `.gitmodules` of the last commit lists a path.
fn is_submodule(workspace: &PhaseWorkspace, path: &str) -> bool {
    let modules = text_at(workspace, "HEAD", ".gitmodules").unwrap_or_default();
    let mut settings = modules.lines().filter_map(|line| line.split_once('='));
    settings.any(|(key, value)| {
        key.trim() == "path" && value.trim().trim_matches('"').trim_end_matches('/') == path
    })
}

/// Reviews the changes of tasks, groups of plans, and the whole phase.
#[derive(Clone, Copy)]
pub(super) struct ChangeReview<'a> {
    workspace: &'a PhaseWorkspace,
    frozen_plans: FrozenPlans<'a>,
}

impl<'a> ChangeReview<'a> {
    pub(super) fn new(workspace: &'a PhaseWorkspace) -> Self {
        Self { workspace, frozen_plans: FrozenPlans::new(workspace) }
    }

    /// Lists the files that differ between a commit and the last one.
    pub(super) fn changed_since(&self, from: &str) -> Result<Vec<ChangedFile>, EngineError> {
        let (sealed, head) = (self.workspace.sealed_commits()?, self.workspace.head()?);
        if let Some(changes) = sealed.history.changed_files(from, &head) {
            let changed = |change: FileChange| ChangedFile {
                is_new: change.is_new(),
                is_repository: change.is_repository(),
                path: change.path,
            };
            return Ok(changes.into_iter().map(changed).collect());
        }
        // The history does not list the changes of a merge commit, so git compares the trees.
        let args = ["diff", "--raw", "--no-renames", "--no-ext-diff", "-z", from, &head];
        let output = self.workspace.git().plumbing().run(&args)?.stdout;
        let names = mow_host::git::parse_names(&output);
        // `:<mode before> <mode after> <object> <object> <letter>`, then the name
        let changed = |pair: &[String]| ChangedFile {
            is_new: pair[0].ends_with('A'),
            is_repository: pair[0].split(' ').nth(1) == Some("160000"),
            path: pair[1].clone(),
        };
        Ok(names.chunks_exact(2).map(changed).collect())
    }

    /// Returns a path relative to the project's root, as plans name it.
    fn project_path<'p>(&self, path: &'p str) -> Option<&'p str> {
        let below = self.workspace.ctx.below_top().display().to_string();
        if below.is_empty() {
            return Some(path);
        }
        path.strip_prefix(&below)?.strip_prefix('/')
    }

    /// Returns why a change is rejected, whichever of the plans made it.
    fn objection(&self, file: &ChangedFile, scope: &ReviewScope) -> Option<String> {
        let ChangedFile { path, is_new, is_repository } = file;
        let name = self.project_path(path).unwrap_or(path);
        if *is_repository && !is_submodule(self.workspace, path) {
            let why = "but it is no submodule: its commits would be lost";
            return Some(format!("it committed {path} as a repository of its own, {why}"));
        }
        if let Some(rest) = name.strip_prefix(".planning/phases/") {
            let own_dir = &self.workspace.dir_name;
            let own = rest.strip_prefix(own_dir).is_some_and(|rest| rest.starts_with('/'));
            return (!own).then(|| format!("it changed {path}, which belongs to another phase"));
        }
        if scope.files.cover(name) {
            return None;
        }
        if is_test_file(name) && (!is_new || is_test_config(name)) {
            return Some(format!("{EVIDENCE_ALTERED}: {path} is a test outside files_modified"));
        }
        let decides = match is_new {
            true => {
                scope.checks.iter().any(|check| overrides_check_input(check, name))
                    && self.replaces_other(path, scope)
            }
            false => self.decides_any_check(name, scope) && self.content_differs(path, scope),
        };
        let text = "decides a check and is outside files_modified";
        decides.then(|| format!("{EVIDENCE_ALTERED}: {path} {text}"))
    }

    /// Returns whether a file decides the result of a check, also through a package script.
    fn decides_any_check(&self, name: &str, scope: &ReviewScope) -> bool {
        let scripts = scope.scripts.get_or_init(|| self.package_scripts(scope));
        scope.checks.iter().chain(scripts).any(|check| is_check_input(check, name))
    }

    /// Returns the commands that the checks run through the scripts of a `package.json`.
    fn package_scripts(&self, scope: &ReviewScope) -> Vec<String> {
        let mut all = BTreeSet::new();
        for check in &scope.checks {
            for package in package_manifests(check) {
                let below_top = self.workspace.ctx.below_top();
                let path = below_top.join(&package).display().to_string();
                let text = text_at(self.workspace, &scope.base, &path).unwrap_or_default();
                let dir = package.strip_suffix("/package.json").unwrap_or(".");
                let scripts = package_scripts(check, &text).into_iter();
                all.extend(scripts.map(|script| format!("cd {dir} && {script}")));
            }
        }
        all.into_iter().collect()
    }

    /// Returns whether a new file takes precedence over one that existed at the base. New settings
    /// files count without one.
    fn replaces_other(&self, path: &str, scope: &ReviewScope) -> bool {
        let (dir, name) = path.rsplit_once('/').map_or(("", path), |(dir, name)| (dir, name));
        let other = match name {
            "GNUmakefile" | "makefile" => "Makefile",
            ".justfile" => "justfile",
            _ => return true,
        };
        let other = if dir.is_empty() { other.to_owned() } else { format!("{dir}/{other}") };
        text_at(self.workspace, &scope.base, &other).is_some()
    }

    /// Returns whether a file that decides a check differs from the base.
    fn content_differs(&self, path: &str, scope: &ReviewScope) -> bool {
        // A plan may go on changing a file that it created itself.
        let Some(before) = text_at(self.workspace, &scope.base, path) else { return false };
        let now = text_at(self.workspace, "HEAD", path).unwrap_or_default();
        !(path.ends_with("package.json") && has_same_scripts(&before, &now))
    }

    /// Returns the commit that the first task of a plan began at.
    pub(super) fn plan_base(&self, id: &str) -> Result<String, EngineError> {
        let sealed = self.workspace.sealed_commits()?;
        let is_own = |commit: &String| {
            sealed.tasks.iter().any(|((plan, _), marked)| plan == id && marked == commit)
        };
        let first = sealed.commits.iter().rposition(is_own);
        let before = first.and_then(|first| sealed.commits.get(first + 1));
        Ok(before.unwrap_or(&self.workspace.brief.base).clone())
    }

    /// Returns the scope of work that may change some files and began at a commit. It has the
    /// checks of all plans: no plan may change what decides the checks of another plan.
    fn scope(&self, files: &[String], base: &str) -> ReviewScope {
        let trusted = self.workspace.trusted();
        let tasks = trusted.plans.values().flat_map(|frozen| &frozen.plan.tasks);
        let checks = tasks.flat_map(check_commands).collect();
        let (files, base) = (DeclaredFiles::new(files), base.to_owned());
        ReviewScope { files, checks, base, scripts: OnceCell::new() }
    }

    /// Reviews the changes of a task; returns why they are rejected.
    pub(super) fn review_task(
        &self,
        id: &str,
        files: &[ChangedFile],
    ) -> Result<Option<String>, EngineError> {
        let own = self.frozen_plans.plan(id)?.files_modified;
        let scope = self.scope(&own, &self.plan_base(id)?);
        let plans = self.workspace.trusted().plans.clone();
        let others: Vec<_> = plans
            .iter()
            .filter(|(of, _)| *of != id)
            .map(|(of, frozen)| (of, DeclaredFiles::new(&frozen.plan.files_modified)))
            .collect();
        for file in files {
            if let Some(objection) = self.objection(file, &scope) {
                return Ok(Some(objection));
            }
            let name = self.project_path(&file.path).unwrap_or(&file.path);
            let other = others.iter().find(|(_, declared)| declared.cover(name));
            if let Some((other, _)) = other.filter(|_| !scope.files.cover(name)) {
                let path = &file.path;
                return Ok(Some(format!("it changed {path}, which belongs to plan {other}")));
            }
        }
        Ok(None)
    }

    /// Reviews the changes of parallel plans; returns why they are rejected.
    pub(super) fn review_group(
        &self,
        plans: &[String],
        files: &[ChangedFile],
        base: &str,
    ) -> Result<Option<String>, EngineError> {
        let mut all = Vec::new();
        for plan in plans {
            all.extend(self.frozen_plans.plan(plan)?.files_modified);
        }
        let scope = self.scope(&all, base);
        Ok(files.iter().find_map(|file| self.objection(file, &scope)))
    }

    /// Reviews all changes of the phase; returns why they are rejected.
    pub(super) fn review_phase(&self) -> Result<Option<String>, EngineError> {
        let base = &self.workspace.brief.base;
        let plans = self.workspace.trusted().plans.clone();
        let all = plans.values().flat_map(|frozen| frozen.plan.files_modified.clone());
        let all: Vec<_> = all.collect();
        let scope = self.scope(&all, base);
        let files = self.changed_since(base)?;
        Ok(files.iter().find_map(|file| self.objection(file, &scope)))
    }

    /// Returns whether a task changed ignore rules without declaring it.
    pub(super) fn changes_ignore_rules(
        &self,
        id: &str,
        files: &[ChangedFile],
    ) -> Result<bool, EngineError> {
        let own = DeclaredFiles::new(&self.frozen_plans.plan(id)?.files_modified);
        Ok(files.iter().any(|file| {
            let name = file.path.rsplit('/').next().unwrap_or_default();
            matches!(name, ".gitignore" | ".gitattributes") && !own.cover(&file.path)
        }))
    }

    /// Lists the files that the commits of a plan changed, including the agents' own commits.
    pub(super) fn files_of_plan(
        &self,
        id: &str,
        sealed: &SealedCommits,
    ) -> Result<Vec<String>, EngineError> {
        let base = &self.workspace.brief.base;
        let mut files = BTreeSet::new();
        let own = DeclaredFiles::new(&self.frozen_plans.plan(id)?.files_modified);
        let is_own = |path: &&String| self.project_path(path).is_some_and(|name| own.cover(name));
        for (n, commit) in sealed.commits.iter().enumerate() {
            let is_task =
                |((of, _), marked): (&(String, usize), &String)| of == id && marked == commit;
            if !sealed.tasks.iter().any(is_task) {
                continue;
            }
            // Commits between two marks may belong to any of the parallel plans.
            let is_alone = sealed.value(commit, PARALLEL_KEY).is_none();
            let before = sealed.commits.get(n + 1).unwrap_or(base);
            if let Some(line) = sealed.history.linear_range(before, commit) {
                let changes = line.into_iter().flat_map(|one| &one.changes);
                let paths = changes.map(|change| &change.path);
                files.extend(paths.filter(|path| is_alone || is_own(path)).cloned());
                continue;
            }
            let range = format!("{before}..{commit}");
            let args = ["log", "--no-merges", "--name-only", "--no-renames", "--format=", "-z"];
            let exclude_base = format!("^{base}");
            let args = [&args[..], &[&range, &exclude_base]].concat();
            let output = self.workspace.git().plumbing().run(&args)?;
            files.extend(mow_host::git::parse_names(&output.stdout));
        }
        // With parallel plans, an agent's own commits may come before any mark.
        let by_agents =
            sealed.history.commits.iter().filter(|one| !sealed.commits.contains(&one.commit));
        let by_agents = by_agents.flat_map(|one| &one.changes).map(|change| &change.path);
        files.extend(by_agents.filter(is_own).cloned());
        // The phase's documents are not the plan's work, whichever commit contains them.
        let planning = self.workspace.planning_below_top();
        let documents = format!("{planning}/phases/{}/", self.workspace.dir_name);
        files.retain(|file| !file.starts_with(&documents));
        Ok(files.into_iter().collect())
    }

    /// Returns how the changed files deviate from those that a plan declares, in sentences.
    pub(super) fn deviations(&self, plan: &Plan, files: &[String]) -> Vec<String> {
        let mut deviations = Vec::new();
        let declared = DeclaredFiles::new(&plan.files_modified);
        for path in files {
            let name = self.project_path(path).unwrap_or(path);
            if name.starts_with(".planning/phases/") {
                continue;
            }
            if name.starts_with(".planning/") {
                let why = "only the lead writes it";
                deviations.push(format!("`{path}` is left out of the merge: {why}"));
            } else if !declared.cover(name) {
                deviations.push(format!("`{path}` is not among files_modified"));
            }
        }
        let changed: Vec<_> = files.iter().filter_map(|path| self.project_path(path)).collect();
        let committed = CommittedFiles(self.workspace);
        for entry in plan.files_modified.iter().filter(|entry| !entry.contains('*')) {
            let name = entry.split_once(" (").map_or(entry.as_str(), |(name, _)| name);
            // An existing file may have needed no change. A missing file may be ignored by git.
            let entry = DeclaredFiles::new([entry]);
            let is_missing = !changed.is_empty()
                && !changed.iter().any(|path| entry.cover(path))
                && !committed.exists(name);
            if is_missing {
                deviations
                    .push(format!("`{name}` is among files_modified, but in none of its commits"));
            }
        }
        deviations
    }

    /// Returns each artifact or link that a plan promised and the last commit does not have, with
    /// the reason.
    pub(super) fn broken_promises(&self, plan: &Plan) -> Vec<(String, String)> {
        let files = CommittedFiles(self.workspace);
        let must = &plan.must_haves;
        let mut broken = Vec::new();
        for artifact in &must.artifacts {
            let issues = artifact.issues(&files);
            broken.extend(issues.into_iter().map(|issue| (artifact.path.clone(), issue)));
        }
        for link in must.key_links.iter().filter(|link| link.has_endpoints()) {
            if let Err(missing) = link.check(&files) {
                broken.push((format!("{} -> {}", link.from, link.to), missing));
            }
        }
        broken
    }
}
