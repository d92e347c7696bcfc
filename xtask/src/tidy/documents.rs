//! Rules about what people read: no machine's own paths, no trailing blanks, documents that agree
//! with what exists.

use super::SourceFile;
use crate::{TASKS, reference};

/// Paths that exist on one machine only. Pieced together, so that this file passes its own rule.
const MACHINE_PATHS: &[&str] =
    &[concat!("/wo", "rk/"), concat!("/ro", "ot/"), concat!("/tm", "p/wt"), concat!("/ho", "me/")];

pub(super) fn check_file(file: &SourceFile) -> Vec<String> {
    let mut findings = Vec::new();
    let path = &file.path;
    let is_written_by_hand = file.has_extension(&["rs", "md", "toml"]);
    // Dialect samples for tests carry odd blanks on purpose.
    let may_trail = file.is_of_tests() && !file.is_rust();
    for (number, line) in (1..).zip(file.text.lines()) {
        if is_written_by_hand && !may_trail && line.trim_end() != line {
            findings.push(format!("{path}:{number}: trailing blanks"));
        }
        for word in MACHINE_PATHS.iter().filter(|word| names_path(line, word)) {
            findings.push(format!("{path}:{number}: `{word}` is a path of one machine"));
        }
    }
    if file.has_extension(&["md"]) && !file.is_of_tests() {
        findings.extend(unknown_tasks(file));
    }
    findings
}

/// Tells whether the line holds the path itself, not a longer one that ends like it.
fn names_path(line: &str, path: &str) -> bool {
    line.match_indices(path).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|before| before.is_alphanumeric() || "._-~}".contains(before))
    })
}

/// Finds `cargo xtask <task>` in a document where there is no such task.
fn unknown_tasks(file: &SourceFile) -> Vec<String> {
    let mentions = file.text.split("cargo xtask ").skip(1);
    let names = mentions.map(|rest| {
        let end = rest.find(|c: char| !c.is_ascii_lowercase()).unwrap_or(rest.len());
        &rest[..end]
    });
    let unknown =
        names.filter(|name| !name.is_empty() && TASKS.iter().all(|task| task.name != *name));
    unknown.map(|name| format!("{}: there is no task `cargo xtask {name}`", file.path)).collect()
}

pub(super) fn check_all(files: &[SourceFile]) -> Vec<String> {
    let mut findings = check_decisions(files);
    let text = |path| files.iter().find(|file| file.path == path).map(|file| file.text.as_str());
    match text("CHANGELOG.md") {
        Some(changes) if changes.contains("## [Unreleased]") => {}
        _ => findings.push("CHANGELOG.md: needs a section `## [Unreleased]`".to_owned()),
    }
    if text(reference::SETTINGS_PAGE) != Some(reference::settings_page().as_str()) {
        findings.push(format!("{}: run `cargo xtask reference`", reference::SETTINGS_PAGE));
    }
    findings.extend(undocumented_variables(files, text("docs/reference/environment.md")));
    findings.extend(undocumented_exit_codes(files, text("docs/reference/exit-codes.md")));
    let architecture = text("ARCHITECTURE.md").unwrap_or_default();
    findings.extend(unknown_code(files, architecture));
    for file in files.iter().filter(|file| file.path.ends_with("/Cargo.toml")) {
        let folder = file.path.trim_end_matches("/Cargo.toml");
        if !architecture.contains(&format!("`{folder}`")) {
            findings.push(format!("ARCHITECTURE.md: says nothing of `{folder}`"));
        }
    }
    for file in files.iter().filter(|file| file.has_extension(&["md"]) && !file.is_of_tests()) {
        findings.extend(dead_links(files, file));
    }
    findings
}

/// Finds modules, types and paths that ARCHITECTURE.md names in backticks and that do not exist.
fn unknown_code(files: &[SourceFile], architecture: &str) -> Vec<String> {
    let quoted = architecture.split('`').skip(1).step_by(2).filter(|name| !name.contains('\n'));
    let unknown = quoted.filter(|name| !is_known_code(files, name));
    unknown.map(|name| format!("ARCHITECTURE.md: `{name}` does not exist")).collect()
}

