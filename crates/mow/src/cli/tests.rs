//! Checks that every `mow` command named in an agent prompt exists and parses.

use clap::Parser;
use mow_prompts::{Prompt, PromptValues, Variable, render};

use super::Cli;

/// Commands that prompts may name before they exist. Remove a command here once it exists.
const NOT_YET_IMPLEMENTED: [&str; 0] = [];

/// Returns the `mow` commands in a text: in inline code, and on lines of code blocks.
fn commands(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut is_code = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        } else if is_code {
            found.push(line.trim().trim_start_matches("$ "));
        } else {
            found.extend(line.split('`').skip(1).step_by(2));
        }
    }
    found.retain(|code| code.split_whitespace().next() == Some("mow"));
    found.into_iter().map(str::to_owned).collect()
}

/// Returns the parse error of a command, if any. Words in capitals stand for values.
fn parse_error(command: &str) -> Option<String> {
    let is_placeholder = |word: &str| {
        word.starts_with(|c: char| c.is_ascii_uppercase())
            && !word.contains(|c: char| c.is_ascii_lowercase())
    };
    let words =
        command.split_whitespace().map(|word| if is_placeholder(word) { "3" } else { word });
    Cli::try_parse_from(words).err().map(|error| error.to_string())
}

#[test]
fn commands_are_found_in_code_only() {
    let text = "Say mow x, `mow ps`,\n```sh\n$ mow log 3\nls\n```\n`not mow` and `mow roadmap get-phase PHASE`";
    assert_eq!(commands(text), ["mow ps", "mow log 3", "mow roadmap get-phase PHASE"]);
    assert!(parse_error("mow roadmap get-phase PHASE --raw").is_none());
    for wrong in ["mow roadmap get-phas PHASE", "mow ps --colour", "mow roadmap get-phase"] {
        assert!(parse_error(wrong).is_some(), "{wrong}");
    }
}

#[test]
fn prompts_name_only_commands_that_parse() {
    let values = Variable::all()
        .fold(PromptValues::default(), |values, variable| values.with(variable, "3"));
    let mut count = 0;
    for prompt in Prompt::ALL {
        for command in commands(&render(prompt, None, &values).expect("all variables have a value"))
        {
            count += 1;
            let is_not_implemented =
                NOT_YET_IMPLEMENTED.iter().any(|name| command.starts_with(name));
            let error = parse_error(&command);
            assert_eq!(
                error.is_some(),
                is_not_implemented,
                "{}: {command}: {error:?}",
                prompt.role()
            );
        }
    }
    assert!(count > 10, "only {count} commands were found");
}
