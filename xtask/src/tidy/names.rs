//! Rules about names: no banned identifier, no type name twice, no unused word in the glossary.
//!
//! Identifiers are found by a tokenizer, so comments and strings are not looked at.

use super::SourceFile;
use proc_macro2::{Ident, TokenStream, TokenTree};
use std::collections::BTreeMap;

/// Names that a stranger cannot guess, and what to say instead. Types first, then modules and values.
const BANNED: &[(&str, &str)] = &[
    ("Blow", "KillPoint"),
    ("Cast", "AgentConfig"),
    ("Counterpart", "AgentCallbacks"),
    ("Desk", "PhaseWorkspace, or the part of it that is meant"),
    ("Draft", "DecisionBuilder"),
    ("Ear", "PeerInbox"),
    ("Face", "RunObserver"),
    ("Hands", "EffectRunner"),
    ("Played", "RoleResult"),
    ("Pump", "JsonLineProcess"),
    ("Said", "what was said: an answer, a message, a report"),
    ("Site", "RunContext"),
    ("Told", "what was told: a message, a report"),
    ("Track", "PhaseState"),
    ("Trial", "MergeCheck"),
    ("Trouble", "FailureKind"),
    ("Voice", "WorkerChannel"),
    ("behind", "what is behind what"),
    ("beside", "parallel_plans"),
    ("cast", "agent_config"),
    ("deciding", "check_inputs"),
    ("desk", "workspace"),
    ("ear", "peer_inbox"),
    ("employ", "run_agent_job"),
    ("foresight", "look_ahead"),
    ("hands", "effects"),
    ("hear", "on_report"),
    ("mourn", "worker_died"),
    ("obey", "on_command"),
    ("papers", "phase_documents"),
    ("part_from", "worker_exited"),
    ("played", "result"),
    ("purse", "spent"),
    ("said", "agent_answer, text, message"),
    ("site", "context"),
    ("told", "message, report"),
    ("trouble", "failure"),
    ("voice", "channel"),
];

/// Modules that may not be called so; as identifiers the words have an ordinary meaning.
const BANNED_MODULES: &[&str] = &[
    "declared", "fit", "hand", "minutes", "paper", "plain", "player", "pump", "talk", "touch",
    "trial", "words",
];

/// Type names that several modules define, because the module is part of the name.
///
/// The machines of lead and worker have one vocabulary each (`lead::Event`, `worker::Event`), a
/// command has its `Args`, a module has its `Error`.
const SHARED_TYPES: &[&str] = &[
    "Args", "Command", "Decision", "Effect", "Error", "Event", "Input", "Outcome", "Settings",
    "Status",
];

pub(super) fn check(files: &[SourceFile]) -> Vec<String> {
    let mut findings = Vec::new();
    let mut types: BTreeMap<String, Vec<String>> = BTreeMap::new();
    // The list of banned names is not a use of them; a fuzz target is a crate of its own.
    let sources =
        files.iter().filter(|file| file.is_rust() && !file.path.ends_with("tidy/names.rs"));
    for file in sources {
        let Ok(tokens) = file.text.parse::<TokenStream>() else {
            findings.push(format!("{}: is not valid Rust", file.path));
            continue;
        };
        findings.extend(banned_module(&file.path));
        let mut scan = NameScan { path: &file.path, findings: &mut findings, types: Vec::new() };
        scan.walk(tokens);
        let defined = scan.types;
        if !file.is_of_tests() {
            for name in defined {
                types.entry(name).or_default().push(file.path.clone());
            }
        }
    }
    findings.extend(repeated_types(&types));
    findings
}

/// What is found in one file.
struct NameScan<'a> {
    path: &'a str,
    findings: &'a mut Vec<String>,
    types: Vec<String>,
}

impl NameScan<'_> {
    fn walk(&mut self, tokens: TokenStream) {
        let mut defines_type = false;
        for token in tokens {
            match token {
                TokenTree::Group(group) => self.walk(group.stream()),
                TokenTree::Ident(ident) => {
                    let name = ident.to_string();
                    if defines_type {
                        self.types.push(name.clone());
                    }
                    defines_type = matches!(name.as_str(), "struct" | "enum" | "trait" | "union");
                    self.report_banned(&ident, &name);
                }
                TokenTree::Punct(_) | TokenTree::Literal(_) => defines_type = false,
            }
        }
    }

    fn report_banned(&mut self, ident: &Ident, name: &str) {
        if let Some((_, better)) = BANNED.iter().find(|(banned, _)| *banned == name) {
            let line = ident.span().start().line;
            self.findings.push(format!("{}:{line}: `{name}`: say {better}", self.path));
        }
    }
}

fn banned_module(path: &str) -> Option<String> {
    let is_banned = |part: &str| BANNED_MODULES.contains(&part.trim_end_matches(".rs"));
    let part = path.split('/').find(|part| is_banned(part))?;
    Some(format!("{path}: `{part}` does not say what the module holds"))
}

fn repeated_types(types: &BTreeMap<String, Vec<String>>) -> Vec<String> {
    let repeated = types
        .iter()
        .filter(|(name, places)| places.len() > 1 && !SHARED_TYPES.contains(&name.as_str()));
    repeated
        .map(|(name, places)| format!("type `{name}` is defined in {}", places.join(", ")))
        .collect()
}

/// Finds words of the glossary that neither the code nor the documents use.
pub(super) fn unused_words(files: &[SourceFile]) -> Vec<String> {
    let Some(glossary) = files.iter().find(|file| file.path == "docs/glossary.md") else {
        return vec!["docs/glossary.md is missing".to_owned()];
    };
    let others = files.iter().filter(|file| file.path.starts_with("crates/") && file.is_rust());
    let text: String = others.map(|file| words_of(&file.text)).collect();
    let rows =
        glossary.text.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
    let words = rows.filter(|word| *word != "word" && !word.starts_with('-'));
    words
        .filter(|word| !text.contains(&format!(" {}", words_of(word).trim())))
        .map(|word| format!("docs/glossary.md: nothing in the code is called `{word}`"))
        .collect()
}

/// Returns the words of a text in lower case, with one blank between them.
fn words_of(text: &str) -> String {
    let mut words = String::with_capacity(text.len() + 1);
    let mut was_lower = false;
    for letter in text.chars() {
        if !letter.is_alphanumeric() {
            if !words.ends_with(' ') {
                words.push(' ');
            }
            was_lower = false;
            continue;
        }
        if letter.is_uppercase() && was_lower {
            words.push(' ');
        }
        was_lower = letter.is_lowercase();
        words.extend(letter.to_lowercase());
    }
    format!(" {words}")
}
