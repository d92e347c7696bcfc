//! `mow worktree …`: who works on which phase, and where.

mod claims;
mod create;
mod manifest;
mod merge;
mod merge_state;
mod place;
mod prune;
mod stash;

use std::path::PathBuf;

use clap::Subcommand;

use crate::context::Context;
use crate::failure::Failure;
use crate::output::Output;

pub(crate) use self::claims::{clean_silently, release};
pub(crate) use self::create::create;
pub(crate) use self::manifest::{legacy_notice, remove as remove_from_manifest};
pub(crate) use self::place::home;

/// Commands on worktrees.
#[derive(Debug, Subcommand)]
pub(crate) enum Worktree {
    /// Take a phase for this worktree, unless another one holds it
    Claim {
        /// The phase, such as 3 or 03
        phase: String,
    },
    /// Give this worktree's phase back
    Release {
        /// The phase, such as 3 or 03
        phase: String,
    },
    /// List which worktree works on which phase
    Status,
    /// Note the plan that this worktree is at
    UpdatePlan {
        /// The phase, such as 3 or 03
        phase: String,
        /// The plan, such as 03-01
        #[arg(allow_hyphen_values = true)]
        plan: String,
    },
    /// Release the phases of worktrees that are gone
    Clean,
    /// Record what a verification of a phase came to
    VerifyResult(claims::VerifyResult),
    /// Make the worktree of a phase, or go back to the one there is
    Create {
        /// The phase, such as 3 or 03
        phase: Option<String>,
        /// The worktree's name instead
        #[arg(long, allow_hyphen_values = true)]
        name: Option<String>,
    },
    /// Make a worktree of a name; `phase-3` makes that of a phase
    CreateNative {
        /// The worktree's name
        #[arg(long, allow_hyphen_values = true)]
        name: String,
    },
    /// Print the manifest of the worktrees
    ListManifest,
    /// Merge the branch of a phase
    Merge(merge::Merge),
    /// Take a phase out of the manifest; git is not touched
    RemoveManifest {
        /// The phase, such as 3 or 03
        phase: String,
    },
    /// Move the manifest from another home of worktrees to the one in force
    Migrate {
        /// The home to move to, such as .claude/worktrees
        #[arg(long, value_name = "ROOT", allow_hyphen_values = true)]
        to: Option<String>,
    },
    /// Delete what a migration kept of the old home
    CleanBackup,
    /// Put a phase's uncommitted work aside; `worktree create` brings it back
    Stash {
        /// The phase, such as 3 or 03
        phase: String,
    },
    /// Show the worktrees whose work is merged, and remove them with --yes
    Prune {
        /// Remove them
        #[arg(long)]
        yes: bool,
    },
    /// Join two versions of STATE.md: additions of both, the later position
    #[command(
        after_help = "Examples:\n  mow worktree merge-state --branch phase-03\n  mow worktree merge-state base.md ours.md theirs.md"
    )]
    MergeState {
        /// BASE OURS THEIRS; the result is written to OURS
        #[arg(num_args = 3, value_names = ["BASE", "OURS", "THEIRS"], conflicts_with = "branch")]
        files: Vec<PathBuf>,
        /// Take STATE.md of this branch into the one here
        #[arg(long, required_unless_present = "files")]
        branch: Option<String>,
    },
}

impl Worktree {
    /// Returns whether callers of older tools know the command.
    pub(super) fn is_of_contract(&self) -> bool {
        !matches!(self, Self::Prune { .. } | Self::MergeState { .. })
    }

    pub(super) fn run(&self, context: &Context) -> Result<Output, Failure> {
        match self {
            Self::Claim { phase } => claims::claim(context, phase),
            Self::Release { phase } => release(context, phase),
            Self::Status => claims::status(context),
            Self::UpdatePlan { phase, plan } => claims::update_plan(context, phase, plan),
            Self::Clean => claims::clean(context),
            Self::VerifyResult(args) => claims::verify_result(context, args),
            Self::Create { phase, name } => {
                let created = create(context, phase.as_deref(), name.as_deref())?;
                Ok(created.answer())
            }
            Self::CreateNative { name } => Ok(create(context, None, Some(name))?.answer()),
            Self::ListManifest => manifest::list(context),
            Self::Merge(args) => merge::run(context, args),
            Self::RemoveManifest { phase } => manifest::remove(context, phase),
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
