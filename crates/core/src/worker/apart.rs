//! What a plan says it changes, and whether two plans keep out of each other's way.

/// Returns the files and directories of a list in one spelling; `None` when they are not all clear.
///
/// A pattern, a remark behind a name or a path that leads out of the project says nothing that can
/// be relied on. What lies below the planning directory is the worker's own and left out.
pub fn clear_paths(files: &[String]) -> Option<Vec<String>> {
    let mut all = Vec::new();
    for file in files {
        let path = cleared(file)?;
        if !covers(".planning", &path) {
            all.push(path);
        }
    }
    (!all.is_empty()).then_some(all)
}

/// Returns whether a path is another one or lies below it.
pub fn covers(above: &str, path: &str) -> bool {
    path.strip_prefix(above).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Returns whether some path is named by both, or lies below one that the other names.
pub fn overlap(these: &[String], those: &[String]) -> bool {
    these.iter().any(|a| those.iter().any(|b| covers(a, b) || covers(b, a)))
}

fn cleared(file: &str) -> Option<String> {
    let is_odd = |c: char| c.is_whitespace() || c.is_control() || "*?[]{}\\\"'`:".contains(c);
    if file.starts_with('/') || file.starts_with('~') || file.contains(is_odd) {
        return None;
    }
    let parts: Vec<_> = file.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
    let is_inside = !parts.is_empty() && !parts.contains(&"..");
    is_inside.then(|| parts.join("/"))
}

#[cfg(test)]
mod tests;
