//! Every command has a help page, and every example on a page is a valid call.

use clap::Parser;

use super::*;

#[test]
fn every_command_has_a_page_with_an_example() {
    for command in callable_commands() {
        let words: Vec<_> = command.split(' ').collect();
        let page = HelpPage::find(words[0]).unwrap_or_else(|| panic!("no page for {command}"));
        assert!(!page.examples(&words[1..]).is_empty(), "no example for {command}");
    }
}

#[test]
fn every_example_is_a_valid_call() {
    let known = callable_commands();
    for (word, text) in pages::PAGES {
        let page = HelpPage { word, text };
        for example in page.parts().flat_map(examples_in) {
            // A page may describe a command that does not exist yet; other examples must be valid.
            let mut words = shell_words(&example);
            words.retain(|word| word != "???");
            if known.contains(&documented_command(&page, &words[1..]))
                && let Err(error) = Cli::try_parse_from(&words)
            {
                panic!("{example}\n{error}");
            }
        }
    }
}

/// Returns the longest prefix of `words` that the page has a part about.
fn documented_command(page: &HelpPage, words: &[String]) -> String {
    let commands = (1..=words.len()).rev().map(|length| words[..length].join(" "));
    let mut documented =
        commands.filter(|command| page.text.contains(&format!("\n## {command}\n")));
    documented.next().unwrap_or_else(|| page.word.to_owned())
}

fn examples_in(part: &str) -> Vec<String> {
    let code = part.lines().filter_map(|line| line.strip_prefix("    "));
    code.filter(|line| line.starts_with("mow")).map(str::to_owned).collect()
}

/// Splits an example like a shell, up to a comment, a pipe or the next command.
fn shell_words(example: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quote = None;
    for c in example.chars() {
        match (c, quote) {
            ('#' | '|' | '&' | '>' | '<', None) => break,
            ('"' | '\'', None) => quote = Some(c),
            (c, Some(open)) if c == open => quote = None,
            (' ', None) => words.push(String::new()),
            (c, _) => words.last_mut().expect("there is a word").push(c),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[test]
fn pages_are_sorted_and_start_with_their_name() {
    assert!(pages::PAGES.is_sorted_by_key(|(word, _)| *word));
    for (word, text) in pages::PAGES {
        assert!(text.starts_with(&format!("# mow {word}\n\n")), "{word}");
        let page = HelpPage { word, text };
        assert!(!page.examples(&[]).is_empty(), "{word} has no example");
        for line in text.lines() {
            assert!(line.chars().count() <= 80, "{word}: {line}");
        }
    }
}

#[test]
fn a_part_is_found_by_the_words_of_its_command() {
    let page = HelpPage {
        word: "a",
        text: "# mow a\n\nText.\n\n    mow a\n\n## a b\n\n    mow a b\n\n## a b c\n\nEnd.\n",
    };
    assert_eq!(page.part(&["b"]), "## a b\n\n    mow a b");
    assert_eq!(page.part(&["b", "c"]), "## a b c\n\nEnd.");
    assert_eq!(page.part(&["x"]), page.text);
    assert_eq!(page.examples(&[]), ["mow a"]);
    assert_eq!(page.examples(&["b"]), ["mow a b"]);
    assert_eq!(page.examples(&["x"]), Vec::<&str>::new());
}
