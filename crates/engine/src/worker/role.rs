//! Lets a role do its job: the command that is set for it, or, for the verifier, mow itself.

use std::fs;

use mow_core::worker::{Outcome, Role, Verdict};
use mow_host::shell::End;
use mow_store::papers::{self, Check};
use mow_store::plan::Artifact;

use super::desk::{Desk, Script, complaint};
use super::task::{Part, checks};
use crate::EngineError;

impl Desk {
    pub(super) fn run_role(&self, role: Role, round: u32) -> Result<Outcome, EngineError> {
        match (self.role_command(role), role) {
            (Some(command), role) => self.run_command(role, round, &command),
            (None, Role::Verifier) => self.verify(),
            (None, role) => {
                let reason = format!("nobody is set for the role {}", role.name());
                Ok(Outcome::Failed { reason })
            }
        }
    }

    /// Runs the command of a role. It gets paths in its environment, never contents.
    fn run_command(&self, role: Role, round: u32, command: &str) -> Result<Outcome, EngineError> {
        let file = |suffix: &str| {
            self.phase_dir().join(format!("{}-{suffix}.md", self.padded())).display().to_string()
        };
        let roadmap = self.project.planning.join("ROADMAP.md").display().to_string();
        let env = [
            ("MOW_ROLE_NAME", role.name().to_owned()),
            ("MOW_ROUND", round.to_string()),
            ("MOW_CONTEXT_FILE", file("CONTEXT")),
            ("MOW_RESEARCH_FILE", file("RESEARCH")),
            ("MOW_VERIFICATION_FILE", file("VERIFICATION")),
            ("MOW_ROADMAP_FILE", roadmap),
        ];
        let label = format!("{}-{round}", role.name());
        let script = Script { text: command, program: "sh", label: &label, env: &env, files: &[] };
        let end = self.shell(&script)?;
        failpoint::reach("role.ran");
        if end.end == End::Stopped {
            return Ok(Outcome::Interrupted);
        }
        let complaint = complaint(&end);
        // A checker that says no has done its job.
        if role == Role::PlanChecker && matches!(end.end, End::Exited(0 | 1)) {
            let verdict = complaint.map_or(Verdict::Passed, |text| Verdict::Gaps { text });
            return Ok(Outcome::Verdict { verdict });
        }
        match (complaint, role) {
            (Some(reason), _) => Ok(Outcome::Failed { reason }),
            (None, Role::Verifier) => {
                let said = self.look()?.verification;
                Ok(said.map_or_else(
                    || Outcome::Failed { reason: "it left no VERIFICATION.md".to_owned() },
                    |verdict| Outcome::Verdict { verdict },
                ))
            }
            (None, role) => {
                let subject = format!("docs({}): {}", self.padded(), role.name());
                self.commit(&subject, &[], Part::Papers)?;
                failpoint::reach("role.committed");
                Ok(Outcome::Done)
            }
        }
    }

    /// Checks all that the plans promise, and writes it down.
    fn verify(&self) -> Result<Outcome, EngineError> {
        let mut all: Vec<Check> = Vec::new();
        let code = self.code()?;
        for found in self.look()?.plans {
            let plan = self.plan(&found.id)?;
            for check in plan.tasks.iter().flat_map(checks) {
                if all.iter().any(|done| done.what == check) {
                    continue;
                }
                // The same code is not checked twice.
                let gap = if self.has_passed(&code, &check) {
                    None
                } else {
                    self.run_check(&check, &format!("verify-{}", all.len() + 1), &[])?
                };
                if self.stop.is_stopped() {
                    return Ok(Outcome::Interrupted);
                }
                all.push(Check { what: check, gap });
            }
            all.extend(plan.must_haves.artifacts.iter().map(|artifact| self.check_file(artifact)));
        }
        let goal = self.look()?.goal;
        let (now, number) = (self.now(), self.brief.phase.to_string());
        let head = self.git().commit_of("HEAD")?.unwrap_or_default();
        let text = papers::verification(&self.about(&number, &goal, &now), &head, &all);
        let text = text.map_err(|error| EngineError::Host(error.into()))?;
        self.write(&format!("{}-VERIFICATION.md", self.padded()), &text)?;
        failpoint::reach("verification.written");
        let gaps: Vec<_> = all.iter().filter(|check| check.gap.is_some()).collect();
        let verdict = match gaps.first() {
            None => Verdict::Passed,
            Some(first) => Verdict::Gaps {
                text: format!(
                    "{} of {} checks do not hold, first: {} ({})",
                    gaps.len(),
                    all.len(),
                    super::task::one_line(&first.what),
                    first.gap.as_deref().unwrap_or_default(),
                ),
            },
        };
        Ok(Outcome::Verdict { verdict })
    }

    /// Looks whether a file is there and holds what it should.
    fn check_file(&self, artifact: &Artifact) -> Check {
        let what = format!("{} is there", artifact.path);
        let path = self.worktree.join(self.site.below_top()).join(&artifact.path);
        let Ok(bytes) = fs::read(&path) else {
            let gap = if path.is_dir() { None } else { Some("it is not".to_owned()) };
            return Check { what, gap };
        };
        let text = String::from_utf8_lossy(&bytes);
        let lines = text.lines().count() as u64;
        let too_short = artifact.min_lines.filter(|wanted| lines < *wanted);
        let wanted = artifact.contains.iter().chain(&artifact.exports);
        let missing: Vec<_> = wanted.filter(|wanted| !text.contains(wanted.as_str())).collect();
        let gap = match (too_short, missing.first()) {
            (Some(wanted), _) => Some(format!("it has {lines} lines, not {wanted}")),
            (None, Some(text)) => Some(format!("it lacks `{text}`")),
            (None, None) => None,
        };
        Check { what, gap }
    }
}
