//! Words that a real shell reads back as they were.

use std::process::Command;

use super::*;

const WORDS: [&str; 9] =
    ["plain/path-1.rs", "", "a b", "it's", "$HOME `x` \\", "\"", "a\nb", "*?[x]", "ümlaut!"];

#[test]
fn a_shell_reads_a_quoted_word_back() {
    for word in WORDS {
        let script = format!("printf %s {}", quote(word));
        let output = Command::new("sh").args(["-c", &script]).output().unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap(), word, "{script}");
    }
    assert_eq!(quote("src/a.rs"), "src/a.rs", "a plain word stays readable");
    assert_eq!(quote("a\0b"), "ab");
}

#[test]
fn quoted_words_are_split_again() {
    let line = WORDS.map(quote).join(" ");
    assert_eq!(split(&line).unwrap(), WORDS);
    assert_eq!(split("less -P 'a b'").unwrap(), ["less", "-P", "a b"]);
    assert_eq!(split("less 'a"), None);
}
