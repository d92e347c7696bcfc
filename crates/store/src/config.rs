//! config.json: settings with their defaults, and edits of single keys.
//!
//! Some settings have two spellings, one at the top level and one in a section; they are one
//! setting. The top level wins on reading, and writing one updates the other where it exists. The
//! environment is given by the caller: nothing here reads it. Start with [`Config::parse`].

mod keys;

#[cfg(test)]
mod tests;

use mow_core::slug::slug;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::json_edit::{self, JsonError};
use crate::roadmap::milestone::CurrentMilestone;

pub use keys::default_of;

/// The settings of a project: its file with the environment laid over it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Config {
    root: Map<String, Value>,
}

/// The settings every command knows, defaults filled in, in the order they are reported.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Settings {
    /// Which models agents get: `quality`, `balanced`, `budget`; other words act as `balanced`.
    pub model_profile: String,
    /// Whether planning files are committed.
    pub commit_docs: bool,
    /// Whether searches look into ignored files.
    pub search_gitignored: bool,
    /// `none`, `phase` or `milestone`.
    pub branching_strategy: String,
    /// The name of a phase's branch, with `{phase}` and `{slug}`.
    pub phase_branch_template: String,
    /// The name of a milestone's branch, with `{milestone}` and `{slug}`.
    pub milestone_branch_template: String,
    /// Whether phases are researched before planning.
    pub research: bool,
    /// Whether plans are checked before they run.
    pub plan_checker: bool,
    /// Whether phases are verified at their end.
    pub verifier: bool,
    /// Whether plans may run side by side.
    pub parallelization: bool,
    /// Whether agents may search the web.
    pub brave_search: bool,
    /// How often a task is tried.
    pub max_task_attempts: u32,
}

/// The keys of a file that mow does not know.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unknown {
    /// In sections that only mow has, or a value in place of a section: surely mistakes.
    pub slips: Vec<String>,
    /// Anywhere else: another tool, or a person, may have a use for them.
    pub foreign: Vec<String>,
}

impl Settings {
    /// Returns the name of a phase's branch, in a project that gives each phase one.
    pub fn phase_branch(&self, padded: &str, slug: &str) -> Option<String> {
        let template = &self.phase_branch_template;
        (self.branching_strategy == "phase").then(|| filled(template, "{phase}", padded, slug))
    }

    /// Returns the name of a milestone's branch, in a project that gives each milestone one.
    pub fn milestone_branch(&self, milestone: &CurrentMilestone) -> Option<String> {
        let slug = slug(&milestone.name);
        let template = &self.milestone_branch_template;
        (self.branching_strategy == "milestone")
            .then(|| filled(template, "{milestone}", &milestone.version, &slug))
    }
}

fn filled(template: &str, name: &str, value: &str, slug: &str) -> String {
    template.replace(name, value).replace("{slug}", slug)
}

impl Config {
    /// Reads a file; an empty one is a file without settings.
    pub fn parse(bytes: &[u8]) -> Result<Self, JsonError> {
        json_edit::parse(bytes).map(|root| Self { root })
    }

    /// Lays `MOW_A__B=value` over `a.b`, for all variables that name a setting.
    #[must_use]
    pub fn with_overrides<N, V>(mut self, variables: impl IntoIterator<Item = (N, V)>) -> Self
    where
        N: AsRef<str>,
        V: AsRef<str>,
    {
        for (name, value) in variables {
            let Some(path) = keys::path_of_variable(name.as_ref()) else { continue };
            let value = parse_scalar(value.as_ref());
            for path in self.spellings(&path) {
                put(&mut self.root, &path, &value);
            }
        }
        self
    }

    /// Returns the settings every command knows.
    pub fn settings(&self) -> Settings {
        Settings {
            model_profile: self.text("model_profile", "balanced"),
            commit_docs: self.flag("commit_docs", true),
            search_gitignored: self.flag("search_gitignored", false),
            branching_strategy: self.text("branching_strategy", "none"),
            phase_branch_template: self.text("phase_branch_template", "mow/phase-{phase}-{slug}"),
            milestone_branch_template: self
                .text("milestone_branch_template", "mow/{milestone}-{slug}"),
            research: self.flag("research", true),
            plan_checker: self.flag("plan_checker", true),
            verifier: self.flag("verifier", true),
            parallelization: self.flag("parallelization", true),
            brave_search: self.flag("brave_search", false),
            max_task_attempts: self.number("max_task_attempts", 5),
        }
    }

    /// Returns the value of a setting in the file or the environment, in either spelling.
    pub fn value(&self, path: &str) -> Option<&Value> {
        let own = find(&self.root, path);
        own.or_else(|| keys::twin(path).and_then(|twin| find(&self.root, twin)))
    }

