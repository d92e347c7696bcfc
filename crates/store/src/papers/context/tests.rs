//! What people answer ends up where it belongs, and is read there again.

use proptest::prelude::*;

use super::*;
use crate::papers::tests::ABOUT;
use crate::phase_files::{self, Context};

fn answer(number: &str, question: &str, text: &str) -> Answer {
    let (key, question) = (format!("3/discuss/{number}"), question.to_owned());
    Answer { key, question, text: text.to_owned() }
}

fn read(answers: &[Answer]) -> Context {
    phase_files::parse_context(&context(&ABOUT, answers))
}

fn decided(context: &Context) -> Vec<&str> {
    context.decisions.iter().map(|decision| decision.text.as_str()).collect()
}

#[test]
fn the_questions_of_mow_end_with_what_is_free_and_what_is_for_later() {
    let read = read(&[
        answer("1", "Which index?", "A trie:\nfast | small"),
        answer("2", "How fast?", "You decide"),
        answer("3", "Free?", "Names"),
        answer("4", "Later?", "Fuzzy search"),
    ]);
    assert_eq!(decided(&read), ["Which index? -> **A trie: fast | small**"]);
    assert_eq!(read.discretion, ["How fast? -> **You decide**", "Names"]);
    assert_eq!(read.deferred, ["Fuzzy search"]);
}

#[test]
fn the_questions_of_agents_are_sorted_by_their_answers() {
    let read = read(&[
        answer("1.1", "Index: Which one?", "A trie"),
        answer("1.2", "Empty search: What is shown?", "up to you, but never everything"),
        answer("1.3", "Spelling: Are mistakes forgiven?", "Later."),
        answer("2.1", "Index: In memory?", "yes"),
    ]);
    assert_eq!(decided(&read), ["Index: Which one? -> **A trie**", "Index: In memory? -> **yes**"]);
    let free = "Empty search: What is shown? -> **up to you, but never everything**";
    assert_eq!(read.discretion, [free]);
    assert_eq!(read.deferred, ["Spelling: Are mistakes forgiven? -> **Later.**"]);
}

#[test]
fn without_answers_nothing_is_decided() {
    let read = read(&[]);
    assert_eq!(decided(&read), [""; 0]);
    assert_eq!(read.discretion, ["All that is not decided above."]);
    assert!(read.deferred.is_empty());
    let text = String::from_utf8(context(&ABOUT, &[])).unwrap();
    assert!(text.contains("the roadmap asks for no discussion"), "{text}");
}

#[test]
fn only_plain_words_leave_or_put_off() {
    let free = [
        "You decide",
        "you decide!",
        "Up to you",
        "your choice, really",
        "Your call - I trust you",
        "At your discretion",
        "discretion",
        "You choose the colour",
        "Doesn’t matter",
        "as you like",
    ];
    let later = [
        "later",
        "Later: in v2",
        "Not now.",
        "not now but later",
        "defer",
        "Defer it to the next phase",
        "Deferred until version 2",
        "postpone, please",
        "LATER - when there is time",
        "defer to phase 7",
    ];
    let decision = [
        "A trie",
        "Up to your neck in water",
        "Later versions of TLS only",
        "Defer loading of images",
        "Deferred rendering",
        "No discretion",
        "Show it later",
        "Remind me not now",
        "",
        "-",
        "yes",
        "Users decide",
        "Postpone the mail by a minute",
        "defer to the library",
        "latest",
    ];
    for (answers, part) in [
        (&free[..], Part::Discretion),
        (&later[..], Part::Deferred),
        (&decision[..], Part::Decision),
    ] {
        for answer in answers {
            assert_eq!(part_of(answer), part, "{answer}");
        }
    }
}

proptest! {
    #[test]
    fn every_answer_is_found_again_once(
        said in prop::collection::vec(("[a-z]{1,8}", "(later|you decide|[a-z]{1,9}| |,|-|\n|#|é){1,6}"), 1..8),
        fixed: bool,
    ) {
        let answers: Vec<_> = said.iter().enumerate().map(|(n, (question, text))| {
            let number = if fixed { (n + 1).to_string() } else { format!("1.{}", n + 1) };
            answer(&number, &format!("Q{n} {question}?"), &format!("A{n} {text}"))
        }).collect();
        let bytes = context(&ABOUT, &answers);
        let text = String::from_utf8(bytes).unwrap();
        for (n, (_, said)) in said.iter().enumerate() {
            let wanted = one_line(&format!("A{n} {said}"));
            prop_assert_eq!(text.matches(&format!("A{n} ")).count() + text.matches(&format!("A{n}**")).count()
                + text.matches(&format!("A{n}\n")).count(), 1, "{}", text);
            prop_assert!(text.contains(&wanted), "{}", text);
        }
    }
}
