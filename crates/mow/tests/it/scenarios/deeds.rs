//! What is done to a repository, and how whoever does it dies.
#![expect(clippy::disallowed_methods, reason = "the deeds are processes of their own")]

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::sync::OnceLock;

use mow_host::follow::follow;
use mow_host::git::Git;
use mow_host::merge::{Merge, merge};
use mow_host::phase_worktree::{Prepare, Remove, prepare, remove};
use mow_host::rescue;
use mow_testkit::dice::Dice;
use mow_testkit::sandbox::make_executable;

use super::ground::Ground;

const RUN_REF: &str = "refs/mow/run/r/target";

/// Points at which the deeds pass.
const POINTS: [&str; 24] = [
    "merge.tree.made",
    "merge.commit.made",
    "merge.ref.moved",
    "merge.papers.brought",
    "merge.noted",
    "merge.ended",
    "follow.begun",
    "follow.staged",
    "follow.swapped",
    "follow.forwarded",
    "follow.taken_in",
    "follow.ended",
    "prune.removed",
    "prune.noted",
    "rescue.commit.made",
    "rescue.ref.made",
    "rescue.cleaned",
    "rescue.reset",
    "stash.pushed",
    "stash.applied",
    "stash.dropped",
    "stash.noted",
    "worktree.mend.before",
    "task.rescued",
];

/// Something that is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Deed {
    /// A command of mow.
    Mow(Vec<String>),
    /// What the engine does by itself, in words for [`carry_out`].
    Engine(String),
    /// The newest rescue is restored.
    Restore,
    /// The phases are run, and whoever died is taken up again.
    Run,
}

