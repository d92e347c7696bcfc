//! Runs a role of the phase: the agent or command configured for it, or mow's own verifier.
//!
//! The repository and protected documents are compared before and after. What a role leaves behind
//! counts only if the role broke no rule.

use std::time::SystemTime;

use mow_core::worker::{Outcome, Role, Verdict};
use mow_host::shell::ShellExit;

use super::agent_roles::AgentRoles;
use super::document_guard::DocumentGuard;
use super::evidence::EvidenceChecker;
use super::phase_commits::{CommitContents, PhaseCommits};
use super::phase_survey::PhaseSurvey;
use super::phase_verifier::PhaseVerifier;
use super::phase_workspace::PhaseWorkspace;
use super::repository_guard::RepositoryGuard;
use super::role_documents::RoleDocuments;
use super::script::{self, ShellScript, describe_failure};
use crate::EngineError;

/// The result of an agent or command in a role.
pub(super) enum RoleResult {
    /// The role is complete. Its documents are checked and committed.
    Completed,
    /// The role failed, for this reason.
    Failed(String),
    /// The role gave a verdict.
    Verdict(Verdict),
    /// The role ended with this outcome. There are no documents to check.
    Ended(Outcome),
}

/// Runs the roles of a phase.
#[derive(Clone, Copy)]
pub(super) struct RoleRunner<'a> {
    workspace: &'a PhaseWorkspace,
    verifier: PhaseVerifier<'a>,
}

impl<'a> RoleRunner<'a> {
    pub(super) fn new(workspace: &'a PhaseWorkspace) -> Self {
        Self { workspace, verifier: PhaseVerifier::new(workspace) }
    }

    /// Runs a role and marks its documents as incomplete while it runs.
    pub(super) fn run(&self, role: Role, round: u32) -> Result<Outcome, EngineError> {
        let workspace = self.workspace;
        if role == Role::Verifier
            && workspace.sealed_commits()?.closing.contains(&workspace.head()?)
        {
            // An earlier attempt closed the phase and died before it could report that.
            return Ok(Outcome::Verdict { verdict: Verdict::Passed });
        }
        let role_documents = RoleDocuments::new(workspace);
        role_documents.begin(role)?;
        let outcome = self.run_configured(role, round)?;
        role_documents.end(role, &outcome)?;
        Ok(outcome)
    }

    /// Runs the agent, the command or the built-in verifier that the settings name for a role.
    fn run_configured(&self, role: Role, round: u32) -> Result<Outcome, EngineError> {
        let agent = self.workspace.agent_for(role)?;
        match (self.workspace.role_command(role), role) {
            _ if let Some(agent) = agent => {
                let agent_roles = AgentRoles::new(self.workspace);
                self.run_guarded(role, || agent_roles.run(&agent, role, round))
            }
            (Some(command), role) => {
                self.run_guarded(role, || self.run_command(role, round, &command))
            }
            (None, Role::Verifier) => self.verifier.verify(),
            (None, role) => {
                let role = role.name();
                let reason = format!("no agent or command is configured for the role {role}");
                Ok(Outcome::Failed { reason })
            }
        }
    }

    /// Runs a role between snapshots, and checks what it left behind.
    fn run_guarded(
        &self,
        role: Role,
        run: impl FnOnce() -> Result<RoleResult, EngineError>,
    ) -> Result<Outcome, EngineError> {
        let workspace = self.workspace;
        let guard = RepositoryGuard::new(workspace);
        let document_guard = DocumentGuard::new(workspace);
        let stamp = self.verification_stamp(role);
        let (before, code) = (guard.snapshot()?, self.protected_code(role)?);
        let documents = document_guard.snapshot(role)?;
        let result = run()?;
        failpoint::reach("role.ran");
        document_guard.restore(&documents)?;
        let tampering = guard.git_tampering(&before)?;
        if let RoleResult::Ended(Outcome::Interrupted) = result {
            return Ok(Outcome::Interrupted);
        }
        if let Some(reason) = tampering {
            return Ok(Outcome::Failed { reason });
        }
        // A role may commit its documents. Its commits are reviewed when the phase is closed.
        workspace.trusted().head = None;
        if code != self.protected_code(role)? {
            let kept = guard.roll_back(&before)?;
            let reason = format!("the {} changed code after the last check{kept}", role.name());
            return Ok(Outcome::Failed { reason });
        }
        match (result, role) {
            (RoleResult::Ended(outcome), _) => Ok(outcome),
            (RoleResult::Failed(reason), _) => Ok(Outcome::Failed { reason }),
            (result, Role::Verifier) => {
                // An unchanged VERIFICATION.md was not written by this verifier.
                let is_new = self.verification_stamp(role) != stamp;
                let survey = || PhaseSurvey::new(workspace).survey();
                let written = if is_new { survey()?.verification } else { None };
                self.combine_verdicts(written, result)
            }
            (RoleResult::Verdict(verdict), _) => Ok(Outcome::Verdict { verdict }),
            (RoleResult::Completed, role) => {
                let subject = format!("docs({}): {}", workspace.file_prefix(), role.name());
                let commits = PhaseCommits::new(workspace);
                commits.commit(&subject, None, CommitContents::Documents)?;
                failpoint::reach("role.committed");
                Ok(Outcome::Done)
            }
        }
    }

