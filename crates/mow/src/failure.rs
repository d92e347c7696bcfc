//! The failure of a command: an exit code, a stable kind, a message and a hint.
//!
//! Only this module turns errors of the libraries into messages. A hint is a command to paste.

use std::error::Error;
use std::io::{ErrorKind, Write};

use mow_engine::EngineError;
use mow_host::git::GitError;
use mow_store::disk::DiskError;
use mow_store::frontmatter::EditError;
use mow_store::journal::JournalError;
use mow_store::json_edit::JsonError;
use mow_store::project::ProjectError;
use mow_store::state::active_phases::ActivePhaseError;
use mow_store::state::team::TeamError;
use mow_store::status::StatusError;

/// Exit codes, as the documentation lists them.
pub(crate) mod code {
    /// The command was refused or called wrongly.
    pub(crate) const REFUSED: u8 = 1;
    /// The disk or another program failed.
    pub(crate) const OUTSIDE: u8 = 3;
    /// Another writer holds the lock.
    pub(crate) const BUSY: u8 = 4;
    /// A bug in mow itself.
    pub(crate) const BUG: i32 = 70;
}

/// Why a command did not do what was asked.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) code: u8,
    /// A stable slug for scripts, printed with `--json`.
    pub(crate) kind: &'static str,
    pub(crate) message: String,
    /// What to do next; best a command to paste.
    pub(crate) hint: Option<String>,
}

impl Failure {
    /// Creates a refusal, exit code 1, with a message.
    pub(crate) fn refused(message: impl Into<String>) -> Self {
        Self { code: code::REFUSED, kind: "refused", message: message.into(), hint: None }
    }

    /// Sets the only failure exit code that contract commands have: 1.
    pub(crate) fn with_contract_code(self) -> Self {
        Self { code: code::REFUSED, ..self }
    }

    /// Sets the hint.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// Joins an error and its causes: `cannot read x: permission denied`.
pub(crate) fn error_chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}

impl From<DiskError> for Failure {
    fn from(error: DiskError) -> Self {
        let message = error_chain(&error);
        let (code, kind, hint) = match error {
            DiskError::Busy { .. } => {
                (code::BUSY, "busy", Some("wait for the other writer, then run the command again"))
            }
            DiskError::LocksUnsupported { .. } => {
                (code::OUTSIDE, "no_locks", Some("move the project to a local filesystem"))
            }
            DiskError::Outside { .. } => (code::REFUSED, "outside", None),
            DiskError::NotOneLine { .. } => (code::REFUSED, "not_one_line", None),
            DiskError::Io { ref source, .. } => (code::OUTSIDE, "disk", hint_for(source.kind())),
        };
        Self { code, kind, message, hint: hint.map(str::to_owned) }
    }
}

impl From<JournalError> for Failure {
    fn from(error: JournalError) -> Self {
        if let JournalError::Disk(error) = error {
            return error.into();
        }
        Self { code: code::OUTSIDE, kind: "journal", message: error_chain(&error), hint: None }
    }
}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Disk(error) => error.into(),
            EngineError::Journal(error) => error.into(),
            EngineError::Git(error) => error.into(),
            EngineError::Project(error) => error.into(),
            EngineError::LeadRunning { .. } => {
                let message = error.sentence();
                let hint = Some("`mow ps` shows its progress, `mow cancel` stops it".to_owned());
                Self { code: code::BUSY, kind: "led", message, hint }
            }
            EngineError::Refused { message, hint } => Self::refused(message).hint(hint),
            error => {
                let message = error.sentence();
                Self { code: code::OUTSIDE, kind: "engine", message, hint: None }
            }
        }
    }
}

/// Returns the hint for a disk error.
fn hint_for(kind: ErrorKind) -> Option<&'static str> {
    Some(match kind {
        ErrorKind::ReadOnlyFilesystem => {
            "the filesystem is read-only: only commands that do not write work here"
        }
        ErrorKind::PermissionDenied => {
            "mow has no write permission there: check the owner and the mode"
        }
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            "free some disk space; nothing was changed"
        }
        _ => return None,
    })
}

impl From<ProjectError> for Failure {
    fn from(error: ProjectError) -> Self {
        let hint = matches!(error, ProjectError::NotFound { .. }).then(
            || "run mow in a project with a .planning/ directory, or name one with --cwd DIR",
        );
        let message = error_chain(&error);
        Self { code: code::REFUSED, kind: "no_project", message, hint: hint.map(str::to_owned) }
    }
}

impl From<ActivePhaseError> for Failure {
    fn from(error: ActivePhaseError) -> Self {
        Self::refused(error.to_string())
    }
}

impl From<TeamError> for Failure {
    fn from(error: TeamError) -> Self {
        let hint = match error {
            TeamError::NoSection => "mow team-update --action start --team-name NAME",
            TeamError::Unknown(_) => "mow team-status lists the members",
        };
        Self::refused(error.to_string()).hint(hint)
    }
}

impl From<GitError> for Failure {
    fn from(error: GitError) -> Self {
        let hint = matches!(error, GitError::Start { .. }).then(|| "install git, then try again");
        let message = error_chain(&error);
        Self { code: code::REFUSED, kind: "git", message, hint: hint.map(str::to_owned) }
    }
}

impl From<JsonError> for Failure {
    fn from(error: JsonError) -> Self {
        Self::refused(error_chain(&error))
    }
}

impl From<StatusError> for Failure {
    fn from(error: StatusError) -> Self {
        Self::refused(error_chain(&error))
    }
}

impl From<EditError> for Failure {
    fn from(error: EditError) -> Self {
        Self::refused(error_chain(&error))
    }
}

/// Reports a panic as a bug: one message without a stack trace, and exit code 70.
pub(crate) fn install_panic_message() {
    std::panic::set_hook(Box::new(|panic| {
        let location =
            panic.location().map_or(String::new(), |at| format!(" ({}:{})", at.file(), at.line()));
        let message = panic.payload_as_str().unwrap_or("no message");
        // If standard error cannot be written, nothing else can be done.
        let _ = writeln!(
            std::io::stderr(),
            "Error: mow has a bug: {message}{location}\n\
             Hint: please report it with the command you ran"
        );
        std::process::exit(code::BUG);
    }));
}
