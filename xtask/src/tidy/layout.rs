//! Rules about which files exist: no source file that nobody names, one integration-test binary
//! per crate, a fence in every crate.

use super::SourceFile;

pub(super) fn check(files: &[SourceFile]) -> Vec<String> {
    let mut findings = forgotten_files(files);
    let root_fence = find(files, "clippy.toml");
    for manifest in files.iter().filter(|file| file.path.ends_with("/Cargo.toml")) {
        let folder = manifest.path.trim_end_matches("/Cargo.toml");
        findings.extend(check_test_binaries(files, folder));
        if folder != "fuzz" {
            findings.extend(check_fence(files, folder, root_fence));
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
fn check_fence(files: &[SourceFile], folder: &str, root: Option<&SourceFile>) -> Vec<String> {
    let Some(fence) = find(files, &format!("{folder}/clippy.toml")) else {
        return vec![format!("{folder}: has no clippy.toml")];
    };
    let Some(root) = root else { return vec!["the root has no clippy.toml".to_owned()] };
    let settings = root.text.lines().filter(|line| line.contains('=') && !line.starts_with('#'));
    let missing = settings.filter(|setting| !fence.text.lines().any(|line| line == *setting));
    missing.map(|setting| format!("{}: lacks `{setting}`", fence.path)).collect()
}
