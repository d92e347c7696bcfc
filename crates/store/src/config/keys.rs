//! Rules for the paths of settings: aliases, defaults, and which paths are known.

use serde_json::{Map, Value};

use super::settings_table::{DefaultValue, FOREIGN, NESTED_DEFAULTS, SETTINGS, Setting};

/// Sections that only mow has. An unknown key in one of them is a typing error.
const OWN_SECTIONS: [&str; 6] =
    ["multi_phase", "messages", "worker", "worktree", "budget", "feedback"];

/// Returns whether an unknown key must be a typing error: it is in a section that only mow has, or
/// it has a plain value where mow expects a section.
pub(super) fn is_typing_error(path: &str) -> bool {
    is_section(path) || OWN_SECTIONS.iter().any(|section| within(path, section))
}

/// Returns the second path of a setting that has two.
pub(super) fn other_spelling(path: &str) -> Option<&'static str> {
    SETTINGS.iter().find_map(|setting| match setting.alias {
        Some(alias) if path == setting.path => Some(alias),
        Some(alias) if path == alias => Some(setting.path),
        _ => None,
    })
}

/// Returns the default that applies to a setting when it is absent.
pub(super) fn applied_default(path: &str) -> Option<DefaultValue> {
    let path = if path == "parallelization" { "parallelization.enabled" } else { path };
    let names = |setting: &&Setting| setting.path == path || setting.alias == Some(path);
    SETTINGS.iter().find(names)?.default
}

/// Returns the default that `config-get` prints for a path.
pub fn default_of(path: &str) -> Option<Value> {
    let printed = SETTINGS.iter().filter(|setting| setting.default_is_printed);
    let defaults = printed.filter_map(|setting| Some((setting.path, setting.default?)));
    let mut defaults = defaults.chain(NESTED_DEFAULTS.iter().copied());
    defaults.find(|(name, _)| *name == path).map(|(_, value)| value.to_json())
}

/// Returns the path of the setting that an environment variable names: `MOW_A__B` is `a.b`.
///
/// A name without `__` counts only if the setting is known: other variables begin with `MOW_` too.
pub(super) fn path_of_variable(name: &str) -> Option<String> {
    let path = name.strip_prefix("MOW_")?.to_ascii_lowercase().replace("__", ".");
    let has_no_empty_part = path.split('.').all(|part| !part.is_empty());
    let is_setting = path.contains('.') || path == "parallelization" || is_known(&path);
    (has_no_empty_part && is_setting).then_some(path)
}

fn all_known() -> impl Iterator<Item = &'static str> {
    let paths =
        SETTINGS.iter().flat_map(|setting| std::iter::once(setting.path).chain(setting.alias));
    paths.chain(FOREIGN.iter().copied())
}

fn is_known(path: &str) -> bool {
    all_known().any(|known| match known.strip_suffix(".*") {
        Some(section) => path == section || within(path, section),
        None => path == known,
    })
}

/// Returns whether a path is a section that contains a known setting.
fn is_section(path: &str) -> bool {
    all_known().any(|known| within(known, path))
}

fn within(path: &str, section: &str) -> bool {
    path.strip_prefix(section).is_some_and(|rest| rest.starts_with('.'))
}

/// Collects the unknown keys below a section. Below an unknown section, nothing is listed.
pub(super) fn collect_unknown(map: &Map<String, Value>, section: &str, into: &mut Vec<String>) {
    for (key, value) in map {
        let path = if section.is_empty() { key.clone() } else { format!("{section}.{key}") };
        if is_known(&path) {
            continue;
        }
        match value {
            Value::Object(inner) if is_section(&path) => collect_unknown(inner, &path, into),
            Value::Bool(_) if path == "parallelization" => {}
            _ => into.push(path),
        }
    }
}
