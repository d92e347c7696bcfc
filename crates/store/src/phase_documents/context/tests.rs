//! Tests that each answer goes to the right section and is parsed back from there.

use proptest::prelude::*;

use super::*;
use crate::phase_documents::tests::HEADER;
use crate::phase_files::{self, PhaseContext};

fn answer(number: &str, question: &str, text: &str) -> InboxAnswer {
    let (key, question) = (format!("3/discuss/{number}").parse().unwrap(), question.to_owned());
    InboxAnswer { key, question, text: text.to_owned() }
}

fn read(answers: &[InboxAnswer]) -> PhaseContext {
    phase_files::parse_context(&render_context(&HEADER, answers))
}

fn decisions(context: &PhaseContext) -> Vec<&str> {
    context.decisions.iter().map(|decision| decision.text.as_str()).collect()
}

#[test]
fn the_last_two_standard_questions_ask_for_discretion_and_deferred_ideas() {
    let read = read(&[
        answer("1", "Which index?", "A trie:\nfast | small"),
        answer("2", "How fast?", "You decide"),
        answer("3", "Free?", "Names"),
        answer("4", "Later?", "Fuzzy search"),
    ]);
    assert_eq!(decisions(&read), ["Which index? -> **A trie: fast | small**"]);
    assert_eq!(read.discretion, ["How fast? -> **You decide**", "Names"]);
    assert_eq!(read.deferred, ["Fuzzy search"]);
}

#[test]
fn answers_to_agents_questions_are_classified_by_their_words() {
    let read = read(&[
        answer("1.1", "Index: Which one?", "A trie"),
        answer("1.2", "Empty search: What is shown?", "up to you, but never everything"),
        answer("1.3", "Spelling: Are mistakes forgiven?", "Later."),
        answer("2.1", "Index: In memory?", "yes"),
    ]);
    assert_eq!(
        decisions(&read),
        ["Index: Which one? -> **A trie**", "Index: In memory? -> **yes**"]
    );
    let free = "Empty search: What is shown? -> **up to you, but never everything**";
    assert_eq!(read.discretion, [free]);
    assert_eq!(read.deferred, ["Spelling: Are mistakes forgiven? -> **Later.**"]);
}

#[test]
fn without_answers_nothing_is_decided() {
    let read = read(&[]);
    assert_eq!(decisions(&read), [""; 0]);
    assert_eq!(read.discretion, ["All that is not decided above."]);
    assert!(read.deferred.is_empty());
    let text = String::from_utf8(render_context(&HEADER, &[])).unwrap();
    assert!(text.contains("the roadmap asks for no discussion"), "{text}");
}

#[test]
fn only_certain_first_words_mean_discretion_or_deferral() {
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
    for (answers, kind) in [
        (&free[..], AnswerKind::Discretion),
        (&later[..], AnswerKind::Deferred),
        (&decision[..], AnswerKind::Decision),
    ] {
        for answer in answers {
            assert_eq!(classify(answer), kind, "{answer}");
        }
    }
}

proptest! {
    #[test]
    fn every_answer_appears_exactly_once(
        answer_texts in prop::collection::vec(("[a-z]{1,8}", "(later|you decide|[a-z]{1,9}| |,|-|\n|#|é){1,6}"), 1..8),
        fixed: bool,
    ) {
        let answers: Vec<_> = answer_texts.iter().enumerate().map(|(n, (question, text))| {
            let number = if fixed { (n + 1).to_string() } else { format!("1.{}", n + 1) };
            answer(&number, &format!("Q{n} {question}?"), &format!("A{n} {text}"))
        }).collect();
        let bytes = render_context(&HEADER, &answers);
        let text = String::from_utf8(bytes).unwrap();
        for (n, (_, answer_texts)) in answer_texts.iter().enumerate() {
            let wanted = one_line(&format!("A{n} {answer_texts}"));
            prop_assert_eq!(text.matches(&format!("A{n} ")).count() + text.matches(&format!("A{n}**")).count()
                + text.matches(&format!("A{n}\n")).count(), 1, "{}", text);
            prop_assert!(text.contains(&wanted), "{}", text);
        }
    }
}
