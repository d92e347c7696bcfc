//! Makes a repository in a random state: commits, staged, stashed, changed, new and ignored files.
//!
//! There are changes in the main checkout and in the worktrees of two phases.
#![expect(clippy::disallowed_methods, reason = "the tests play the user who changes files")]

use std::cell::Cell;
use std::fs;
use std::path::PathBuf;

use mow_testkit::sandbox::Sandbox;
use mow_testkit::seeded_rng::SeededRng;
use serde_json::json;

/// The main checkout and the worktrees, as paths below the root.
pub(super) const CHECKOUTS: [&str; 3] = [".", ".worktrees/p01", ".worktrees/p02"];
const FILES: [&str; 5] = ["a", "b", "dir/c", "dir/d", "new file"];
/// A file that git ignores unless it is added by force.
const IGNORED: &str = "ignored/e";
const ROADMAP: &str = "# Roadmap: Ground\n\n## Phases\n\n- [ ] **Phase 1: One** - one\n\
     - [ ] **Phase 2: Two** - two\n\n## Phase Details\n\n### Phase 1: One\n\n**Goal**: One\n\
     **Depends on**: Nothing\n\n### Phase 2: Two\n\n**Goal**: Two\n**Depends on**: Nothing\n";

/// Git settings of some users, with their values.
const USER_SETTINGS: [(&str, &[&str]); 2] = [
    ("branch.main.mergeOptions", &["--squash", "-s ours", "--no-ff"]),
    ("status.showUntrackedFiles", &["no"]),
];

/// A repository with two phases.
pub(super) struct RandomRepository {
    pub(super) sandbox: Sandbox,
    /// The number of texts written so far, which makes every text unique.
    count: Cell<u32>,
}

impl RandomRepository {
    /// Makes a random repository and records the steps.
    pub(super) fn random(rng: &mut SeededRng, history: &mut Vec<String>) -> Self {
        let sandbox = Sandbox::in_memory(env!("CARGO_BIN_EXE_mow"));
        let repository = Self { sandbox, count: Cell::new(0) };
        repository.git(".", &["init", "-q", "-b", "main"]);
        for (key, value) in [("user.name", "Test"), ("user.email", "t@t"), ("gc.auto", "0")] {
            repository.git(".", &["config", key, value]);
        }
        for (key, values) in USER_SETTINGS {
            if let Some(value) = values.get(rng.below(8) as usize) {
                repository.git_recorded(history, ".", &["config", key, value]);
            }
        }
        repository.plan();
        for file in ["a", "b", "dir/c"] {
            repository.sandbox.write(file, "1\n2\n3\n4\n5\n6\n7\n8\n");
        }
        repository.git(".", &["add", "--all"]);
        repository.git(".", &["commit", "-q", "-m", "Begin"]);
        repository.add_worktrees();
        for checkout in CHECKOUTS {
            for _ in 0..rng.below(6) {
                repository.change(checkout, rng, history);
            }
        }
        match rng.below(6) {
            0 => repository.git_recorded(history, ".", &["checkout", "-q", "--detach"]),
            1 => repository.git_recorded(history, ".", &["checkout", "-q", "-b", "mine"]),
            _ => {}
        }
        repository
    }

    /// Writes the planning files of two phases with one plan each.
    fn plan(&self) {
        let write = |path: &str, text: &str| self.sandbox.write(path, text);
        write(".planning/ROADMAP.md", ROADMAP);
        write(".planning/STATE.md", "# Project State\n\n## Current Position\n\nPhase: 1\n");
        write(".planning/REQUIREMENTS.md", "# Requirements\n");
        write(".planning/config.json", "{\"workflow\": {\"research\": false}}\n");
        write(".gitignore", "ignored/\n");
        for (number, name) in [("01", "one"), ("02", "two")] {
            let dir = format!(".planning/phases/{number}-{name}");
            write(&format!("{dir}/{number}-CONTEXT.md"), "No questions.\n");
            let task = format!(
                "---\nphase: {number}\nplan: 01\nwave: 1\ndepends_on: []\n---\n\n<task type=\"auto\">\n\
                 <name>Do</name>\n<action>\n```sh\necho {number} > done-{number}\n```\n</action>\n\
                 <done>Done</done>\n</task>\n"
            );
            write(&format!("{dir}/{number}-01-PLAN.md"), &task);
        }
    }

    fn add_worktrees(&self) {
        fs::write(self.path(".git/info/exclude"), "/.worktrees/\n").expect("it can be written");
        let mut worktrees = serde_json::Map::new();
        for (number, name) in [("01", "one"), ("02", "two")] {
            let (checkout, branch) = (format!(".worktrees/p{number}"), format!("phase-{number}"));
            self.git(".", &["worktree", "add", "-q", "-b", &branch, &checkout]);
            let dir = format!("{checkout}/.planning/phases/{number}-{name}");
            self.sandbox.write(&format!("{dir}/{number}-01-SUMMARY.md"), "# Done\n");
            self.git(&checkout, &["add", "--all"]);
            self.git(&checkout, &["commit", "-q", "-m", "Done by hand"]);
            let first = self.git(".", &["rev-parse", "main"]);
            worktrees.insert(
                format!("p{number}"),
                json!({
                    "path": checkout, "branch": branch, "phase": number, "created": "2026-01-01",
                    "status": "active", "last_commit": first.trim(), "stash_ref": null,
                    "merged": false, "merged_at": null,
                }),
            );
        }
        let manifest = json!({ "version": "1.0", "worktrees": worktrees });
        self.sandbox.write(".worktrees/manifest.json", format!("{manifest:#}\n"));
    }

