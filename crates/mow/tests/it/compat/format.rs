//! Tests of `format banner`, `banner-phase`, `banner-error` and `progress`.

use serde_json::json;

use crate::sandbox;

fn run(words: &[&str], color: Option<&str>) -> String {
    let project = sandbox();
    let call = project.call([&["format"], words].concat());
    let call = color.into_iter().fold(call, |call, name| call.env(name, "1"));
    call.run().stdout_on_success()
}

fn plain(words: &[&str]) -> String {
    run(words, None)
}

fn colored(words: &[&str]) -> String {
    run(words, Some("FORCE_COLOR"))
}

#[test]
fn format_banner_fills_the_line() {
    let whole = format!("{:80}\n", " MOW ORCHESTRATOR ");
    sandbox().call(["format", "banner"]).run().prints(&whole);
    assert_eq!(plain(&["banner", "--text", "--hi", "--width", "9"]), " --hi    \n");
    let raw = format!("{}", json!({ "rendered": format!("{:80}", " x ") }));
    assert_eq!(plain(&["banner", "--text", "x", "--raw"]), raw);
    assert_eq!(
        colored(&["banner", "--width", "20"]),
        "\x1b[48;5;196m\x1b[38;5;231m\x1b[1m MOW ORCHESTRATOR   \x1b[0m\n"
    );
    assert_eq!(
        colored(&["banner", "--text", "x", "--bg", "1", "--fg", "2", "--width", "3"]),
        "\x1b[48;5;1m\x1b[38;5;2m\x1b[1m x \x1b[0m\n"
    );
}

#[test]
fn format_banner_phase_has_the_colour_of_its_phase() {
    assert_eq!(plain(&["banner-phase", "--phase", "03"]), format!("{:80}\n", " PHASE 03 "));
    assert_eq!(
        colored(&["banner-phase", "--phase", "15.1", "--text", "x", "--width", "5"]),
        "\x1b[48;5;142m\x1b[38;5;16m\x1b[1m x   \x1b[0m\n"
    );
    sandbox().call(["format", "banner-phase"]).run().refuses("--phase");
    sandbox().call(["format", "banner-phase", "--phase", "x"]).run().refuses("phase number");
}

#[test]
fn format_banner_error_is_drawn_between_stripes() {
    assert_eq!(plain(&["banner-error", "--text", "x", "--width", "10"]), " ⚠ x ⚠    \n");
    let (yellow, black) = ("\x1b[48;5;226m\x1b[38;5;0m", "\x1b[48;5;0m\x1b[38;5;226m");
    assert_eq!(
        colored(&["banner-error", "--text", "x", "--width", "12"]),
        format!("{yellow} {yellow}\x1b[1m ⚠  x  ⚠ \x1b[22m{black} {yellow} \x1b[0m\n")
    );
    sandbox().call(["format", "banner-error"]).run().refuses("--text");
    sandbox().call(["format", "banner-error", "--text", ""]).run().refuses("--text");
}

#[test]
fn format_progress_draws_a_bar() {
    assert_eq!(plain(&["progress"]), "[░░░░░░░░░░]\n");
    assert_eq!(plain(&["progress", "--percent", "45"]), "[█████░░░░░]\n");
    assert_eq!(plain(&["progress", "--percent", "-5", "--width", "2"]), "[░░]\n");
    assert_eq!(plain(&["progress", "--percent", "450.5", "--blocked", "--width", "3"]), "[▒▒▒]\n");
    assert_eq!(plain(&["progress", "--percent", "50", "--color", "9"]), "[█████░░░░░]\n");
    assert_eq!(
        colored(&["progress", "--percent", "50", "--color", "9", "--width", "2"]),
        "[\x1b[38;5;9m█\x1b[39m░]\n"
    );
    assert_eq!(plain(&["progress", "--raw", "--width", "1"]), "{\"rendered\":\"[░]\"}");
    sandbox().call(["format", "progress", "--percent", "half"]).run().refuses("--percent");
    sandbox().call(["format", "progress", "--width", "-1"]).run().refuses("--width");
    sandbox().call(["format"]).run().refuses("banner, banner-phase, banner-error, progress");
}

#[test]
fn escape_sequences_in_texts_are_removed() {
    let words = ["banner", "--text", "a\u{1b}[31mb\nc", "--width", "1"];
    assert_eq!(plain(&words), " a [31mb c \n");
    assert_eq!(run(&words, Some("NO_COLOR")), " a [31mb c \n");
}
