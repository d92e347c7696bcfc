//! Defines the random actions on a repository, and how their process is killed.
#![expect(clippy::disallowed_methods, reason = "actions run in their own processes")]

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::sync::OnceLock;

use mow_host::fast_forward::fast_forward_branch;
use mow_host::git::Git;
use mow_host::merge::{MergeJob, merge};
use mow_host::phase_worktree::{WorktreeRemoval, WorktreeSpec, prepare, remove};
use mow_host::rescue;
use mow_testkit::sandbox::make_executable;
use mow_testkit::seeded_rng::SeededRng;

use super::random_repository::RandomRepository;

const RUN_REF: &str = "refs/mow/run/r/target";

/// Failpoints that the actions may pass.
const FAILPOINTS: [&str; 24] = [
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

/// A random action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Action {
    /// A mow command with these arguments.
    Mow(Vec<String>),
    /// An engine function, as text for [`run_engine_action`].
    Engine(String),
    /// Restores the newest rescue.
    Restore,
    /// Runs the phases, or resumes an unfinished run.
    Run,
}

/// How the process of an action is killed.
enum KillPlan {
    None,
    /// At a failpoint.
    At(&'static str),
    /// Before or after the n-th git call.
    AtGit(u64, &'static str),
}

impl Action {
    pub(super) fn choose(rng: &mut SeededRng) -> Self {
        let mow = |arguments: &str| Self::Mow(arguments.split(' ').map(str::to_owned).collect());
        let phase = 1 + rng.below(2);
        match rng.below(30) {
            0..=5 => mow("merge --into main"),
            6 | 7 => mow(&format!("merge {phase} --into main")),
            8..=10 => mow("worktree prune --yes"),
            11 => mow(&format!("worktree stash {phase}")),
            12 => mow(&format!("worktree create {phase}")),
            13 | 14 => Self::Restore,
            15..=17 => Self::Engine(format!("merge {phase}")),
            18..=20 => Self::Engine("follow".to_owned()),
            21 | 22 => Self::Engine(format!("reset {phase} HEAD~{}", rng.below(2))),
            23 | 24 => Self::Engine(format!("prepare {phase}")),
            25 | 26 => Self::Engine(format!("remove {phase} {}", rng.below(2))),
            27 => mow("close-shop --yes --force"),
            28 => mow("worktree merge 1 --into main --abort-on-conflict"),
            _ => Self::Run,
        }
    }

    /// Returns whether the action is meant to change the main checkout.
    pub(super) fn may_change_checkout(&self) -> bool {
        match self {
            Self::Restore | Self::Run => true,
            Self::Mow(arguments) => arguments[0] == "close-shop",
            Self::Engine(_) => false,
        }
    }

    /// Returns whether the action is meant to move the branch of a phase back.
    pub(super) fn may_move_back(&self) -> bool {
        matches!(self, Self::Engine(arguments) if arguments.starts_with("reset"))
    }

    /// Returns whether the action may remove ignored files together with their worktree.
    pub(super) fn may_remove_ignored(&self) -> bool {
        match self {
            Self::Mow(arguments) => arguments[1] == "prune",
            Self::Engine(arguments) => arguments.starts_with("remove"),
            Self::Restore | Self::Run => false,
        }
    }

    /// Runs the action with a random kill. Returns whether it was killed.
    pub(super) fn run_with_random_kill(
        &self,
        repository: &RandomRepository,
        rng: &mut SeededRng,
        history: &mut Vec<String>,
    ) -> bool {
        let kill_plan = match rng.below(3) {
            0 => KillPlan::None,
            1 => self.random_failpoint(rng).map_or(KillPlan::None, KillPlan::At),
            _ => KillPlan::AtGit(1 + rng.below(25), ["before", "after"][rng.below(2) as usize]),
        };
        let status = self.run(repository, &kill_plan, history);
        assert_ne!(status.code(), Some(70), "{self:?} found a bug in mow");
        status.signal().is_some()
    }

    /// Returns a random failpoint that the action may pass.
    fn random_failpoint(&self, rng: &mut SeededRng) -> Option<&'static str> {
        let families: &[&str] = match self {
            Self::Mow(arguments) => match (arguments[0].as_str(), arguments[1].as_str()) {
                ("merge", _) | (_, "merge") => &["merge.", "follow."],
                (_, "prune") => &["prune."],
                (_, "stash" | "create") => &["stash."],
                _ => &[],
            },
            Self::Engine(arguments) => match arguments.split(' ').next() {
                Some("merge") => &["merge."],
                Some("follow") => &["follow."],
                Some("reset") => &["rescue."],
                Some("prepare") => &["worktree.", "rescue."],
                _ => &[],
            },
            Self::Restore => &[],
            Self::Run => &[""],
        };
        let is_passed = |point: &&&str| families.iter().any(|family| point.starts_with(family));
        let candidates: Vec<_> = FAILPOINTS.iter().filter(is_passed).collect();
        (!candidates.is_empty()).then(|| *candidates[rng.below(candidates.len() as u64) as usize])
    }

    /// Runs the action again, without a kill.
    pub(super) fn repeat(&self, repository: &RandomRepository, history: &mut Vec<String>) {
        let status = self.run(repository, &KillPlan::None, history);
        assert!(status.code().is_some_and(|code| code != 70), "{self:?} ended with {status}");
    }

    fn run(
        &self,
        repository: &RandomRepository,
        kill_plan: &KillPlan,
        history: &mut Vec<String>,
    ) -> ExitStatus {
        let root = repository.sandbox.root();
        let mut command = match self {
            Self::Mow(arguments) => mow_command(arguments),
            Self::Restore => {
                let format = "--format=%(refname:lstrip=3)";
                let names = repository.git(".", &["for-each-ref", format, "refs/mow/rescue"]);
                let name = names.lines().last().unwrap_or("none").to_owned();
                mow_command(&["rescue".to_owned(), "restore".to_owned(), name])
            }
            Self::Run => mow_command(
                &["run", "--all", "--yes", "--plain", "--into", "main"].map(str::to_owned),
            ),
            Self::Engine(arguments) => {
                let this = std::env::current_exe().expect("a test has a program");
                let mut command = Command::new(this);
                command.args(["--exact", "scenarios::an_engine_action_in_its_own_process"]);
                command.env("MOW_DEED", arguments);
                command
            }
        };
        for variable in ["MOW_MERGE_SEED", "MOW_MERGE_SCENARIOS"] {
            command.env_remove(variable);
        }
        command.current_dir(root).env("HOME", root.with_file_name("home"));
        let kill_text = match kill_plan {
            KillPlan::None => "undisturbed".to_owned(),
            KillPlan::At(point) => {
                command.env("MOW_FAILPOINT", point);
                command.env(
                    "MOW_FAILPOINT_MARK",
                    root.with_file_name(format!("mark-{}", history.len())),
                );
                format!("dies at {point}")
            }
            KillPlan::AtGit(count, when) => {
                kill_at_git_call(&mut command, root, *count, when);
                format!("dies {when} git call {count}")
            }
        };
        let output = command.output().expect("it can be started");
        let text = [&output.stdout[..], &output.stderr[..]].concat();
        let text = String::from_utf8_lossy(&text).replace('\n', " | ");
        history.push(format!("{self:?} {kill_text}: {}: {text}", output.status));
        output.status
    }
}

fn mow_command(arguments: &[String]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mow"));
    command.args(arguments);
    command
}

/// Puts a wrapper script before git in PATH that counts calls and kills its caller at the n-th.
fn kill_at_git_call(command: &mut Command, root: &Path, count: u64, when: &str) {
    static GIT_WRAPPER_DIR: OnceLock<PathBuf> = OnceLock::new();
    let dir = GIT_WRAPPER_DIR.get_or_init(|| {
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

/// Runs an engine function in the current directory. Errors are ignored: a refusal is fine, too.
pub(super) fn run_engine_action(arguments: &str) {
    let root = std::env::current_dir().expect("there is one");
    let arguments: Vec<_> = arguments.split(' ').collect();
    let git = Git::new(&root);
    let worktree_path = |phase: &str| root.join(format!(".worktrees/p0{phase}"));
    match arguments[..] {
        ["merge", phase] => {
            git.ask(&["update-ref", RUN_REF, "main", ""]).ok();
            let job = MergeJob {
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
            fast_forward_branch(&root, "main", RUN_REF, &["a".to_owned()]).ok();
        }
        ["reset", phase, commit] => {
            let worktree = Git::at_top(&worktree_path(phase));
            rescue::reset_to(&worktree, &format!("phase-0{phase}"), commit).ok();
        }
        ["prepare", phase] => {
            let (path, branch) = (worktree_path(phase), format!("phase-0{phase}"));
            prepare(
                &root,
                &WorktreeSpec { path, branch, base: "main".to_owned(), live_file: None },
            )
            .ok();
        }
        ["remove", phase, delete] => {
            let (path, branch) = (worktree_path(phase), format!("phase-0{phase}"));
            remove(&root, &WorktreeRemoval { path, branch, delete_branch: delete == "1" }).ok();
        }
        _ => panic!("no such action: {arguments:?}"),
    }
}
