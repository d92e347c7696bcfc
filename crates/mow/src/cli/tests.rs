//! The commands that agents are told of are commands.

use clap::Parser;
use mow_prompts::{Prompt, Values, Variable, render};

use super::Cli;

/// Commands that prompts may name before they are there. One that is there is taken off this list.
const COMING: [&str; 0] = [];

/// Returns the commands of mow in a text: in `code`, and on lines of code blocks.
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

/// Returns what the command line says to a command, words in capitals being places for values.
fn refusal(command: &str) -> Option<String> {
    let is_place = |word: &str| {
        word.starts_with(|c: char| c.is_ascii_uppercase())
            && !word.contains(|c: char| c.is_ascii_lowercase())
    };
    let words = command.split_whitespace().map(|word| if is_place(word) { "3" } else { word });
    Cli::try_parse_from(words).err().map(|error| error.to_string())
}

#[test]
fn commands_are_found_in_code_only() {
    let text = "Say mow x, `mow ps`,\n```sh\n$ mow log 3\nls\n```\n`not mow` and `mow roadmap get-phase PHASE`";
    assert_eq!(commands(text), ["mow ps", "mow log 3", "mow roadmap get-phase PHASE"]);
    assert!(refusal("mow roadmap get-phase PHASE --raw").is_none());
    for wrong in ["mow roadmap get-phas PHASE", "mow ps --colour", "mow roadmap get-phase"] {
        assert!(refusal(wrong).is_some(), "{wrong}");
    }
}

#[test]
fn agents_are_told_of_commands_that_there_are() {
    let values = Variable::all().fold(Values::default(), |all, one| all.with(one, "3"));
    let mut count = 0;
    for prompt in Prompt::ALL {
        for command in commands(&render(prompt, None, &values).expect("all values are there")) {
            count += 1;
            let is_coming = COMING.iter().any(|coming| command.starts_with(coming));
            let refusal = refusal(&command);
            assert_eq!(refusal.is_some(), is_coming, "{}: {command}: {refusal:?}", prompt.role());
        }
    }
    assert!(count > 10, "only {count} commands were found");
}