    /// Returns the value of a setting, else its default; `None` for one that has neither.
    pub fn lookup(&self, path: &str) -> Option<Value> {
        self.value(path).cloned().or_else(|| default_of(path))
    }

    /// Returns the model that is set for an agent; `gsd-` in a name means `mow-`.
    pub fn model_override(&self, agent: &str) -> Option<&str> {
        let overrides = self.root.get("model_overrides")?.as_object()?;
        let older = agent.strip_prefix("mow-").map(|name| format!("gsd-{name}"));
        let found = overrides.get(agent).or_else(|| overrides.get(&older?));
        found?.as_str().filter(|model| !model.is_empty())
    }

    /// Returns the paths of keys that mow does not know, each at its highest level.
    pub fn unknown_keys(&self) -> Unknown {
        let mut unknown = Vec::new();
        keys::collect_unknown(&self.root, "", &mut unknown);
        let (slips, foreign) = unknown.into_iter().partition(|path| keys::is_slip(path));
        Unknown { slips, foreign }
    }

    fn text(&self, key: &str, default: &str) -> String {
        let value = self.known(key).and_then(Value::as_str).filter(|text| !text.is_empty());
        value.unwrap_or(default).to_owned()
    }

    fn flag(&self, key: &str, default: bool) -> bool {
        let value = self.known(key).map(|value| value.get("enabled").unwrap_or(value));
        match value {
            Some(Value::Bool(flag)) => *flag,
            Some(Value::String(word)) if word.eq_ignore_ascii_case("true") => true,
            Some(Value::String(word)) if word.eq_ignore_ascii_case("false") => false,
            _ => default,
        }
    }

    fn number(&self, key: &str, default: u32) -> u32 {
        let value = self.known(key).and_then(Value::as_u64);
        value.and_then(|number| u32::try_from(number).ok()).unwrap_or(default)
    }

    /// Returns the value of the first spelling that is not null.
    fn known(&self, key: &str) -> Option<&Value> {
        let mut spellings = std::iter::once(key).chain(keys::twin(key));
        spellings.find_map(|path| find(&self.root, path).filter(|value| !value.is_null()))
    }

    /// Returns the paths to write so that a setting has one value.
    fn spellings(&self, path: &str) -> Vec<String> {
        // The object form of a switch keeps its other keys.
        let is_switch =
            path == "parallelization" && self.root.get(path).is_some_and(Value::is_object);
        if is_switch {
            return vec!["parallelization.enabled".to_owned()];
        }
        let twin = keys::twin(path).filter(|twin| find(&self.root, twin).is_some());
        std::iter::once(path).chain(twin).map(str::to_owned).collect()
    }
}

/// Gives a setting a value in a file and leaves all other bytes as they are.
pub fn set(bytes: &[u8], path: &str, value: &Value) -> Result<Vec<u8>, JsonError> {
    let config = Config::parse(bytes)?;
    let paths = if value.is_object() { vec![path.to_owned()] } else { config.spellings(path) };
    paths.iter().try_fold(bytes.to_vec(), |bytes, path| {
        json_edit::set(&bytes, &path.split('.').collect::<Vec<_>>(), value)
    })
}

/// Reads a value given as text: `true`, `false`, a number in JSON's own spelling, else the text.
pub fn parse_scalar(text: &str) -> Value {
    match text {
        "true" => return Value::Bool(true),
        "false" => return Value::Bool(false),
        _ => {}
    }
    let number = serde_json::from_str::<serde_json::Number>(text).ok();
    // An integer too long to be kept exactly stays text.
    let is_whole = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    match number {
        Some(number) if !is_whole || number.is_i64() || number.is_u64() => Value::Number(number),
        _ => Value::String(text.to_owned()),
    }
}

fn find<'a>(root: &'a Map<String, Value>, path: &str) -> Option<&'a Value> {
    let mut parts = path.split('.');
    let first = root.get(parts.next()?)?;
    parts.try_fold(first, |value, part| value.as_object()?.get(part))
}

fn put(root: &mut Map<String, Value>, path: &str, value: &Value) {
    match path.split_once('.') {
        None => {
            root.insert(path.to_owned(), value.clone());
        }
        Some((key, rest)) => {
            let inner = root.entry(key).or_insert(Value::Null);
            if let Value::Object(map) = inner {
                put(map, rest, value);
            } else {
                let mut map = Map::new();
                put(&mut map, rest, value);
                *inner = Value::Object(map);
            }
        }
    }
}