    /// Makes a random change in one of the checkouts.
    pub(super) fn change_something(&self, rng: &mut SeededRng, history: &mut Vec<String>) {
        let checkout = CHECKOUTS[rng.below(3) as usize];
        if self.path(checkout).join(".git").exists() {
            self.change(checkout, rng, history);
        }
    }

    fn change(&self, checkout: &str, rng: &mut SeededRng, history: &mut Vec<String>) {
        let file = FILES[rng.below(FILES.len() as u64) as usize];
        let path = format!("{checkout}/{file}");
        match rng.below(17) {
            0..=3 => {
                self.write_new_text(&path, rng);
                self.git_recorded(history, checkout, &["add", "--all"]);
                self.git_recorded(
                    history,
                    checkout,
                    &["commit", "-q", "--allow-empty", "-m", "Work"],
                );
            }
            4 => {
                self.write_new_text(&path, rng);
                self.git_recorded(history, checkout, &["add", file]);
                if rng.below(2) == 0 {
                    self.write_new_text(&path, rng);
                }
            }
            5 => {
                self.write_new_text(&path, rng);
                // Git refuses this during a merge.
                let stash = "alias.try=!git stash push --quiet --include-untracked || true";
                self.git_recorded(history, checkout, &["-c", stash, "try"]);
            }
            6 | 7 => self.write_new_text(&path, rng),
            8 | 13 => self.write_new_text(&format!("{checkout}/{IGNORED}"), rng),
            9 => {
                fs::remove_file(self.path(&path)).ok();
                history.push(format!("{path} is removed"));
            }
            10 if checkout != "." => {
                self.write_new_text(&format!("{checkout}/.planning/NOTES.md"), rng);
                self.git_recorded(history, checkout, &["add", "--all"]);
                self.git_recorded(history, checkout, &["commit", "-q", "-m", "A note"]);
            }
            11 if checkout != "." => {
                // The merge may stop with conflicts.
                let merge = "alias.try=!git merge --quiet --no-commit main || true";
                self.git_recorded(history, checkout, &["-c", merge, "try"]);
            }
            14 => {
                // The file is tracked in this checkout and ignored in the others.
                self.write_new_text(&format!("{checkout}/{IGNORED}"), rng);
                self.git_recorded(history, checkout, &["add", "--force", IGNORED]);
                // Git refuses this during a merge.
                let commit = "alias.try=!git commit -q --allow-empty -m Force 2>/dev/null || true";
                self.git_recorded(history, checkout, &["-c", commit, "try"]);
            }
            15 if checkout != "." => {
                // These may stop with conflicts, too.
                let commands =
                    ["cherry-pick main", "cherry-pick phase-01", "revert --no-edit HEAD"];
                let command = commands[rng.below(3) as usize];
                let pick = format!("alias.try=!git {command} >/dev/null 2>&1 || true");
                self.git_recorded(history, checkout, &["-c", &pick, "try"]);
            }
            12 if checkout != "." => {
                // Git refuses this during a merge with conflicts.
                let detach = "alias.try=!git checkout -q --detach || true";
                self.git_recorded(history, checkout, &["-c", detach, "try"]);
            }
            _ => {
                let (from, to) =
                    (self.path(&path), self.path(&format!("{path}-{}", self.next_number())));
                fs::rename(from, to).ok();
                history.push(format!("{path} is renamed"));
            }
        }
        let status_line =
            format!("{path} in {}", self.git(checkout, &["status", "--short"]).replace('\n', ","));
        history.push(status_line);
    }

    /// Replaces, appends or changes one line of a file with a text that never existed before.
    fn write_new_text(&self, path: &str, rng: &mut SeededRng) {
        let old = fs::read_to_string(self.path(path)).unwrap_or_default();
        let mut lines: Vec<String> = old.lines().map(str::to_owned).collect();
        let fresh = format!("text {}", self.next_number());
        match rng.below(3) {
            0 if !lines.is_empty() => {
                let at = rng.below(lines.len() as u64) as usize;
                lines[at] = fresh;
            }
            1 => lines = vec![fresh],
            _ => lines.push(fresh),
        }
        let file = self.path(path);
        if file.is_dir() || file.ancestors().skip(1).any(std::path::Path::is_file) {
            return;
        }
        self.sandbox.write(path, lines.join("\n") + "\n");
    }

    fn next_number(&self) -> u32 {
        self.count.set(self.count.get() + 1);
        self.count.get()
    }

    pub(super) fn path(&self, path: &str) -> PathBuf {
        self.sandbox.root().join(path)
    }

    pub(super) fn git(&self, checkout: &str, arguments: &[&str]) -> String {
        self.sandbox.git(checkout, arguments)
    }

    fn git_recorded(&self, history: &mut Vec<String>, checkout: &str, arguments: &[&str]) {
        history.push(format!("{checkout}: git {}", arguments.join(" ")));
        self.git(checkout, arguments);
    }

    /// Checks with `git fsck` that the repository is sound.
    pub(super) fn check_integrity(&self) {
        let problems =
            self.git(".", &["fsck", "--connectivity-only", "--no-dangling", "--no-progress"]);
        assert_eq!(problems, "", "git fsck complains");
    }
}
