//! What is taken for an answer.

use super::*;

fn ask(kind: QuestionKind, choices: &[&str]) -> InboxQuestion {
    let choices = choices.iter().map(|&choice| choice.to_owned()).collect();
    InboxQuestion { key: "1/x".to_owned(), kind, question: "Well?".to_owned(), choices }
}

#[test]
fn a_choice_is_taken_by_its_word_its_beginning_or_its_number() {
    let gate = ask(QuestionKind::Gate, &["approve", "reject", "retry"]);
    for (text, choice) in [("Reject", "reject"), (" a ", "approve"), ("3", "retry")] {
        assert_eq!(gate.accept(text).as_deref(), Ok(choice));
    }
    for text in ["", "re", "4", "perhaps"] {
        assert!(gate.accept(text).is_err(), "{text}");
    }
    assert_eq!(gate.verdict(true), Some("approve"));
}

#[test]
fn proposals_may_be_passed_over_and_mean_neither_yes_nor_no() {
    let discuss = ask(QuestionKind::Discuss, &["coerce", "reject"]);
    assert_eq!(discuss.accept("2").as_deref(), Ok("reject"));
    assert_eq!(discuss.accept("you decide").as_deref(), Ok("you decide"));
    assert!(discuss.accept(" ").is_err());
    assert_eq!(discuss.verdict(false), None);
    let item = |ask: InboxQuestion| InboxItem {
        id: 1,
        phase: None,
        ask,
        answer: Some("reject".to_owned()),
    };
    assert!(!item(discuss).is_refused(), "a choice of a discussion ends no phase");
    assert!(item(ask(QuestionKind::Gate, &["approve", "reject"])).is_refused());
}