/// How a deed is cut short.
enum Death {
    None,
    /// At a named point.
    At(&'static str),
    /// Before or after the n-th call of git.
    AtGit(u64, &'static str),
}

impl Deed {
    pub(super) fn choose(dice: &mut Dice) -> Self {
        let mow = |words: &str| Self::Mow(words.split(' ').map(str::to_owned).collect());
        let phase = 1 + dice.below(2);
        match dice.below(30) {
            0..=5 => mow("merge --into main"),
            6 | 7 => mow(&format!("merge {phase} --into main")),
            8..=10 => mow("worktree prune --yes"),
            11 => mow(&format!("worktree stash {phase}")),
            12 => mow(&format!("worktree create {phase}")),
            13 | 14 => Self::Restore,
            15..=17 => Self::Engine(format!("merge {phase}")),
            18..=20 => Self::Engine("follow".to_owned()),
            21 | 22 => Self::Engine(format!("reset {phase} HEAD~{}", dice.below(2))),
            23 | 24 => Self::Engine(format!("prepare {phase}")),
            25 | 26 => Self::Engine(format!("remove {phase} {}", dice.below(2))),
            27 => mow("close-shop --yes --force"),
            28 => mow("worktree merge 1 --into main --abort-on-conflict"),
            _ => Self::Run,
        }
    }

    /// Whether it is meant to change the main root.
    pub(super) fn may_change_checkout(&self) -> bool {
        match self {
            Self::Restore | Self::Run => true,
            Self::Mow(words) => words[0] == "close-shop",
            Self::Engine(_) => false,
        }
    }

    /// Whether it is meant to move the branch of a phase back.
    pub(super) fn may_move_back(&self) -> bool {
        matches!(self, Self::Engine(words) if words.starts_with("reset"))
    }

    /// Whether ignored files may go with the worktree that they are in.
    pub(super) fn may_remove_ignored(&self) -> bool {
        match self {
            Self::Mow(words) => words[1] == "prune",
            Self::Engine(words) => words.starts_with("remove"),
            Self::Restore | Self::Run => false,
        }
    }

    /// Does it, and perhaps dies over it; returns whether it was killed.
    pub(super) fn attempt(
        &self,
        ground: &Ground,
        dice: &mut Dice,
        story: &mut Vec<String>,
    ) -> bool {
        let death = match dice.below(3) {
            0 => Death::None,
            1 => self.point(dice).map_or(Death::None, Death::At),
            _ => Death::AtGit(1 + dice.below(25), ["before", "after"][dice.below(2) as usize]),
        };
        let status = self.run(ground, &death, story);
        assert_ne!(status.code(), Some(70), "{self:?} found a mistake in mow itself");
        status.signal().is_some()
    }

    /// Returns a point that it may pass.
    fn point(&self, dice: &mut Dice) -> Option<&'static str> {
        let families: &[&str] = match self {
            Self::Mow(words) => match (words[0].as_str(), words[1].as_str()) {
                ("merge", _) | (_, "merge") => &["merge.", "follow."],
                (_, "prune") => &["prune."],
                (_, "stash" | "create") => &["stash."],
                _ => &[],
            },
            Self::Engine(words) => match words.split(' ').next() {
                Some("merge") => &["merge."],
                Some("follow") => &["follow."],
                Some("reset") => &["rescue."],
                Some("prepare") => &["worktree.", "rescue."],
                _ => &[],
            },
            Self::Restore => &[],
            Self::Run => &[""],
        };
        let is_near = |point: &&&str| families.iter().any(|family| point.starts_with(family));
        let near: Vec<_> = POINTS.iter().filter(is_near).collect();
        (!near.is_empty()).then(|| *near[dice.below(near.len() as u64) as usize])
    }

    /// Does it once more, undisturbed.
    pub(super) fn repeat(&self, ground: &Ground, story: &mut Vec<String>) {
        let status = self.run(ground, &Death::None, story);
        assert!(status.code().is_some_and(|code| code != 70), "{self:?} ended with {status}");
    }

    fn run(&self, ground: &Ground, death: &Death, story: &mut Vec<String>) -> ExitStatus {
        let root = ground.sandbox.root();
        let mut command = match self {
            Self::Mow(words) => program(words),
            Self::Restore => {
                let format = "--format=%(refname:lstrip=3)";
                let names = ground.git(".", &["for-each-ref", format, "refs/mow/rescue"]);
                let name = names.lines().last().unwrap_or("none").to_owned();
                program(&["rescue".to_owned(), "restore".to_owned(), name])
            }
            Self::Run => {
                program(&["run", "--all", "--yes", "--plain", "--into", "main"].map(str::to_owned))
            }
            Self::Engine(words) => {
                let this = std::env::current_exe().expect("a test has a program");
                let mut command = Command::new(this);
                command.args(["--exact", "scenarios::a_deed_in_a_process_of_its_own"]);
                command.env("MOW_DEED", words);
                command
            }
        };
        for variable in ["MOW_MERGE_SEED", "MOW_MERGE_SCENARIOS"] {
            command.env_remove(variable);
        }
        command.current_dir(root).env("HOME", root.with_file_name("home"));
        let said = match death {
            Death::None => "undisturbed".to_owned(),
            Death::At(point) => {
                command.env("MOW_FAILPOINT", point);
                command.env(
                    "MOW_FAILPOINT_MARK",
                    root.with_file_name(format!("mark-{}", story.len())),
                );
                format!("dies at {point}")
            }
            Death::AtGit(count, when) => {
                watch_git(&mut command, root, *count, when);
                format!("dies {when} git call {count}")
            }
        };
        let output = command.output().expect("it can be started");
        let text = [&output.stdout[..], &output.stderr[..]].concat();
        let text = String::from_utf8_lossy(&text).replace('\n', " | ");
        story.push(format!("{self:?} {said}: {}: {text}", output.status));
        output.status
    }
}

fn program(words: &[String]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mow"));
    command.args(words);
    command
}

/// Puts a git before the real one that counts its calls, and kills who calls it.
fn watch_git(command: &mut Command, root: &Path, count: u64, when: &str) {
    static WATCH: OnceLock<PathBuf> = OnceLock::new();
    let dir = WATCH.get_or_init(|| {
        let real = ["/usr/local/bin/git", "/usr/bin/git", "/bin/git"];
        let real = real.into_iter().find(|path| Path::new(path).exists()).expect("git is there");
        let dir = std::env::temp_dir().join(format!("mow-watch-{}", std::process::id()));
        fs::create_dir_all(&dir).expect("directories can be made");
        let script = format!(
            "#!/bin/sh\nread n 2>/dev/null < \"$MOW_GIT_COUNT\" || n=0\nn=$((n + 1))\n\
             echo $n > \"$MOW_GIT_COUNT\"\n\
             if [ $n = \"$MOW_GIT_KILL\" ]; then\n\
             [ $MOW_GIT_WHEN = before ] || {real} \"$@\"\nkill -KILL $PPID\nexit 1\nfi\n\
             exec {real} \"$@\"\n"
        );
        fs::write(dir.join("git"), script).expect("files can be written");
        make_executable(&dir.join("git"));
        dir
    });
    let counter = root.with_file_name("git-calls");
    fs::remove_file(&counter).ok();
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{}:{path}", dir.display()));
    command.env("MOW_GIT_COUNT", counter);
    command.env("MOW_GIT_KILL", count.to_string()).env("MOW_GIT_WHEN", when);
}

/// Does what the engine does by itself, in the current directory. A refusal is as good as a deed.
pub(super) fn carry_out(words: &str) {
    let root = std::env::current_dir().expect("there is one");
    let words: Vec<_> = words.split(' ').collect();
    let git = Git::new(&root);
    let place = |phase: &str| root.join(format!(".worktrees/p0{phase}"));
    match words[..] {
        ["merge", phase] => {
            git.ask(&["update-ref", RUN_REF, "main", ""]).ok();
            let job = Merge {
                run_ref: RUN_REF.to_owned(),
                branch_commit: format!("phase-0{phase}"),
                message: format!("Merge phase {phase}\n\nMow-Phase: {phase}\n"),
                keep_from_ours: vec![".planning".to_owned()],
                own: Some(format!(
                    ".planning/phases/0{phase}-{}",
                    ["one", "two"][usize::from(phase == "2")]
                )),
                overlay: Vec::new(),
                join: None,
            };
            merge(&git, &job).ok();
        }
        ["follow"] => {
            follow(&root, "main", RUN_REF, &["a".to_owned()]).ok();
        }
        ["reset", phase, commit] => {
            let worktree = Git::at_top(&place(phase));
            rescue::reset_to(&worktree, &format!("phase-0{phase}"), commit).ok();
        }
        ["prepare", phase] => {
            let (path, branch) = (place(phase), format!("phase-0{phase}"));
            prepare(&root, &Prepare { path, branch, base: "main".to_owned() }).ok();
        }
        ["remove", phase, delete] => {
            let (path, branch) = (place(phase), format!("phase-0{phase}"));
            remove(&root, &Remove { path, branch, delete_branch: delete == "1" }).ok();
        }
        _ => panic!("no such deed: {words:?}"),
    }
}
