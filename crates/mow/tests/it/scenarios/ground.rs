//! A repository in a random state: commits, staged, stashed, dirty, new and ignored files, in the
//! main root and in the worktrees of two phases.
#![expect(clippy::disallowed_methods, reason = "the tests play the user who changes files")]

use std::cell::Cell;
use std::fs;
use std::path::PathBuf;

use mow_testkit::dice::Dice;
use mow_testkit::sandbox::Sandbox;
use serde_json::json;

/// The places where people and agents work, below the root.
pub(super) const PLACES: [&str; 3] = [".", ".worktrees/p01", ".worktrees/p02"];
const FILES: [&str; 5] = ["a", "b", "dir/c", "dir/d", "new file"];
/// A file that git ignores, unless somebody adds it nevertheless.
const IGNORED: &str = "ignored/e";
const ROADMAP: &str = "# Roadmap: Ground\n\n## Phases\n\n- [ ] **Phase 1: One** - one\n\
     - [ ] **Phase 2: Two** - two\n\n## Phase Details\n\n### Phase 1: One\n\n**Goal**: One\n\
     **Depends on**: Nothing\n\n### Phase 2: Two\n\n**Goal**: Two\n**Depends on**: Nothing\n";

/// Settings that some users have.
const USERS: [(&str, &[&str]); 2] = [
    ("branch.main.mergeOptions", &["--squash", "-s ours", "--no-ff"]),
    ("status.showUntrackedFiles", &["no"]),
];

/// The repository.
pub(super) struct Ground {
    pub(super) sandbox: Sandbox,
    /// Counts what was written, so that no two texts are the same.
    count: Cell<u32>,
}

impl Ground {
    /// Makes a repository.
    pub(super) fn make(dice: &mut Dice, story: &mut Vec<String>) -> Self {
        let sandbox = Sandbox::in_memory(env!("CARGO_BIN_EXE_mow"));
        let ground = Self { sandbox, count: Cell::new(0) };
        ground.git(".", &["init", "-q", "-b", "main"]);
        for (key, value) in [("user.name", "Test"), ("user.email", "t@t"), ("gc.auto", "0")] {
            ground.git(".", &["config", key, value]);
        }
        for (key, values) in USERS {
            if let Some(value) = values.get(dice.below(8) as usize) {
                ground.tell(story, ".", &["config", key, value]);
            }
        }
        ground.plan();
        for file in ["a", "b", "dir/c"] {
            ground.sandbox.write(file, "1\n2\n3\n4\n5\n6\n7\n8\n");
        }
        ground.git(".", &["add", "--all"]);
        ground.git(".", &["commit", "-q", "-m", "Begin"]);
        ground.plant_worktrees();
        for place in PLACES {
            for _ in 0..dice.below(6) {
                ground.change(place, dice, story);
            }
        }
        match dice.below(6) {
            0 => ground.tell(story, ".", &["checkout", "-q", "--detach"]),
            1 => ground.tell(story, ".", &["checkout", "-q", "-b", "mine"]),
            _ => {}
        }
        ground
    }

    /// Writes the planning files: two phases of one plan each, which both are done by hand.
    fn plan(&self) {
        let write = |path: &str, text: &str| self.sandbox.write(path, text);
        write(".planning/ROADMAP.md", ROADMAP);
        write(".planning/STATE.md", "# Project State\n\n## Current Position\n\nPhase: 1\n");
        write(".planning/REQUIREMENTS.md", "# Requirements\n");
        write(".planning/config.json", "{\"workflow\": {\"research\": false}}\n");
        write(".gitignore", "ignored/\n");
        for (number, name) in [("01", "one"), ("02", "two")] {
            let dir = format!(".planning/phases/{number}-{name}");
            write(&format!("{dir}/{number}-CONTEXT.md"), "All is said.\n");
            let task = format!(
                "---\nphase: {number}\nplan: 01\nwave: 1\ndepends_on: []\n---\n\n<task type=\"auto\">\n\
                 <name>Do</name>\n<action>\n```sh\necho {number} > done-{number}\n```\n</action>\n\
                 <done>Done</done>\n</task>\n"
            );
            write(&format!("{dir}/{number}-01-PLAN.md"), &task);
        }
    }

    fn plant_worktrees(&self) {
        fs::write(self.path(".git/info/exclude"), "/.worktrees/\n").expect("it can be written");
        let mut worktrees = serde_json::Map::new();
        for (number, name) in [("01", "one"), ("02", "two")] {
            let (place, branch) = (format!(".worktrees/p{number}"), format!("phase-{number}"));
            self.git(".", &["worktree", "add", "-q", "-b", &branch, &place]);
            let dir = format!("{place}/.planning/phases/{number}-{name}");
            self.sandbox.write(&format!("{dir}/{number}-01-SUMMARY.md"), "# Done\n");
            self.git(&place, &["add", "--all"]);
            self.git(&place, &["commit", "-q", "-m", "Done by hand"]);
            let first = self.git(".", &["rev-parse", "main"]);
            worktrees.insert(
                format!("p{number}"),
                json!({
                    "path": place, "branch": branch, "phase": number, "created": "2026-01-01",
                    "status": "active", "last_commit": first.trim(), "stash_ref": null,
                    "merged": false, "merged_at": null,
                }),
            );
        }
        let manifest = json!({ "version": "1.0", "worktrees": worktrees });
        self.sandbox.write(".worktrees/manifest.json", format!("{manifest:#}\n"));
    }

