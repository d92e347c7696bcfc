//! Brings back what was committed for a plan beside others and is there no more, because of a commit that
//! an agent made itself.
//!
//! An agent need not mean it: git reads the index before it locks it, and one that has just become
//! old lacks what was committed for another plan meanwhile. Everything here is read from the branch before
//! the plan is checked, so that it does not matter which worker carried it out.

use std::collections::BTreeMap;
use std::slice;

use mow_core::touch;
use mow_core::worker::Input;
use mow_host::commit;
use mow_host::custody::moves;

use super::custody::{AGENT_WORD, named, short};
use super::desk::Desk;
use crate::EngineError;
use crate::marks::Marks;

impl Desk {
    /// Brings the files of a plan that is done, and not checked, back to what they were with its last
    /// task, by one more commit. What people changed since stays.
    pub(super) fn bring_again(&self, plan: &str) -> Result<(), EngineError> {
        let (marks, last) = (self.marks()?, self.frozen(plan)?.tasks.len());
        let Some(right) = marks.tasks.get(&(plan.to_owned(), last)) else { return Ok(()) };
        let files = self.declared(plan)?;
        let changed = self.differing(right)?.into_iter().map(|file| file.path);
        let is_own = |path: &String| touch::covers(&files, slice::from_ref(path));
        let changed: Vec<_> = changed.filter(is_own).collect();
        if changed.is_empty() {
            return Ok(());
        }
        let lost = self.by_agents(changed, &marks, right)?;
        let Some((_, by)) = lost.first() else { return Ok(()) };
        let by = short(by);
        let list: Vec<u8> =
            lost.iter().flat_map(|(path, _)| format!("{path}\0").into_bytes()).collect();
        let subject = format!("restore({plan}): what {by} took back");
        let trailers = self.trailers(None)?;
        let trailers: Vec<_> = trailers.iter().map(|(key, word)| (*key, &**word)).collect();
        let commit = commit::put_back(&self.git(), right, &list, &subject, &trailers)
            .map_err(|error| EngineError::Host(error.into()))?;
        self.trust().note(None, &commit);
        failpoint::reach("beside.restored");
        let what = named(lost.iter().map(|(path, _)| path.as_str()));
        let text = format!("{by} took back {what}, committed for plan {plan}; it is there again");
        self.tell(Input::Noted { text });
        Ok(())
    }

    /// Returns those files that a commit of an agent's own changed last, after another commit, each with it.
    fn by_agents(
        &self,
        files: Vec<String>,
        marks: &Marks,
        after: &str,
    ) -> Result<Vec<(String, String)>, EngineError> {
        let mut last: BTreeMap<&str, &str> = BTreeMap::new();
        // What was merged is in none of its commits, and not the agents' doing.
        for one in marks.history.commits.iter().take_while(|one| one.commit != after) {
            for change in &one.changes {
                last.entry(&change.path).or_insert(&one.commit);
            }
        }
        let moves = moves(&self.git(), &self.branch)?;
        // People's commands say what they do, and not in the name of agents.
        let is_by_people = |commit: &str| {
            let mut said = moves.iter().filter(|(to, _)| to == commit).map(|(_, said)| said);
            said.any(|said| !said.is_empty() && !said.starts_with(AGENT_WORD))
        };
        let by_agent = |path: String| {
            let by = (*last.get(path.as_str())?).to_owned();
            let is_ours = marks.commits.contains(&by) || is_by_people(&by);
            (!is_ours).then_some((path, by))
        };
        Ok(files.into_iter().filter_map(by_agent).collect())
    }
}
