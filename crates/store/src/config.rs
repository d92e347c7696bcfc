//! Reads the settings of `config.json` with their defaults, and edits single keys.
//!
//! Some settings have two paths, one at the top level and one in a section. On reading, the top
//! level wins; a write to one path also updates the other if it exists. The caller passes the
//! environment; this module does not read it. Start with [`Config::parse`].

mod keys;
mod settings_table;

#[cfg(test)]
mod tests;

use mow_core::slug::slug;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::json_edit::{self, JsonError};
use crate::roadmap::milestone::CurrentMilestone;

pub use keys::default_of;
pub use settings_table::{DefaultValue, FOREIGN, SETTINGS, Setting};

/// The settings of a project: its file, overridden by environment variables.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Config {
    root: Map<String, Value>,
}

/// The settings that the contract's commands report, with defaults, in the contract's order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Settings {
    /// The model profile: `quality`, `balanced` or `budget`; other words act as `balanced`.
    pub model_profile: String,
    /// Whether planning files are committed.
    pub commit_docs: bool,
    /// Whether searches include ignored files.
    pub search_gitignored: bool,
    /// What gets a branch of its own: `none`, `phase` or `milestone`.
    pub branching_strategy: String,
    /// The template for a phase's branch, with `{phase}` and `{slug}`.
    pub phase_branch_template: String,
    /// The template for a milestone's branch, with `{milestone}` and `{slug}`.
    pub milestone_branch_template: String,
    /// Whether phases are researched before planning.
    pub research: bool,
    /// Whether plans are checked before they run.
    pub plan_checker: bool,
    /// Whether phases are verified after their plans.
    pub verifier: bool,
    /// Whether plans may run in parallel.
    pub parallelization: bool,
    /// Whether agents may search the web.
    pub brave_search: bool,
    /// The maximum number of attempts at a task.
    pub max_task_attempts: u32,
}

/// The unknown keys of a `config.json`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnknownKeys {
    /// Keys in a section that only mow has, or a plain value instead of a section: surely mistakes.
    pub typing_errors: Vec<String>,
    /// All other unknown keys: another tool or a person may use them.
    pub foreign: Vec<String>,
}

impl Settings {
    /// Returns the name of a phase's branch; `None` unless the strategy is `phase`.
    pub fn phase_branch(&self, padded: &str, slug: &str) -> Option<String> {
        let template = &self.phase_branch_template;
        (self.branching_strategy == "phase")
            .then(|| fill_template(template, "{phase}", padded, slug))
    }

    /// Returns the name of a milestone's branch; `None` unless the strategy is `milestone`.
    pub fn milestone_branch(&self, milestone: &CurrentMilestone) -> Option<String> {
        let slug = slug(&milestone.name);
        let template = &self.milestone_branch_template;
        (self.branching_strategy == "milestone")
            .then(|| fill_template(template, "{milestone}", &milestone.version, &slug))
    }
}

fn fill_template(template: &str, name: &str, value: &str, slug: &str) -> String {
    template.replace(name, value).replace("{slug}", slug)
}

impl Config {
    /// Parses `config.json`; an empty file has no settings.
    pub fn parse(bytes: &[u8]) -> Result<Self, JsonError> {
        json_edit::parse(bytes).map(|root| Self { root })
    }

