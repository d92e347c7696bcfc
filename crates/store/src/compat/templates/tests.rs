//! Tests that rendered files are read back by the readers of their kind.

use serde_json::json;

use super::*;
use crate::compat::summary;
use crate::{phase_files, plan};

fn filled(kind: TemplateKind, fields: &Value) -> Vec<u8> {
    let Value::Object(fields) = fields else { panic!("fields are an object") };
    let values = TemplateValues {
        phase: "3",
        padded: "03",
        name: "Log: in",
        slug: "log-in",
        plan: "02",
        plan_type: "execute",
        wave: 2,
        now: "2026-01-02T03:04:05.000Z",
        fields,
    };
    fill(kind, &values).unwrap()
}

#[test]
fn a_new_plan_passes_the_structure_check() {
    let plan = plan::parse(&filled(TemplateKind::Plan, &json!({ "depends_on": ["03-01"] })));
    assert_eq!(plan.missing_keys(), Vec::<&str>::new());
    assert_eq!((plan.phase.as_deref(), plan.wave), (Some("03-log-in"), 2));
    assert_eq!(plan.tasks.len(), 1);
    assert!(plan.check_structure().errors.is_empty());
    let keys = ["phase", "plan", "type", "wave", "depends_on", "files_modified", "autonomous"];
    assert_eq!(plan.keys[..7], keys);
}

#[test]
fn a_summary_and_a_verification_read_back() {
    let text = filled(TemplateKind::Summary, &json!({ "subsystem": "a: b", "extra": 1 }));
    let read = summary::parse(&text);
    assert_eq!(read.subsystem.as_deref(), Some("a: b"));
    assert_eq!(read.completed.as_deref(), Some("2026-01-02"));
    assert_eq!(read.plan.as_deref(), Some("02"));
    let text = filled(TemplateKind::Verification, &json!({}));
    let read = phase_files::parse_verification(&text);
    assert_eq!((read.status.as_deref(), read.met), (Some("pending"), Some((0, 0))));
}

#[test]
fn values_are_put_in_once_and_as_they_are() {
    let checkpoint_of = |template| {
        let values = CheckpointValues {
            phase: "{reason}",
            plan: "01",
            plan_id: "03-01",
            status: "$1 $&",
            worker: "w",
            worktree: "x",
            now: "t",
            reason: "r",
        };
        checkpoint(template, &values)
    };
    assert_eq!(
        checkpoint_of(Some("{phase}{plan-id}{plan}{status}{{other}{")),
        "{reason}03-0101$1 $&{{other}{"
    );
    let built_in = checkpoint_of(None);
    assert!(built_in.contains("**Plan:** 03-01\n") && built_in.contains("{task-name}"));
}

#[test]
fn a_scaffold_quotes_its_name() {
    let text = scaffold(ScaffoldKind::Uat, "03", "3", "Say \"hi\": now", "2026-01-02");
    let front = frontmatter::parse(text.as_bytes()).unwrap();
    assert_eq!(front.entry("name").and_then(|name| name.as_str()), Some("Say \"hi\": now"));
    assert!(text.starts_with("---\nphase: \"03\"\nname: \"Say"));
    assert!(text.contains("\n# Phase 3: Say \"hi\": now — User Acceptance Testing\n"));
    assert!(text.contains("status: pending\n"));
}
