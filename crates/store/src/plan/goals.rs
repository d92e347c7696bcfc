//! Whether files are what a plan promises. Where the files are looked up is the caller's business: on
//! the disk, or in a commit. What only somebody who thinks can judge, the truths, is not looked at.

use regex::Regex;

use super::{Artifact, KeyLink};

/// Where files are looked up, by the names that plans use.
pub trait Files {
    /// Returns whether there is such a file or directory.
    fn exists(&self, path: &str) -> bool;
    /// Returns what a file says; `None` when it cannot be read.
    fn text(&self, path: &str) -> Option<String>;
}

impl Artifact {
    /// Returns what keeps the file from being what was promised.
    pub fn issues(&self, files: &dyn Files) -> Vec<String> {
        if self.path.is_empty() || !files.exists(&self.path) {
            return vec!["File not found".to_owned()];
        }
        let mut issues = Vec::new();
        let text = files.text(&self.path).unwrap_or_default();
        let lines = text.matches('\n').count() as u64 + 1;
        if let Some(wanted) = self.min_lines.filter(|wanted| lines < *wanted) {
            issues.push(format!("Only {lines} lines, need {wanted}"));
        }
        let lacking = |wanted: &&String| !text.contains(wanted.as_str());
        let missing = self.contains.iter().filter(lacking);
        issues.extend(missing.map(|wanted| format!("Missing text: {wanted}")));
        let missing = self.exports.iter().filter(lacking);
        issues.extend(missing.map(|wanted| format!("Missing export: {wanted}")));
        issues
    }
}

impl KeyLink {
    /// Looks for the link; says what was found, or else what was not.
    pub fn follow(&self, files: &dyn Files) -> Result<String, String> {
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

    /// Returns whether it names two places that can be looked up; a sentence does not.
    pub fn has_ends(&self) -> bool {
        !self.from.is_empty()
    }
}
