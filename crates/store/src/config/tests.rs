//! Tests of settings: defaults, paths with an alias, environment variables and edits.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::corpus;

fn config(text: &str) -> Config {
    Config::parse(text.as_bytes()).unwrap()
}

#[test]
fn defaults_have_the_order_of_the_contract() {
    let expected = "{\"model_profile\":\"balanced\",\"commit_docs\":true,\"search_gitignored\":false,\
        \"branching_strategy\":\"none\",\"phase_branch_template\":\"mow/phase-{phase}-{slug}\",\
        \"milestone_branch_template\":\"mow/{milestone}-{slug}\",\"research\":true,\
        \"plan_checker\":true,\"verifier\":true,\"parallelization\":true,\"brave_search\":false,\
        \"max_task_attempts\":5}";
    assert_eq!(serde_json::to_string(&Config::default().settings()).unwrap(), expected);
}

#[test]
fn the_top_level_wins_over_the_section() {
    let found = config(
        "{\"planning\":{\"commit_docs\":false,\"search_gitignored\":true},\"commit_docs\":true,
          \"plan_checker\":null,\"workflow\":{\"plan_check\":false},\"parallelization\":{\"enabled\":false},
          \"executor\":{\"max_task_attempts\":2},\"research\":\"no idea\"}",
    )
    .settings();
    assert!(found.commit_docs && found.search_gitignored && found.research);
    assert!(!found.plan_checker && !found.parallelization);
    assert_eq!(found.max_task_attempts, 2);
}

#[test]
fn a_missing_setting_has_its_default() {
    let config = config("{\"a\":{\"b\":[1]},\"git\":{\"branching_strategy\":\"phase\"}}");
    assert_eq!(config.lookup("a.b"), Some(json!([1])));
    assert_eq!(config.lookup("branching_strategy"), Some(json!("phase")));
    assert_eq!(config.lookup("feedback.event_log_count"), Some(json!(6)));
    assert_eq!(config.lookup("workflow.auto_advance"), Some(json!(false)));
    assert_eq!(config.lookup("a.b.c"), None);
}

#[test]
fn the_environment_overrides_a_setting_and_its_alias() {
    let variables = [
        ("MOW_PLANNING__COMMIT_DOCS", "false"),
        ("MOW_MULTI_PHASE__MAX_WORKERS", "7"),
        ("MOW_PHASE", "3"),
        ("MOW_MODEL_PROFILE", "budget"),
        ("MOW___", "x"),
        ("PATH", "/bin"),
    ];
    let config = config("{\"commit_docs\":true}").with_overrides(variables);
    assert!(!config.settings().commit_docs);
    assert_eq!(config.lookup("multi_phase.max_workers"), Some(json!(7)));
    assert_eq!(config.settings().model_profile, "budget");
    assert_eq!(config.lookup("phase"), None);
}

#[test]
fn reads_scalars_as_typed() {
    assert_eq!(parse_scalar("true"), json!(true));
    assert_eq!(parse_scalar("-12"), json!(-12));
    assert_eq!(parse_scalar("0.5"), json!(0.5));
    for text in ["0x10", "", " ", "007", "True", "12345678901234567890123", "1 2", "NaN"] {
        assert_eq!(parse_scalar(text), json!(text));
    }
}

#[test]
fn writing_a_setting_also_updates_its_alias() {
    let file = "{\n  \"verifier\": true,\n  \"workflow\": {\"verifier\": true, \"x\": 1}\n}";
    let written = set(file.as_bytes(), "workflow.verifier", &json!(false)).unwrap();
    assert_eq!(String::from_utf8(written).unwrap(), file.replace("true", "false"));
    let file = "{\"parallelization\": {\"enabled\": true, \"plan_level\": true}}";
    let written = set(file.as_bytes(), "parallelization", &json!(false)).unwrap();
    assert_eq!(String::from_utf8(written).unwrap(), file.replacen("true", "false", 1));
    let written = set(b"{\"git\": {}}", "branching_strategy", &json!("phase")).unwrap();
    assert_eq!(written, b"{\"git\": {}, \"branching_strategy\": \"phase\"}");
}

#[test]
fn finds_model_overrides_under_older_names() {
    let config =
        config("{\"model_overrides\":{\"gsd-planner\":\"opus\",\"mow-verifier\":\"haiku\"}}");
    assert_eq!(config.model_override("mow-planner"), Some("opus"));
    assert_eq!(config.model_override("mow-verifier"), Some("haiku"));
    assert_eq!(config.model_override("other"), None);
}

#[test]
fn lists_unknown_keys_at_their_highest_level() {
    let config = config(
        "{\"workflow\":{\"research\":true,\"extra\":1},\"team\":{\"a\":{\"b\":1}},\"hooks\":{\"a\":1},\"multi_phase\":{\"max_worker\":1},\"mode\":\"yolo\",
          \"granularity\":\"fine\",\"parallelization\":true,\"gates\":{\"any\":1},\"git\":5,\"roles\":{\"x\":{\"agent\":\"y\"}}}",
    );
    let unknown = config.unknown_keys();
    assert_eq!(unknown.foreign, ["workflow.extra", "team"]);
    assert_eq!(unknown.typing_errors, ["multi_phase.max_worker", "git"]);
}

const SAMPLE: &str =
    "{\n\t\"mode\": \"yolo\",\n\t\"workflow\": {\n\t\t\"research\": true\n\t}\n}\n";

#[test]
fn corpus_files_survive_an_edit() {
    let files = corpus::files(|name| name == "config.json", SAMPLE);
    let mut unknown = 0;
    for (path, bytes) in &files {
        let keys = Config::parse(bytes).expect(path).unknown_keys();
        assert!(keys.typing_errors.len() <= 1, "{path}: {:?}", keys.typing_errors);
        unknown += keys.foreign.len();
        let written = set(bytes, "workflow.research", &json!(false)).expect(path);
        let config = Config::parse(&written).expect(path);
        assert!(!config.settings().research, "{path}");
        let back = set(&written, "workflow.research", &json!(true)).expect(path);
        if Config::parse(bytes).expect(path).value("research") == Some(&json!(true)) {
            assert_eq!(&back, bytes, "{path}");
        }
    }
    corpus::print_line(&format!("config: {} files, {unknown} unknown keys", files.len()));
}

proptest! {
    #[test]
    fn no_input_makes_it_panic(bytes: Vec<u8>, path in "[a-z.]{0,12}", name in "(MOW_)?[A-Z_]{0,9}") {
        if let Ok(config) = Config::parse(&bytes) {
            config.with_overrides([(name, path.clone())]).lookup(&path);
        }
        let _ = set(b"{\"a\":{\"b\":1}}", &path, &json!(1));
        parse_scalar(&path);
    }
}
