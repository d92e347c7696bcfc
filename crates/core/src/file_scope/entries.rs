//! Matches paths against the `files_modified` entries of a plan.
//!
//! The functions compare names only; they never look at the file system.

#[cfg(test)]
mod tests;

use globset::{GlobBuilder, GlobMatcher};

/// The files that the `files_modified` entries of plans cover.
///
/// An entry is the file itself, a directory above it, or a pattern with `*` (within a name) and
/// `**` (across directories). Other characters are plain: `app/[id]/page.tsx` is a usual path.
#[derive(Clone, Debug, Default)]
pub struct DeclaredFiles {
    entries: Vec<DeclaredEntry>,
}

#[derive(Clone, Debug)]
struct DeclaredEntry {
    /// The entry with its remark, if it has one.
    text: String,
    /// The path or pattern.
    path: String,
    pattern: Option<GlobMatcher>,
}

impl DeclaredFiles {
    /// Parses entries.
    pub fn new<'a>(entries: impl IntoIterator<Item = &'a String>) -> Self {
        let entries = entries.into_iter().map(|entry| DeclaredEntry::parse(entry)).collect();
        Self { entries }
    }

    /// Returns whether any entry covers a path.
    pub fn cover(&self, path: &str) -> bool {
        self.entries.iter().any(|entry| entry.covers(path))
    }
}

impl DeclaredEntry {
    fn parse(entry: &str) -> Self {
        let text = entry.trim().trim_start_matches("./");
        // Plans add remarks, as in `src/a.rs (new)`.
        let path = text.split_once(" (").map_or(text, |(path, _)| path).trim_end_matches('/');
        let pattern = path.contains('*').then(|| compile(path)).flatten();
        Self { text: text.to_owned(), path: path.to_owned(), pattern }
    }

    fn covers(&self, path: &str) -> bool {
        // The whole text comes first, for names like `a (old).rs`.
        if self.text == path || self.path == path {
            return true;
        }
        if let Some(pattern) = &self.pattern {
            return pattern.is_match(path);
        }
        !self.path.is_empty()
            && path.strip_prefix(&self.path).is_some_and(|rest| rest.starts_with('/'))
    }
}

/// Compiles a pattern; returns `None` if it is too large. Then it covers only its own text.
fn compile(pattern: &str) -> Option<GlobMatcher> {
    let glob =
        GlobBuilder::new(&to_glob(pattern)).literal_separator(true).backslash_escape(false).build();
    glob.ok().map(|glob| glob.compile_matcher())
}

/// Translates a pattern: only `*` is special, and `**` crosses directories wherever it stands.
fn to_glob(pattern: &str) -> String {
    let (mut glob, mut rest) = (String::new(), pattern);
    while let Some(at) = rest.find('*') {
        glob += &globset::escape(&rest[..at]);
        let after = rest[at..].trim_start_matches('*');
        let is_deep = rest.len() - at - after.len() > 1;
        let starts_name = glob.is_empty() || glob.ends_with('/');
        glob += match (is_deep, starts_name) {
            (false, _) => "*",
            (true, true) if after.is_empty() || after.starts_with('/') => "**",
            (true, true) => "**/*",
            // In the middle of a name, `**` has no meaning of its own in a glob.
            (true, false) => "{*,*/**/*}",
        };
        rest = after;
    }
    glob + &globset::escape(rest)
}
