//! Rules about which files exist and which may name each other: no source file that nobody names,
//! no product code that needs the compatibility layer, no code of the lead that opens files of
//! workers, one integration-test binary per crate, a `clippy.toml` in every crate.

use super::SourceFile;

pub(super) fn check(files: &[SourceFile]) -> Vec<String> {
    let mut findings = forgotten_files(files);
    findings.extend(files.iter().flat_map(compat_leaks));
    findings.extend(files.iter().flat_map(link_leaks));
    let root_lints = find(files, "clippy.toml");
    for manifest in files.iter().filter(|file| file.path.ends_with("/Cargo.toml")) {
        let folder = manifest.path.trim_end_matches("/Cargo.toml");
        findings.extend(check_test_binaries(files, folder));
        if folder != "fuzz" {
            findings.extend(check_lint_settings(files, folder, root_lints));
        }
    }
    findings
}

fn find<'a>(files: &'a [SourceFile], path: &str) -> Option<&'a SourceFile> {
    files.iter().find(|file| file.path == path)
}

/// Finds Rust files that no `mod` names: code or tests that silently are not compiled.
fn forgotten_files(files: &[SourceFile]) -> Vec<String> {
    let sources = files.iter().filter(|file| file.is_rust() && !is_crate_root(&file.path));
    let forgotten = sources.filter(|file| !is_named(files, &file.path));
    forgotten.map(|file| format!("{}: no `mod` names this file", file.path)).collect()
}

fn is_crate_root(path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').collect();
    match parts.as_slice() {
        [.., "src", "lib.rs" | "main.rs"]
        | [.., "src", "bin", _]
        | [.., "src", "bin", _, "main.rs"]
        | [.., "tests", _, "main.rs"] => true,
        [.., "tests", _] => !path.contains("/src/"),
        [.., "examples" | "benches" | "fuzz_targets", _] | [.., "build.rs"] => true,
        _ => false,
    }
}

fn is_named(files: &[SourceFile], path: &str) -> bool {
    let Some((mut folder, name)) = path.rsplit_once('/') else { return false };
    let mut module = name.trim_end_matches(".rs");
    if module == "mod" {
        let Some((parent, name)) = folder.rsplit_once('/') else { return false };
        (folder, module) = (parent, name);
    }
    let declaration = format!("mod {module};");
    let parents = [
        format!("{folder}.rs"),
        format!("{folder}/mod.rs"),
        format!("{folder}/lib.rs"),
        format!("{folder}/main.rs"),
    ];
    parents.iter().filter_map(|parent| find(files, parent)).any(|parent| {
        parent.text.lines().any(|line| {
            let line = line.trim();
            line.strip_suffix(declaration.as_str())
                .is_some_and(|before| before.is_empty() || before.ends_with(' '))
                && !line.starts_with("//")
        })
    })
}

/// Finds product code that names the compatibility layer. Only `commands.rs` and `cli.rs`, which
/// list and call all commands, and the crate roots may. Tests and the test kit are no product.
fn compat_leaks(file: &SourceFile) -> Vec<String> {
    let path = file.path.as_str();
    let parts: Vec<&str> = path.split('/').collect();
    let is_product = matches!(parts.as_slice(), ["crates", name, "src", ..] if *name != "testkit");
    let may_name = match parts.as_slice() {
        [_, _, _, "compat" | "compat.rs" | "commands.rs" | "cli.rs" | "lib.rs" | "main.rs", ..] => {
            true
        }
        _ => file.is_of_tests(),
    };
    if !file.is_rust() || !is_product || may_name {
        return Vec::new();
    }
    let leaks = words_in(file, &["compat"]);
    leaks
        .map(|(number, _)| {
            format!("{path}:{number}: names `compat`; move what the product needs out of there")
        })
        .collect()
}

/// What the lead must leave to the link: files, locks, processes and worktrees of workers.
const OF_WORKERS: &[&str] = &[
    "PhaseWorktree",
    "WorkerCommand",
    "inbox_header",
    "life_lock",
    "life_watch",
    "start_worker",
    "worker_header",
    "worker_inbox",
    "worker_journal",
];

/// Finds code of the lead that reaches workers without the link.
fn link_leaks(file: &SourceFile) -> Vec<String> {
    let path = file.path.as_str();
    let is_of_lead =
        path == "crates/engine/src/lead.rs" || path.starts_with("crates/engine/src/lead/");
    if !file.is_rust() || !is_of_lead || file.is_of_tests() {
        return Vec::new();
    }
    let leaks = words_in(file, OF_WORKERS);
    leaks
        .map(|(number, word)| {
            format!(
                "{path}:{number}: names `{word}`; the lead reaches workers through engine::link"
            )
        })
        .collect()
}

/// Returns each line of code that contains one of the words, with its number and the word.
fn words_in<'a>(
    file: &'a SourceFile,
    words: &'a [&'a str],
) -> impl Iterator<Item = (usize, &'a str)> {
    let is_letter = |c: char| c.is_alphanumeric() || c == '_';
    let code = (1..).zip(file.text.lines()).filter(|(_, line)| !line.trim().starts_with("//"));
    code.filter_map(move |(number, line)| {
        let mut found = line.split(|c| !is_letter(c)).filter(|word| words.contains(word));
        found.next().map(|word| (number, word))
    })
}

/// Each integration-test binary links the whole crate again, so there is one per crate.
fn check_test_binaries(files: &[SourceFile], folder: &str) -> Option<String> {
    let prefix = format!("{folder}/tests/");
    let below = files.iter().filter_map(|file| file.path.strip_prefix(prefix.as_str()));
    let binaries = below.filter(|rest| match rest.split('/').collect::<Vec<_>>().as_slice() {
        [name] => name.ends_with(".rs"),
        [_, name] => *name == "main.rs",
        _ => false,
    });
    let count = binaries.count();
    (count > 1).then(|| format!("{prefix}: {count} integration-test binaries, at most 1"))
}

/// Clippy reads only the nearest `clippy.toml`, so every crate repeats the lines of the root's.
fn check_lint_settings(
    files: &[SourceFile],
    folder: &str,
    root: Option<&SourceFile>,
) -> Vec<String> {
    let Some(lints) = find(files, &format!("{folder}/clippy.toml")) else {
        return vec![format!("{folder}: has no clippy.toml")];
    };
    let Some(root) = root else { return vec!["the root has no clippy.toml".to_owned()] };
    let settings = root.text.lines().filter(|line| line.contains('=') && !line.starts_with('#'));
    let missing = settings.filter(|setting| !lints.text.lines().any(|line| line == *setting));
    missing.map(|setting| format!("{}: lacks `{setting}`", lints.path)).collect()
}
