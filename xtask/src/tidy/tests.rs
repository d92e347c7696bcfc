//! The repository is tidy; and each rule finds the file that breaks it.

use super::*;

fn file(path: &str, text: &str) -> SourceFile {
    SourceFile { path: path.to_owned(), text: text.to_owned() }
}

/// The findings about one file alone.
fn findings_of(path: &str, text: &str) -> Vec<String> {
    let file = file(path, text);
    rust::check(&file).into_iter().chain(documents::check_file(&file)).collect()
}

#[test]
fn the_repository_is_tidy() {
    let files = load_files(&repo::root()).expect("the repository can be read");
    assert!(files.iter().any(|file| file.path == "xtask/src/tidy.rs"), "the walk finds sources");
    let findings = check(&files);
    assert!(findings.is_empty(), "\n{}", findings.join("\n"));
}

#[test]
fn a_clean_file_has_no_findings() {
    assert_eq!(findings_of("crates/a/src/b.rs", "//! B.\n\nfn main() {}\n"), Vec::<String>::new());
    assert_eq!(findings_of("docs/a.md", "Run `cargo xtask test`.\n"), Vec::<String>::new());
    let starts = "//! A.\nCommand::new(a)\n";
    for path in
        ["crates/host/src/launch.rs", "crates/host/src/a/tests.rs", "crates/testkit/src/a.rs"]
    {
        assert_eq!(findings_of(path, starts), Vec::<String>::new(), "{path}");
    }
}

#[test]
fn each_rule_about_one_file_finds_its_breach() {
    let lines = |count: usize| format!("//!{}", "\n//".repeat(count - 1));
    let cases = [
        ("src/a.rs", "fn main() {}\n".to_owned(), "must open with"),
        ("src/a.rs", lines(501), "at most 500"),
        ("src/a/tests.rs", lines(701), "at most 700"),
        ("src/a.rs", format!("//! A.\n{}", concat!("to", "do!()")), "finish it"),
        ("src/a.rs", format!("//! A.\n{}", concat!("#[", "ignore = \"slow\"]")), "not run"),
        ("src/a.rs", format!("//! A.\n{}", concat!("#[", "allow(dead_code)]")), "expect"),
        ("src/a.rs", "//! A. \n".to_owned(), "trailing blanks"),
        ("crates/host/src/a.rs", "//! A.\nCommand::new(a)\n".to_owned(), "launch"),
        ("crates/mow/src/b/a.rs", "//! A.\nmpsc::channel()\n".to_owned(), "bound"),
        ("docs/a.md", format!("see `{}x`\n", concat!("/wo", "rk/")), "one machine"),
        ("docs/a.md", "`cargo xtask polish`\n".to_owned(), "no task"),
    ];
    for (path, text, expected) in cases {
        let findings = findings_of(path, &text);
        assert_eq!(findings.len(), 1, "{path} {expected}: {findings:?}");
        assert!(findings[0].contains(expected), "{expected}: {findings:?}");
    }
}

#[test]
fn lengths_at_the_limit_and_longer_paths_are_fine() {
    let lines = |count: usize| format!("//!{}", "\n//".repeat(count - 1));
    assert!(findings_of("src/a.rs", &lines(500)).is_empty());
    assert!(findings_of("src/a/tests.rs", &lines(700)).is_empty());
    assert!(findings_of("docs/a.md", concat!("in `net", "/wo", "rk/` we trust\n")).is_empty());
    assert!(findings_of("crates/a/tests/samples/b.md", "odd \t\n").is_empty());
}

#[test]
fn a_file_that_no_mod_names_is_found() {
    let files = |parent: &str| {
        vec![file("crates/a/src/lib.rs", parent), file("crates/a/src/b.rs", "//! B.\n")]
    };
    assert_eq!(layout::check(&files("//! A.\npub(crate) mod b;\n")), Vec::<String>::new());
    for parent in ["//! A.\n", "//! A.\n// mod b;\n", "//! A.\nmod bb;\n"] {
        assert_eq!(layout::check(&files(parent)), ["crates/a/src/b.rs: no `mod` names this file"]);
    }
}