    /// Changes something in one of the places.
    pub(super) fn stir(&self, dice: &mut Dice, story: &mut Vec<String>) {
        let place = PLACES[dice.below(3) as usize];
        if self.path(place).join(".git").exists() {
            self.change(place, dice, story);
        }
    }

    fn change(&self, place: &str, dice: &mut Dice, story: &mut Vec<String>) {
        let file = FILES[dice.below(FILES.len() as u64) as usize];
        let path = format!("{place}/{file}");
        match dice.below(17) {
            0..=3 => {
                self.scribble(&path, dice);
                self.tell(story, place, &["add", "--all"]);
                self.tell(story, place, &["commit", "-q", "--allow-empty", "-m", "Work"]);
            }
            4 => {
                self.scribble(&path, dice);
                self.tell(story, place, &["add", file]);
                if dice.below(2) == 0 {
                    self.scribble(&path, dice);
                }
            }
            5 => {
                self.scribble(&path, dice);
                // Git refuses that in the middle of a merge.
                let stash = "alias.try=!git stash push --quiet --include-untracked || true";
                self.tell(story, place, &["-c", stash, "try"]);
            }
            6 | 7 => self.scribble(&path, dice),
            8 | 13 => self.scribble(&format!("{place}/{IGNORED}"), dice),
            9 => {
                fs::remove_file(self.path(&path)).ok();
                story.push(format!("{path} is removed"));
            }
            10 if place != "." => {
                self.scribble(&format!("{place}/.planning/NOTES.md"), dice);
                self.tell(story, place, &["add", "--all"]);
                self.tell(story, place, &["commit", "-q", "-m", "A note"]);
            }
            11 if place != "." => {
                // A merge by hand, which may stop in the middle.
                let merge = "alias.try=!git merge --quiet --no-commit main || true";
                self.tell(story, place, &["-c", merge, "try"]);
            }
            14 => {
                // Ignored elsewhere, and a file like any other here.
                self.scribble(&format!("{place}/{IGNORED}"), dice);
                self.tell(story, place, &["add", "--force", IGNORED]);
                // Git refuses that in the middle of a merge.
                let commit = "alias.try=!git commit -q --allow-empty -m Force 2>/dev/null || true";
                self.tell(story, place, &["-c", commit, "try"]);
            }
            15 if place != "." => {
                // May stop in the middle, too.
                let words = ["cherry-pick main", "cherry-pick phase-01", "revert --no-edit HEAD"];
                let words = words[dice.below(3) as usize];
                let pick = format!("alias.try=!git {words} >/dev/null 2>&1 || true");
                self.tell(story, place, &["-c", &pick, "try"]);
            }
            12 if place != "." => {
                // Not in the middle of a merge with conflicts.
                let detach = "alias.try=!git checkout -q --detach || true";
                self.tell(story, place, &["-c", detach, "try"]);
            }
            _ => {
                let (from, to) = (self.path(&path), self.path(&format!("{path}-{}", self.next())));
                fs::rename(from, to).ok();
                story.push(format!("{path} is renamed"));
            }
        }
        let last =
            format!("{path} in {}", self.git(place, &["status", "--short"]).replace('\n', ","));
        story.push(last);
    }

    /// Writes a text that was never there before, or changes one line.
    fn scribble(&self, path: &str, dice: &mut Dice) {
        let old = fs::read_to_string(self.path(path)).unwrap_or_default();
        let mut lines: Vec<String> = old.lines().map(str::to_owned).collect();
        let fresh = format!("text {}", self.next());
        match dice.below(3) {
            0 if !lines.is_empty() => {
                let at = dice.below(lines.len() as u64) as usize;
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

    fn next(&self) -> u32 {
        self.count.set(self.count.get() + 1);
        self.count.get()
    }

    pub(super) fn path(&self, path: &str) -> PathBuf {
        self.sandbox.root().join(path)
    }

    pub(super) fn git(&self, place: &str, arguments: &[&str]) -> String {
        self.sandbox.git(place, arguments)
    }

    fn tell(&self, story: &mut Vec<String>, place: &str, arguments: &[&str]) {
        story.push(format!("{place}: git {}", arguments.join(" ")));
        self.git(place, arguments);
    }

    /// Checks that the repository itself is sound.
    pub(super) fn check_whole(&self) {
        let said =
            self.git(".", &["fsck", "--connectivity-only", "--no-dangling", "--no-progress"]);
        assert_eq!(said, "", "git fsck complains");
    }
}
