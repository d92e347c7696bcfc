//! Snapshots of the help of every command: a change of a help text shows up in the diff.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::sandbox;

/// Returns every command with its subcommands, by the first word.
fn commands() -> BTreeMap<String, Vec<String>> {
    let listed = sandbox().call(["__commands"]).run().json();
    let mut families: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for command in listed.as_array().expect("a list of commands").iter().filter_map(Value::as_str) {
        let first = command.split(' ').next().expect("a command has a name").to_owned();
        families.entry(first).or_default().push(command.to_owned());
    }
    families
}

fn help(command: &str) -> String {
    let result = sandbox().call(command.split(' ').chain(["--help"])).run();
    assert!(result.stderr.is_empty(), "{command}: {}", result.stderr);
    result.stdout
}

#[test]
fn the_help_of_every_command() {
    for (family, commands) in commands() {
        let mut page = format!("$ mow {family} --help\n{}", help(&family));
        for command in commands.iter().filter(|command| **command != family) {
            page += &format!("\n$ mow {command} --help\n{}", help(command));
        }
        insta::assert_snapshot!(format!("help_{family}"), page);
    }
}

#[test]
fn the_list_of_commands() {
    insta::assert_snapshot!("help", sandbox().call(["--help"]).run().stdout);
}
