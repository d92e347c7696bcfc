//! What is taken for an answer.

use super::*;
use crate::stage::Stage;

fn ask(kind: QuestionKind, choices: &[&str]) -> InboxQuestion {
    let key = QuestionTopic::MarkedDone.of_phase(PhaseNumber::whole(1));
    InboxQuestion::new(key, kind, "Well?").with_choices(choices.iter().copied())
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

#[test]
fn every_stored_key_is_read_as_its_topic_and_written_again() {
    let check = |text: &str, topic: QuestionTopic| {
        let key: QuestionKey = text.parse().unwrap();
        assert_eq!((key.topic(), key.to_string().as_str()), (&topic, text));
        let json = serde_json::to_string(&key).unwrap();
        assert_eq!(serde_json::from_str::<QuestionKey>(&json).unwrap(), key);
    };
    let (session, request) = ("executor-03-01".to_owned(), "toolu/01.x".to_owned());
    check("3/discuss/2", QuestionTopic::StandardDiscuss(2));
    check("2.1/discuss/1.4", QuestionTopic::Discuss { round: 1, number: 4 });
    check("3/gate/plan", QuestionTopic::Gate(Stage::Plan));
    check("3/checkpoint/03-01/2", QuestionTopic::Checkpoint { plan: "03-01".into(), task: 2 });
    check("3/blocker/03-01/2#3", QuestionTopic::Blocker { plan: "03-01".into(), task: 2, time: 3 });
    check("3/plans#1", QuestionTopic::Plans { time: 1 });
    check("3/gaps#2", QuestionTopic::Gaps { time: 2 });
    check("3/failed#4", QuestionTopic::Failed { attempt: 4 });
    check("3/conflict#1", QuestionTopic::Conflict { time: 1 });
    check("3/ticked", QuestionTopic::MarkedDone);
    check("3/hung/2#1", QuestionTopic::Hung { attempt: 2, time: 1 });
    check("3/stuck/2.17#1", QuestionTopic::Stuck { attempt: 2, effect: 17, time: 1 });
    check("3/complete/2", QuestionTopic::CompletePlans { attempt: 2 });
    check("breaker#2", QuestionTopic::Breaker { time: 2 });
    check("denied#3", QuestionTopic::AgentsDenied { time: 3 });
    check(
        "3/permission/executor-03-01/toolu/01.x",
        QuestionTopic::Permission { session: session.clone(), request: request.clone() },
    );
    check(
        "3/question/executor-03-01/toolu/01.x.2",
        QuestionTopic::AgentQuestion { session, request, number: 2 },
    );
    for other in ["", "3/gate/dance", "03/ticked", "3/plans", "3/plans#01", "x", "3/discuss/"] {
        check(other, QuestionTopic::Other(other.to_owned()));
    }
}

#[test]
fn the_digest_changes_with_all_that_a_person_is_shown() {
    let base = ask(QuestionKind::Permission, &["allow", "deny"]);
    let subject = |command: &str| QuestionSubject {
        action: Some(SubjectAction::Command(command.to_owned())),
        ..QuestionSubject::default()
    };
    let others = [
        InboxQuestion { question: "Really?".to_owned(), ..base.clone() },
        base.clone().with_choices(["allow", "always", "deny"]),
        base.clone().with_choices([AnswerChoice::described("allow", "once"), "deny".into()]),
        base.clone().with_subject(subject("rm a")),
        base.clone().with_subject(subject("rm b")),
    ];
    let digests: std::collections::BTreeSet<_> =
        others.iter().chain([&base]).map(InboxQuestion::digest).collect();
    assert_eq!(digests.len(), others.len() + 1);
    let stored = serde_json::to_string(&others[2]).unwrap();
    let read: InboxQuestion = serde_json::from_str(&stored).unwrap();
    assert_eq!((&read, read.digest()), (&others[2], others[2].digest()));
}
