//! Tests how records are shown.

use mow_engine::activity::ActivityKind;

use super::*;

fn shown(width: Option<usize>, kind: ActivityKind) -> String {
    let (plan, task) = (Some("01-02".to_owned()), Some(3));
    let source = ActivitySource { role: "executor".to_owned(), plan, task };
    let record = ActivityRecord { at: 0, source, kind };
    let text = Renderer::for_width(width).entry(&record);
    let text = anstream::adapter::strip_str(&text).to_string();
    // The time of day depends on the time zone.
    text.lines().map(|line| format!("{}\n", line.get(8..).unwrap_or_default())).collect()
}

#[test]
fn commands_are_shown_completely() {
    let summary = format!("echo {}\n\techo two", "x".repeat(200));
    let kind = ActivityKind::Tool {
        call: "c".to_owned(),
        name: "Bash".to_owned(),
        summary,
        input: serde_json::Value::Null,
    };
    let x = "x".repeat(200);
    let indent = " ".repeat(PREFIX_COLUMNS - 8);
    let expected = format!("  executor 01-02/3    Bash: echo {x}\n{indent}   echo two\n");
    assert_eq!(shown(Some(80), kind), expected);
}

#[test]
fn texts_are_wrapped_on_a_terminal_only() {
    let text = || ActivityKind::Text { text: "word ".repeat(20) + "\n\nend" };
    let lines = shown(Some(80), text());
    assert!(lines.lines().all(|line| line.len() <= 72) && lines.lines().count() == 3, "{lines}");
    assert_eq!(shown(None, text()).lines().count(), 2);
}

#[test]
fn control_characters_never_reach_the_terminal() {
    let bad = "\u{1b}]0;title\u{7}\u{1b}[31mred\r".to_owned();
    let kinds = [
        ActivityKind::Text { text: bad.clone() },
        ActivityKind::Output { text: bad.clone() },
        ActivityKind::CommandStarted { command: bad.clone(), log: String::new() },
        ActivityKind::Ended { ok: false, text: bad.clone() },
        ActivityKind::Result { call: String::new(), ok: true, text: bad.clone() },
        ActivityKind::Edit {
            call: String::new(),
            name: bad.clone(),
            paths: vec![bad],
            input: serde_json::Value::Null,
        },
    ];
    for kind in kinds {
        let text = Renderer::for_width(None).lines(&kind).concat();
        for style in [BOLD, CYAN, DIM, GREEN, RED] {
            assert!(!text.contains(&format!("{style}{style}")));
        }
        let own = ["\u{1b}[1m", "\u{1b}[2m", "\u{1b}[36m", "\u{1b}[32m", "\u{1b}[0m"];
        let red = "\u{1b}[31m";
        let without_own = own.iter().fold(text.clone(), |text, code| text.replace(code, ""));
        // A failure is red by itself.
        let without_own = without_own.strip_prefix(red).unwrap_or(&without_own).to_owned();
        assert!(!without_own.contains(char::is_control), "{kind:?}: {text:?}");
    }
}

#[test]
fn a_long_result_is_shortened() {
    let text = "one\n\ntwo\nthree\nfour\nfive".to_owned();
    let shown = shown(None, ActivityKind::Result { call: String::new(), ok: false, text });
    let lines: Vec<_> = shown.lines().map(str::trim).collect();
    assert_eq!(lines[1..], ["two", "three", "2 lines more"]);
    assert!(lines[0].ends_with("failed: one"), "{}", lines[0]);
}
