//! Checks whether files satisfy the artifacts and key links of a plan.
//!
//! The caller decides where files are looked up: on disk or in a commit. Truths are not checked,
//! because only a person or an agent can judge them.

use regex::Regex;

use super::{Artifact, KeyLink};

/// Looks up files by the paths that plans use, on disk or in a commit.
pub trait FileLookup {
    /// Returns whether a file or directory exists.
    fn exists(&self, path: &str) -> bool;
    /// Returns the text of a file; `None` if it cannot be read.
    fn text(&self, path: &str) -> Option<String>;
}

impl Artifact {
    /// Returns the conditions that the file does not meet, as sentences for people.
    pub fn issues(&self, files: &dyn FileLookup) -> Vec<String> {
        if self.path.is_empty() || !files.exists(&self.path) {
            return vec!["File not found".to_owned()];
        }
        let mut issues = Vec::new();
        let text = files.text(&self.path).unwrap_or_default();
        let lines = text.matches('\n').count() as u64 + 1;
        if let Some(required) = self.min_lines.filter(|required| lines < *required) {
            issues.push(format!("Only {lines} lines, need {required}"));
        }
        let lacking = |required: &&String| !text.contains(required.as_str());
        let missing = self.contains.iter().filter(lacking);
        issues.extend(missing.map(|required| format!("Missing text: {required}")));
        let missing = self.exports.iter().filter(lacking);
        issues.extend(missing.map(|required| format!("Missing export: {required}")));
        issues
    }
}

impl KeyLink {
    /// Checks the link. Returns the proof that was found, or the reason why there is none.
    pub fn check(&self, files: &dyn FileLookup) -> Result<String, String> {
        let text = |path: &str| if path.is_empty() { None } else { files.text(path) };
        let Some(source) = text(&self.from) else {
            return Err("Source file not found".to_owned());
        };
        let Some(pattern) = &self.pattern else {
            let refers = !self.to.is_empty() && source.contains(&self.to);
            return if refers {
                Ok("The source names the target".to_owned())
            } else {
                Err("The source does not name the target".to_owned())
            };
        };
        let regex = Regex::new(pattern).map_err(|error| {
            let reason = error.to_string();
            let reason = reason.lines().last().unwrap_or("").trim_start_matches("error: ").trim();
            format!("Invalid regex pattern: {pattern} ({reason})")
        })?;
        if regex.is_match(&source) {
            return Ok("Pattern found in source".to_owned());
        }
        if text(&self.to).is_some_and(|target| regex.is_match(&target)) {
            return Ok("Pattern found in target".to_owned());
        }
        Err(format!("Pattern \"{pattern}\" not found in source or target"))
    }

    /// Returns whether the link names files that can be checked; a link given as a sentence does not.
    pub fn has_endpoints(&self) -> bool {
        !self.from.is_empty()
    }
}
