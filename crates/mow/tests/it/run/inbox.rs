//! People answer the same questions at the same time, and they and the lead are killed at any moment:
//! each question has one answer, whoever is told that it counts is right, and the phase gets just it.
//!
//! `MOW_INBOX_CRITERIA` sets how many questions there are about each of three phases, but for three.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use mow_testkit::dice::Dice;
use mow_testkit::field::{ALL, Field};

use super::{field, sown};

const CRITERIA_DEFAULT: usize = 80;
const PEOPLE: u64 = 2;
/// How long a lead lives at most; starting one takes a good part of that.
const LEAD_MS_MAX: u64 = 500;
/// How long a person's command lives at most before it is killed.
const COMMAND_MICROS_MAX: u64 = 40_000;

fn criteria() -> usize {
    let count = std::env::var("MOW_INBOX_CRITERIA").ok();
    count.map_or(CRITERIA_DEFAULT, |text| text.parse().expect("a number"))
}

/// Three phases about which there is a lot to ask.
fn asked() -> Field {
    let lines: String = (1..=criteria()).map(|n| format!("{n}. Row {n} is straight\n")).collect();
    let details = format!("**Success Criteria**:\n{lines}");
    let phases = ["1", "2", "3"].map(|n| sown(n, &[], "").undiscussed().details(&details));
    field(&phases)
}

/// Answers all questions in an order of one's own; some commands are killed and given again. Returns
/// the answers that counted, as the commands said, and how many commands were killed.
fn answer_on(field: &Field, person: u64, items: &[u64]) -> (BTreeMap<u64, String>, usize) {
    let mut dice = Dice::new(person);
    let (mut won, mut killed) = (BTreeMap::new(), 0);
    let mut items = items.to_vec();
    for at in (1..items.len()).rev() {
        items.swap(at, usize::try_from(dice.below(at as u64 + 1)).expect("it is small"));
    }
    for item in items {
        for tries in 0.. {
            let text = format!("word-{person}-{tries}-of-{item}.");
            let call = field.start(&["answer", &item.to_string(), &text]);
            if dice.below(4) == 0 {
                // This is no wait for anything: it is how long the command lives.
                thread::sleep(Duration::from_micros(dice.below(COMMAND_MICROS_MAX)));
                call.kill();
                killed += 1;
                continue;
            }
            let (status, said) = call.end();
            match status.code() {
                Some(0) => assert!(won.insert(item, text).is_none(), "question {item} twice"),
                Some(1) => assert!(said.contains("answered"), "question {item}: {said}"),
                code => panic!("question {item} ended with {code:?}: {said}"),
            }
            break;
        }
    }
    (won, killed)
}

/// Starts leads and kills them until it is told to stop; returns how many there were.
fn lead_on(field: &Field, stop: &AtomicBool) -> usize {
    let mut dice = Dice::new(99);
    let mut leads = 0;
    while !stop.load(Ordering::Relaxed) {
        let lead = field.start(&ALL);
        thread::sleep(Duration::from_millis(dice.below(LEAD_MS_MAX)));
        lead.kill();
        leads += 1;
    }
    leads
}

#[test]
fn each_question_has_one_answer_whoever_dies() {
    let field = asked();
    field.ends(&ALL, 5);
    let asked = field.events().into_iter().filter(|event| event["event"] == "asked");
    let items: Vec<u64> = asked.filter_map(|event| event["item"]["id"].as_u64()).collect();
    assert_eq!(items.len(), 3 * (criteria() + 3));
    let stop = AtomicBool::new(false);
    let (people, leads) = thread::scope(|scope| {
        let lead = scope.spawn(|| lead_on(&field, &stop));
        let people: Vec<_> = (0..PEOPLE)
            .map(|person| {
                let (field, items) = (&field, &items);
                scope.spawn(move || answer_on(field, person, items))
            })
            .collect();
        let people: Vec<_> = people.into_iter().map(thread::ScopedJoinHandle::join).collect();
        stop.store(true, Ordering::Relaxed);
        (people, lead.join().expect("it only starts leads"))
    });
    let people: Vec<_> = people.into_iter().map(|person| person.expect("it ends well")).collect();
    field.ends(&ALL, 0);
    field.inspect();
    check(&field, &items, &people);
    let killed: usize = people.iter().map(|(_, killed)| killed).sum();
    let won: usize = people.iter().map(|(won, _)| won.len()).sum();
    println!("{} questions, {won} won, {killed} commands and {leads} leads killed", items.len());
}

/// Checks what the lead took up against what people were told, and what the phases wrote down.
fn check(field: &Field, items: &[u64], people: &[(BTreeMap<u64, String>, usize)]) {
    let mut answers: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    for event in field.events().iter().filter(|event| event["event"] == "answered") {
        let text = event["text"].as_str().expect("a text").to_owned();
        answers.entry(event["item"].as_u64().expect("a number")).or_default().push(text);
    }
    let contexts: String = ["01", "02", "03"]
        .map(|n| field.git(&["show", &format!("main:{}", context_of(n))]))
        .concat();
    for item in items {
        let given = answers.get(item).map_or(&[][..], Vec::as_slice);
        let [answer] = given else { panic!("question {item} has the answers {given:?}") };
        let told: Vec<_> = people.iter().filter_map(|(won, _)| won.get(item)).collect();
        assert!(told.len() <= 1, "question {item} was won by {told:?}");
        assert!(told.iter().all(|text| *text == answer), "question {item}: {told:?}, {answer}");
        assert_eq!(contexts.matches(answer.as_str()).count(), 1, "question {item}: {contexts}");
    }
}

fn context_of(padded: &str) -> String {
    let number = padded.trim_start_matches('0');
    format!(".planning/phases/{padded}-field-{number}/{padded}-CONTEXT.md")
}
