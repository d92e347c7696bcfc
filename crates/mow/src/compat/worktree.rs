//! `mow worktree …` claims phases and creates, merges and stashes their worktrees.
//!
//! All subcommands except `prune` and `merge-state` belong to the contract. Those two run from
//! [`crate::worktrees`], as does everything that hooks and `mow close-shop` also need.

mod claims;
mod manifest;
mod merge;
mod stash;

use std::path::PathBuf;

use clap::Subcommand;

use crate::context::Context;
use crate::failure::Failure;
use crate::output::Output;
use crate::worktrees::{create, merge_state, prune, release, remove_from_manifest};

pub(crate) use self::manifest::notice_legacy_home;

/// The subcommands of `mow worktree`.
#[derive(Debug, Subcommand)]
pub(crate) enum WorktreeCommand {
    /// Claim a phase for this worktree, unless another worktree holds it
    Claim {
        /// The phase, such as 3 or 03
        phase: String,
    },
    /// Release the claim of this worktree on a phase
    Release {
        /// The phase, such as 3 or 03
        phase: String,
    },
    /// List the claimed phases with their worktrees
    Status,
    /// Record the plan that this worktree works on
    UpdatePlan {
        /// The phase, such as 3 or 03
        phase: String,
        /// The plan, such as 03-01
        #[arg(allow_hyphen_values = true)]
        plan: String,
    },
    /// Release the claims of worktrees that no longer exist
    Clean,
    /// Record the result of a verification of a phase
    VerifyResult(claims::VerifyResultArgs),
    /// Create the worktree of a phase, or return to the existing one
    Create {
        /// The phase, such as 3 or 03
        phase: Option<String>,
        /// The name of the worktree, instead of a phase
        #[arg(long, allow_hyphen_values = true)]
        name: Option<String>,
    },
    /// Create a worktree with a name; a name such as `phase-3` creates the worktree of that phase
    CreateNative {
        /// The name of the worktree
        #[arg(long, allow_hyphen_values = true)]
        name: String,
    },
    /// Print the manifest of the worktrees
    ListManifest,
    /// Merge the branch of a phase into the target branch
    Merge(merge::WorktreeMergeArgs),
    /// Remove a phase from the manifest without touching git
    RemoveManifest {
        /// The phase, such as 3 or 03
        phase: String,
    },
    /// Move the manifest entries from an older worktree directory to the configured one
    Migrate {
        /// The worktree directory to move to, such as .claude/worktrees
        #[arg(long, value_name = "ROOT", allow_hyphen_values = true)]
        to: Option<String>,
    },
    /// Delete the backup that a migration made of the old worktree directory
    CleanBackup,
    /// Stash the uncommitted work of a phase; `mow worktree create` restores it
    Stash {
        /// The phase, such as 3 or 03
        phase: String,
    },
    /// List the worktrees whose work is merged, and remove them with --yes
    Prune {
        /// Remove the listed worktrees
        #[arg(long)]
        yes: bool,
    },
    /// Merge two versions of STATE.md: keep the additions of both and the later position
    #[command(
        after_help = "Examples:\n  mow worktree merge-state --branch phase-03\n  mow worktree merge-state base.md ours.md theirs.md"
    )]
    MergeState {
        /// BASE OURS THEIRS; the result is written to OURS
        #[arg(num_args = 3, value_names = ["BASE", "OURS", "THEIRS"], conflicts_with = "branch")]
        files: Vec<PathBuf>,
        /// Merge the STATE.md of this branch into the one in this directory
        #[arg(long, required_unless_present = "files")]
        branch: Option<String>,
    },
}

impl WorktreeCommand {
    /// Returns whether the contract contains the command.
    pub(crate) fn is_contract_command(&self) -> bool {
        !matches!(self, Self::Prune { .. } | Self::MergeState { .. })
    }

    pub(crate) fn run(&self, context: &Context) -> Result<Output, Failure> {
        match self {
            Self::Claim { phase } => claims::claim(context, phase),
            Self::Release { phase } => release(context, phase),
            Self::Status => claims::status(context),
            Self::UpdatePlan { phase, plan } => claims::update_plan(context, phase, plan),
            Self::Clean => claims::clean(context),
            Self::VerifyResult(args) => claims::verify_result(context, args),
            Self::Create { phase, name } => {
                let created = create(context, phase.as_deref(), name.as_deref())?;
                Ok(created.output())
            }
            Self::CreateNative { name } => Ok(create(context, None, Some(name))?.output()),
            Self::ListManifest => manifest::list(context),
            Self::Merge(args) => merge::run(context, args),
            Self::RemoveManifest { phase } => remove_from_manifest(context, phase),
            Self::Migrate { to } => manifest::migrate(context, to.as_deref()),
            Self::CleanBackup => manifest::clean_backup(context),
            Self::Stash { phase } => stash::push(context, phase),
            Self::Prune { yes } => prune::run(context, *yes),
            Self::MergeState { files, branch } => {
                merge_state::run(context, files, branch.as_deref())
            }
        }
    }
}