#[test]
fn modules_are_found_through_every_kind_of_parent() {
    let files = [
        file("crates/a/src/main.rs", "mod b;\nmod d;\n"),
        file("crates/a/src/b.rs", "#[cfg(test)]\nmod tests;\n"),
        file("crates/a/src/b/tests.rs", ""),
        file("crates/a/src/d/mod.rs", "mod e;\n"),
        file("crates/a/src/d/e.rs", ""),
        file("crates/a/src/bin/tool.rs", ""),
        file("crates/a/tests/it/main.rs", "mod one;\n"),
        file("crates/a/tests/it/one.rs", ""),
    ];
    assert_eq!(layout::check(&files), Vec::<String>::new());
}

#[test]
fn the_product_does_not_name_the_compatibility_layer() {
    let leak = "//! A.\n// crate::compat is fine here\nuse crate::compat::todo;\n";
    let at = |path: &str| layout::check(&[file(path, leak)]);
    let names =
        |findings: &[String]| findings.iter().any(|finding| finding.contains("names `compat`"));
    for path in ["crates/mow/src/runs.rs", "crates/a/src/b/commands.rs"] {
        let findings = at(path);
        assert!(
            findings.iter().any(|finding| finding.starts_with(&format!("{path}:3: "))),
            "{path}"
        );
    }
    for path in [
        "crates/mow/src/commands.rs",
        "crates/mow/src/main.rs",
        "crates/mow/src/compat.rs",
        "crates/mow/src/compat/todo.rs",
        "crates/a/src/b/tests.rs",
        "crates/mow/tests/it/hook.rs",
        "crates/testkit/src/checks.rs",
    ] {
        assert!(!names(&at(path)), "{path}");
    }
    let grouped = file("crates/engine/src/site.rs", "use mow_store::{compat::summary, disk};\n");
    assert!(names(&layout::check(&[grouped])));
}

#[test]
fn the_lead_reaches_workers_through_the_link_only() {
    let leak =
        "//! A.\n// worker_journal is fine here\nlet path = run.worker_journal(&phase, 1);\n";
    let names = |path: &str| {
        let findings = layout::check(&[file(path, leak)]);
        findings.iter().any(|finding| finding.starts_with(&format!("{path}:3: names `worker_j")))
    };
    assert!(names("crates/engine/src/lead.rs") && names("crates/engine/src/lead/world.rs"));
    for path in ["crates/engine/src/link/local.rs", "crates/engine/src/lead/world/tests.rs"] {
        assert!(!names(path), "{path}");
    }
}

#[test]
fn lint_settings_and_test_binaries_are_checked_per_crate() {
    let files = [
        file("clippy.toml", "# a = b\nlimit = 70\n"),
        file("crates/a/Cargo.toml", ""),
        file("crates/b/Cargo.toml", ""),
        file("crates/b/clippy.toml", "limit = 71\n"),
        file("crates/c/Cargo.toml", ""),
        file("crates/c/clippy.toml", "limit = 70\n"),
        file("crates/c/tests/it/main.rs", ""),
        file("crates/c/tests/other.rs", ""),
    ];
    assert_eq!(
        layout::check(&files),
        [
            "crates/a: has no clippy.toml",
            "crates/b/clippy.toml: lacks `limit = 70`",
            "crates/c/tests/: 2 integration-test binaries, at most 1",
        ]
    );
}

#[test]
fn documents_are_compared_with_what_exists() {
    let files = [
        file("ARCHITECTURE.md", "`crates/a` and [a link](docs/gone.md) and [here](docs/it.md#x)\n"),
        file("CHANGELOG.md", "## [1.0.0]\n"),
        file("crates/a/Cargo.toml", ""),
        file("crates/b/Cargo.toml", ""),
        file("docs/decisions/0001-one.md", "[up](../../ARCHITECTURE.md)\n"),
        file("docs/decisions/0003-three.md", ""),
        file("docs/it.md", ""),
    ];
    assert_eq!(
        documents::check_all(&files),
        [
            "docs/decisions/0003-three.md: expected number 0002",
            "CHANGELOG.md: needs a section `## [Unreleased]`",
            "docs/reference/settings.md: run `cargo xtask reference`",
            "ARCHITECTURE.md: says nothing of `crates/b`",
            "ARCHITECTURE.md: dead link to docs/gone.md",
        ]
    );
}

