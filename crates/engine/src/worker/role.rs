//! Lets a role do its job: the command that is set for it, or, for the verifier, mow itself.

use std::time::SystemTime;

use mow_core::worker::{Outcome, Role, Verdict};
use mow_host::shell::End;
use mow_store::papers::{self, Check};
use mow_store::plan::Plan;

use super::desk::{Desk, Script, complaint};
use super::evidence::Checks;
use super::task::{Part, checks};
use crate::EngineError;

/// What was checked, and what nobody can check.
type Checked = (Vec<Check>, Vec<String>);

/// How somebody played a role.
pub(super) enum Played {
    /// As it should be; what was left behind is looked at.
    Well,
    /// Not to its end, for this reason.
    Badly(String),
    /// It judged something.
    Verdict(Verdict),
    /// There is nothing to look at.
    Ended(Outcome),
}

impl Desk {
    pub(super) fn run_role(&self, role: Role, round: u32) -> Result<Outcome, EngineError> {
        if role == Role::Verifier && self.marks()?.closing.contains(&self.head()?) {
            // An earlier attempt has closed the phase, and died before it could say so.
            return Ok(Outcome::Verdict { verdict: Verdict::Passed });
        }
        self.begin_papers(role)?;
        let outcome = self.run_anybody(role, round)?;
        self.end_papers(role, &outcome)?;
        Ok(outcome)
    }

    /// Lets whoever is set for a role play it.
    fn run_anybody(&self, role: Role, round: u32) -> Result<Outcome, EngineError> {
        let cast = self.cast(role)?;
        match (self.role_command(role), role) {
            _ if let Some(cast) = cast => self.watch(role, || self.play(&cast, role, round)),
            (Some(command), role) => self.watch(role, || self.run_command(role, round, &command)),
            (None, Role::Verifier) => self.verify(),
            (None, role) => {
                let reason = format!("nobody is set for the role {}", role.name());
                Ok(Outcome::Failed { reason })
            }
        }
    }

    /// Lets somebody play a role, and looks at what that left.
    fn watch(
        &self,
        role: Role,
        play: impl FnOnce() -> Result<Played, EngineError>,
    ) -> Result<Outcome, EngineError> {
        let (stamp, before, code) = (self.stamp(role), self.before()?, self.code_before(role)?);
        let guarded = self.guard_papers(role)?;
        let played = play()?;
        failpoint::reach("role.ran");
        self.restore_papers(&guarded)?;
        let meddled = self.meddled(&before)?;
        if let Played::Ended(Outcome::Interrupted) = played {
            return Ok(Outcome::Interrupted);
        }
        if let Some(reason) = meddled {
            return Ok(Outcome::Failed { reason });
        }
        // A role may commit what it wrote; what it committed is looked at when the phase is closed.
        self.trust().head = None;
        if code != self.code_before(role)? {
            let kept = self.bring_back(&before)?;
            let words = "changed code, and nobody has checked that";
            let reason = format!("the {} {words}{kept}", role.name());
            return Ok(Outcome::Failed { reason });
        }
        match (played, role) {
            (Played::Ended(outcome), _) => Ok(outcome),
            (Played::Badly(reason), _) => Ok(Outcome::Failed { reason }),
            (played, Role::Verifier) => {
                // One that was there before is somebody else's.
                let is_new = self.stamp(role) != stamp;
                let written = if is_new { self.look()?.verification } else { None };
                self.judge_verification(written, played)
            }
            (Played::Verdict(verdict), _) => Ok(Outcome::Verdict { verdict }),
            (Played::Well, role) => {
                let subject = format!("docs({}): {}", self.padded(), role.name());
                self.commit(&subject, None, Part::Papers)?;
                failpoint::reach("role.committed");
                Ok(Outcome::Done)
            }
        }
    }

    /// Takes the worst of what a verifier wrote, what it said, and what mow finds itself.
    fn judge_verification(
        &self,
        written: Option<Verdict>,
        played: Played,
    ) -> Result<Outcome, EngineError> {
        let Some(written) = written else {
            return Ok(Outcome::Failed { reason: "it left no VERIFICATION.md".to_owned() });
        };
        let verdict = match (written, played) {
            (Verdict::Passed, Played::Verdict(said))
            | (_, Played::Verdict(said @ (Verdict::Gaps { .. } | Verdict::HumanNeeded { .. }))) => {
                said
            }
            (written, _) => written,
        };
        if verdict != Verdict::Passed {
            return Ok(Outcome::Verdict { verdict });
        }
        let Some((all, _)) = self.find_gaps()? else { return Ok(Outcome::Interrupted) };
        Ok(Outcome::Verdict { verdict: judged(&all) })
    }