    /// Overrides `a.b` with the value of `MOW_A__B`, for all variables that name a setting.
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
                insert_at(&mut self.root, &path, &value);
            }
        }
        self
    }

    /// Returns the settings that the contract's commands report.
    pub fn settings(&self) -> Settings {
        Settings {
            model_profile: self.text("model_profile"),
            commit_docs: self.flag("commit_docs"),
            search_gitignored: self.flag("search_gitignored"),
            branching_strategy: self.text("branching_strategy"),
            phase_branch_template: self.text("phase_branch_template"),
            milestone_branch_template: self.text("milestone_branch_template"),
            research: self.flag("research"),
            plan_checker: self.flag("plan_checker"),
            verifier: self.flag("verifier"),
            parallelization: self.flag("parallelization"),
            brave_search: self.flag("brave_search"),
            max_task_attempts: self.number("max_task_attempts"),
        }
    }

    /// Returns the value of a setting in the file or the environment, by either of its paths.
    pub fn value(&self, path: &str) -> Option<&Value> {
        let own = find(&self.root, path);
        own.or_else(|| keys::other_spelling(path).and_then(|other| find(&self.root, other)))
    }

    /// Returns the value of a setting, else its default; `None` without both.
    pub fn lookup(&self, path: &str) -> Option<Value> {
        self.value(path).cloned().or_else(|| default_of(path))
    }

    /// Returns the model override of an agent; a key with the prefix `gsd-` also means `mow-`.
    pub fn model_override(&self, agent: &str) -> Option<&str> {
        let overrides = self.root.get("model_overrides")?.as_object()?;
        let older_name = agent.strip_prefix("mow-").map(|name| format!("gsd-{name}"));
        let found = overrides.get(agent).or_else(|| overrides.get(&older_name?));
        found?.as_str().filter(|model| !model.is_empty())
    }

    /// Returns the paths of unknown keys. Below an unknown section, only the section is listed.
    pub fn unknown_keys(&self) -> UnknownKeys {
        let mut unknown = Vec::new();
        keys::collect_unknown(&self.root, "", &mut unknown);
        let (typing_errors, foreign) =
            unknown.into_iter().partition(|path| keys::is_typing_error(path));
        UnknownKeys { typing_errors, foreign }
    }

    fn text(&self, key: &str) -> String {
        let default = match keys::applied_default(key) {
            Some(DefaultValue::Text(text)) => text,
            _ => "",
        };
        let value = self.first_value(key).and_then(Value::as_str).filter(|text| !text.is_empty());
        value.unwrap_or(default).to_owned()
    }

    fn flag(&self, key: &str) -> bool {
        // `parallelization` may be a section with the key `enabled`.
        let value = self.first_value(key).map(|value| value.get("enabled").unwrap_or(value));
        match value {
            Some(Value::Bool(flag)) => *flag,
            Some(Value::String(word)) if word.eq_ignore_ascii_case("true") => true,
            Some(Value::String(word)) if word.eq_ignore_ascii_case("false") => false,
            _ => match keys::applied_default(key) {
                Some(DefaultValue::Flag(flag)) => flag,
                _ => false,
            },
        }
    }

    fn number(&self, key: &str) -> u32 {
        let default = match keys::applied_default(key) {
            Some(DefaultValue::Number(number)) => number,
            _ => 0,
        };
        let value = self.first_value(key).and_then(Value::as_u64);
        value.and_then(|number| u32::try_from(number).ok()).unwrap_or(default)
    }

    /// Returns the first value that is not null, of the setting's path and its alias.
    fn first_value(&self, key: &str) -> Option<&Value> {
        let mut spellings = std::iter::once(key).chain(keys::other_spelling(key));
        spellings.find_map(|path| find(&self.root, path).filter(|value| !value.is_null()))
    }

    /// Returns the paths to write, so that both paths of a setting have the same value.
    fn spellings(&self, path: &str) -> Vec<String> {
        // If `parallelization` is a section, only its key `enabled` changes.
        let is_switch =
            path == "parallelization" && self.root.get(path).is_some_and(Value::is_object);
        if is_switch {
            return vec!["parallelization.enabled".to_owned()];
        }
        let other = keys::other_spelling(path).filter(|other| find(&self.root, other).is_some());
        std::iter::once(path).chain(other).map(str::to_owned).collect()
    }
}

/// Sets the value of a setting in the bytes of a file, and keeps all other bytes.
pub fn set(bytes: &[u8], path: &str, value: &Value) -> Result<Vec<u8>, JsonError> {
    let config = Config::parse(bytes)?;
    let paths = if value.is_object() { vec![path.to_owned()] } else { config.spellings(path) };
    paths.iter().try_fold(bytes.to_vec(), |bytes, path| {
        json_edit::set(&bytes, &path.split('.').collect::<Vec<_>>(), value)
    })
}

/// Parses a value given as text: `true`, `false`, a JSON number, else the text itself.
pub fn parse_scalar(text: &str) -> Value {
    match text {
        "true" => return Value::Bool(true),
        "false" => return Value::Bool(false),
        _ => {}
    }
    let number = serde_json::from_str::<serde_json::Number>(text).ok();
    // An integer that does not fit into 64 bits stays text, because it would lose digits.
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

/// Inserts a value at a dotted path. Missing sections are created; other values are replaced.
fn insert_at(root: &mut Map<String, Value>, path: &str, value: &Value) {
    match path.split_once('.') {
        None => {
            root.insert(path.to_owned(), value.clone());
        }
        Some((key, rest)) => {
            let inner = root.entry(key).or_insert(Value::Null);
            if let Value::Object(map) = inner {
                insert_at(map, rest, value);
            } else {
                let mut map = Map::new();
                insert_at(&mut map, rest, value);
                *inner = Value::Object(map);
            }
        }
    }
}