#[test]
fn failpoints_have_names_of_their_own() {
    let call = |name: &str| format!("    failpoint::{}(\"{name}\");\n", "reach");
    let files = [
        file("crates/a/src/lib.rs", &(call("x.y") + &call("x.z"))),
        file("crates/b/src/lib.rs", &call("x.y")),
    ];
    let expected = ["crates/b/src/lib.rs:1: failpoint `x.y` is also in crates/a/src/lib.rs:1"];
    assert_eq!(rust::repeated_points(&files), expected);
}

#[test]
fn banned_names_and_repeated_types_are_found() {
    let banned =
        concat!("//! A.\nstruct De", "sk;\nfn f() { let vo", "ice = \"Desk\"; } // Desk\n");
    let files = [file("crates/a/src/a.rs", banned), file("crates/b/src/tests.rs", "//! T.\n")];
    let findings = names::check(&files);
    assert_eq!(findings.len(), 2, "{findings:?}");
    assert!(findings[0].starts_with("crates/a/src/a.rs:2: "), "{findings:?}");
    assert!(findings[1].starts_with("crates/a/src/a.rs:3: "), "{findings:?}");
    let twice = [
        file("crates/a/src/a.rs", "//! A.\npub struct Row;\nstruct Args;\n"),
        file("crates/b/src/b.rs", "//! B.\nenum Row {}\nstruct Args;\n"),
        file("crates/b/src/b/tests.rs", "//! T.\nstruct Row;\n"),
    ];
    let expected = ["type `Row` is defined in crates/a/src/a.rs, crates/b/src/b.rs"];
    assert_eq!(names::check(&twice), expected);
    let module = [file("crates/a/src/words.rs", "//! W.\n")];
    assert_eq!(names::check(&module).len(), 1);
}

#[test]
fn words_of_the_glossary_must_be_used() {
    let glossary = "| word | meaning |\n|---|---|\n| look-ahead | x |\n| ghost word | y |\n";
    let files =
        [file("docs/glossary.md", glossary), file("crates/a/src/a.rs", "struct LookAhead;")];
    let findings = names::unused_words(&files);
    assert_eq!(findings, ["docs/glossary.md: nothing in the code is called `ghost word`"]);
}

#[test]
fn variables_and_exit_codes_must_be_documented() {
    let source = "//! A.\nconst A: &str = \"MOW_A\";\nconst B: &str = \"MOW_B\";\n";
    let codes = "//! F.\n    pub(crate) const X: u8 = 3;\n    pub(crate) const Y: u8 = 4;\n";
    let files = [
        file("crates/mow/src/a.rs", source),
        file("crates/mow/src/failure.rs", codes),
        file("docs/reference/environment.md", "| `MOW_A` | x |\n"),
        file("docs/reference/exit-codes.md", "| 3 | x |\n"),
    ];
    let findings = documents::check_all(&files);
    let about = |page: &str| findings.iter().filter(|one| one.contains(page)).count();
    assert_eq!((about("environment.md: lacks `MOW_B`"), about("lacks exit code 4")), (1, 1));
    assert_eq!((about("environment.md"), about("exit-codes.md")), (1, 1), "{findings:?}");
}

#[test]
fn the_architecture_names_only_code_that_exists() {
    let text = "`core::lead`, `core::gone`, `Lead`, `Gone`, `crates/core`, `crates/gone`, `main`\n";
    let files = [
        file("ARCHITECTURE.md", text),
        file("crates/core/src/lead.rs", "//! L.\nstruct Lead;\n"),
        file("crates/core/src/lib.rs", "//! C.\nmod lead;\n"),
    ];
    let findings = documents::check_all(&files);
    let names = ["core::gone", "Gone", "crates/gone"];
    let expected = names.map(|name| format!("ARCHITECTURE.md: `{name}` does not exist"));
    let found: Vec<_> = findings.iter().filter(|one| one.ends_with("does not exist")).collect();
    assert_eq!(found, expected.iter().collect::<Vec<_>>());
}