    /// Runs the command of a role. It gets paths in its environment, never contents.
    fn run_command(&self, role: Role, round: u32, command: &str) -> Result<Played, EngineError> {
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
        let (text, top, files) = (command, None, &[][..]);
        let script = Script { text, program: "sh", label: &label, top, env: &env, files };
        let end = self.shell(&script)?;
        if end.end == End::Stopped {
            return Ok(Played::Ended(Outcome::Interrupted));
        }
        let complaint = complaint(&end);
        // A checker that says no has done its job.
        if role == Role::PlanChecker && matches!(end.end, End::Exited(0 | 1)) {
            let verdict = complaint.map_or(Verdict::Passed, |text| Verdict::Gaps { text });
            return Ok(Played::Verdict(verdict));
        }
        Ok(complaint.map_or(Played::Well, Played::Badly))
    }

    /// Returns what stands for the code that a verifier must leave as it is.
    fn code_before(&self, role: Role) -> Result<Option<String>, EngineError> {
        (role == Role::Verifier).then(|| self.code()).transpose()
    }

    /// Returns what the file that a role writes is like, and when it was written.
    fn stamp(&self, role: Role) -> Option<(SystemTime, Vec<u8>)> {
        if role != Role::Verifier {
            return None;
        }
        let file = self.phase_dir().join(format!("{}-VERIFICATION.md", self.padded()));
        let time = std::fs::metadata(&file).and_then(|about| about.modified()).ok()?;
        Some((time, std::fs::read(&file).ok()?))
    }

    /// Checks all that the plans promise, on the last commit, and writes it down.
    fn verify(&self) -> Result<Outcome, EngineError> {
        self.set_aside("verify", &[])?;
        let Some((all, unproven)) = self.find_gaps()? else { return Ok(Outcome::Interrupted) };
        self.write_verification(&all, &unproven)?;
        Ok(Outcome::Verdict { verdict: judged(&all) })
    }

    /// Checks all that the plans promise, on the last commit; also returns what nobody can check.
    fn find_gaps(&self) -> Result<Option<Checked>, EngineError> {
        let plans: Vec<_> = self.trust().plans.values().map(|frozen| frozen.plan.clone()).collect();
        let mut commands: Vec<String> = Vec::new();
        for check in plans.iter().flat_map(|plan| &plan.tasks).flat_map(checks) {
            if !commands.contains(&check) {
                commands.push(check);
            }
        }
        let job = Checks { commands: &commands, label: "verify", env: &[], fresh: None };
        let found = self.prove_all(&job, false)?;
        if self.stop.is_stopped() {
            return Ok(None);
        }
        let evidence = self.evidence(&commands);
        let mut all: Vec<_> = found
            .into_iter()
            .map(|(what, gap)| {
                let evidence = evidence.iter().find(|one| one.command == what).cloned();
                Check { what, gap, evidence }
            })
            .collect();
        for plan in &plans {
            self.check_promises(plan, &mut all);
        }
        let mut unproven: Vec<_> =
            plans.iter().flat_map(|plan| plan.must_haves.truths.clone()).collect();
        unproven.extend(self.unchecked());
        Ok(Some((all, unproven)))
    }

    /// Names the tasks that have no command that checks them.
    fn unchecked(&self) -> Vec<String> {
        let trust = self.trust();
        let tasks = trust.plans.iter().flat_map(|(id, frozen)| {
            frozen.plan.tasks.iter().zip(1..).map(move |(task, n)| (id, n, task))
        });
        let without = tasks.filter(|(_, _, task)| checks(task).is_empty());
        let named = without.map(|(id, n, task)| {
            format!("plan {id}, task {n} names no command that checks it: {}", task.name)
        });
        named.collect()
    }

    /// Looks up what a plan promises about files.
    fn check_promises(&self, plan: &Plan, all: &mut Vec<Check>) {
        let broken = self.broken_promises(plan);
        let mut names: Vec<_> = plan.must_haves.artifacts.iter().map(|a| a.path.clone()).collect();
        let links = plan.must_haves.key_links.iter().filter(|link| link.has_ends());
        names.extend(links.map(|link| format!("{} -> {}", link.from, link.to)));
        for name in names {
            let gap = broken.iter().find(|(what, _)| *what == name).map(|(_, issue)| issue.clone());
            all.push(Check { what: format!("{name} is there"), gap, evidence: None });
        }
    }

    fn write_verification(&self, all: &[Check], unproven: &[String]) -> Result<(), EngineError> {
        let goal = self.look()?.goal;
        let (now, number) = (self.now(), self.brief.phase.to_string());
        let about = self.about(&number, &goal, &now);
        let text = papers::verification(&about, &self.head()?, all, unproven);
        let text = text.map_err(|error| EngineError::Host(error.into()))?;
        self.write(&format!("{}-VERIFICATION.md", self.padded()), &text)?;
        failpoint::reach("verification.written");
        Ok(())
    }
}

fn judged(all: &[Check]) -> Verdict {
    let gaps: Vec<_> = all.iter().filter(|check| check.gap.is_some()).collect();
    match gaps.first() {
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
    }
}