/// Returns false for the name of a module, type or path that does not exist; true for anything else.
fn is_known_code(files: &[SourceFile], name: &str) -> bool {
    let is_path = name.starts_with("crates/") && name.bytes().all(|b| b.is_ascii_graphic());
    if is_path {
        let below = format!("{}/", name.trim_end_matches('/'));
        return files.iter().any(|file| file.path == name || file.path.starts_with(&below));
    }
    let parts: Vec<&str> = name.split("::").collect();
    let is_module =
        parts.len() > 1 && ["core", "store", "host", "engine", "git"].contains(&parts[0]);
    let is_type = parts.len() == 1
        && name.starts_with(|first: char| first.is_ascii_uppercase())
        && name.contains(|letter: char| letter.is_ascii_lowercase())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let Some(last) = parts.last().filter(|_| is_module || is_type) else { return true };
    let is_file = |file: &SourceFile| file.path.ends_with(&format!("/{last}.rs"));
    let defines = |file: &SourceFile| {
        file.text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').any(|word| word == *last)
    };
    files.iter().filter(|file| file.is_rust()).any(|file| is_file(file) || defines(file))
}

/// Finds environment variables that the product names and the reference does not.
fn undocumented_variables(files: &[SourceFile], page: Option<&str>) -> Vec<String> {
    let page = page.unwrap_or_default();
    let of_product = |file: &&SourceFile| {
        let path = &file.path;
        let is_for_tests =
            path.starts_with("crates/testkit/") || path.starts_with("crates/failpoint/");
        file.is_rust()
            && path.contains("/src/")
            && path.starts_with("crates/")
            && !is_for_tests
            && !file.is_of_tests()
    };
    let mut missing = Vec::new();
    for file in files.iter().filter(of_product) {
        for rest in file.text.split("\"MOW_").skip(1) {
            let end =
                rest.find(|c: char| !c.is_ascii_uppercase() && c != '_').unwrap_or(rest.len());
            let name = format!("MOW_{}", &rest[..end]);
            // Not a name but the beginning of names; variables of tests are in CONTRIBUTING.md.
            let is_name =
                rest[end..].starts_with('"') && !name.starts_with("MOW_TEST_") && name != "MOW_";
            if is_name && !page.contains(&format!("`{name}`")) && name != "MOW_CORPUS" {
                missing
                    .push(format!("docs/reference/environment.md: lacks `{name}` ({})", file.path));
            }
        }
    }
    missing
}

/// Finds exit codes that the program defines and the reference does not list.
fn undocumented_exit_codes(files: &[SourceFile], page: Option<&str>) -> Vec<String> {
    let page = page.unwrap_or_default();
    let Some(source) = files.iter().find(|file| file.path == "crates/mow/src/failure.rs") else {
        return Vec::new();
    };
    let constants = source.text.lines().filter_map(|line| {
        let (_, value) = line.trim().strip_prefix("pub(crate) const ")?.split_once(" = ")?;
        value.trim_end_matches(';').parse::<u32>().ok()
    });
    let missing = constants.filter(|code| !page.contains(&format!("| {code} |")));
    missing.map(|code| format!("docs/reference/exit-codes.md: lacks exit code {code}")).collect()
}

/// Decision records are numbered from 0001 without gaps or doubles.
fn check_decisions(files: &[SourceFile]) -> Vec<String> {
    let records = files.iter().filter_map(|file| file.path.strip_prefix("docs/decisions/"));
    let misnumbered = (1..).zip(records).filter(|(number, name): &(u32, &str)| {
        !name.starts_with(&format!("{number:04}-")) || !name.ends_with(".md")
    });
    misnumbered
        .map(|(number, name)| format!("docs/decisions/{name}: expected number {number:04}"))
        .collect()
}

/// Finds relative links to files that do not exist. Links are resolved from the document's folder.
fn dead_links(files: &[SourceFile], file: &SourceFile) -> Vec<String> {
    let folder = file.path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let targets = file.text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let local = targets.filter(|target| !target.contains(':') && !target.starts_with('#'));
    let dead = local.filter(|target| {
        let path = resolve(folder, target.split('#').next().unwrap_or_default());
        let below = format!("{path}/");
        !files.iter().any(|file| file.path == path || file.path.starts_with(&below))
    });
    dead.map(|target| format!("{}: dead link to {target}", file.path)).collect()
}

fn resolve(folder: &str, target: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in folder.split('/').chain(target.split('/')) {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            name => parts.push(name),
        }
    }
    parts.join("/")
}