    /// Takes the worst of three verdicts: the one in VERIFICATION.md, the verifier's answer, and
    /// mow's own checks.
    fn combine_verdicts(
        &self,
        written: Option<Verdict>,
        result: RoleResult,
    ) -> Result<Outcome, EngineError> {
        let Some(written) = written else {
            return Ok(Outcome::Failed { reason: "it left no VERIFICATION.md".to_owned() });
        };
        let verdict = match (written, result) {
            (Verdict::Passed, RoleResult::Verdict(answer))
            | (
                _,
                RoleResult::Verdict(answer @ (Verdict::Gaps { .. } | Verdict::HumanNeeded { .. })),
            ) => answer,
            (written, _) => written,
        };
        if verdict != Verdict::Passed {
            return Ok(Outcome::Verdict { verdict });
        }
        self.verifier.own_verdict()
    }

    /// Runs the command of a role. Its environment has paths, never file contents.
    fn run_command(
        &self,
        role: Role,
        round: u32,
        command: &str,
    ) -> Result<RoleResult, EngineError> {
        let workspace = self.workspace;
        let file = |kind: &str| workspace.document(kind).display().to_string();
        let roadmap = workspace.project.planning.join("ROADMAP.md").display().to_string();
        let env = [
            ("MOW_ROLE_NAME", role.name().to_owned()),
            ("MOW_ROUND", round.to_string()),
            ("MOW_CONTEXT_FILE", file("CONTEXT")),
            ("MOW_RESEARCH_FILE", file("RESEARCH")),
            ("MOW_VERIFICATION_FILE", file("VERIFICATION")),
            ("MOW_ROADMAP_FILE", roadmap),
        ];
        let label = format!("{}-{round}", role.name());
        let (text, program, top, files) = (command, "sh", None, &[][..]);
        let (label, env, source) = (&label[..], &env[..], (role.name(), None));
        let script = ShellScript { text, program, label, top, env, source, files };
        let end = script::run(workspace, &script)?;
        if end.exit == ShellExit::Stopped {
            return Ok(RoleResult::Ended(Outcome::Interrupted));
        }
        let failure = describe_failure(&end);
        // A plan checker that exits with 1 has done its job: it rejects the plans.
        if role == Role::PlanChecker && matches!(end.exit, ShellExit::Exited(0 | 1)) {
            let verdict = failure.map_or(Verdict::Passed, |text| Verdict::Gaps { text });
            return Ok(RoleResult::Verdict(verdict));
        }
        Ok(failure.map_or(RoleResult::Completed, RoleResult::Failed))
    }

    /// Returns the digest of the code that a verifier must not change; `None` for other roles.
    fn protected_code(&self, role: Role) -> Result<Option<String>, EngineError> {
        let digest = || EvidenceChecker::new(self.workspace).code_digest();
        (role == Role::Verifier).then(digest).transpose()
    }

    /// Returns the write time and contents of VERIFICATION.md; `None` for roles that do not write
    /// it.
    fn verification_stamp(&self, role: Role) -> Option<(SystemTime, Vec<u8>)> {
        if role != Role::Verifier {
            return None;
        }
        let file = self.workspace.document("VERIFICATION");
        let time = std::fs::metadata(&file).and_then(|metadata| metadata.modified()).ok()?;
        Some((time, std::fs::read(&file).ok()?))
    }
}
