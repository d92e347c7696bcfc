//! Tests that the parsers of this crate understand the rendered documents.

use super::*;
use crate::phase_files;

pub(super) const HEADER: DocumentHeader<'_> = DocumentHeader {
    number: "3",
    dir: "03-search",
    name: "Search",
    goal: "People find things",
    now: "2026-01-02T03:04:05.000Z",
};

pub(super) fn evidence() -> Evidence {
    let hash = |digit: &str| digit.repeat(40);
    Evidence {
        commit: hash("c"),
        tree: hash("d"),
        code: hash("e"),
        command: "sh a.sh | wc".to_owned(),
        exit: Some(0),
        output: hash("f"),
        at: 0,
        fresh: false,
        seal: String::new(),
    }
}

#[test]
fn a_verification_passes_only_without_gaps() {
    let passed =
        VerificationCheck { what: "sh a.sh".to_owned(), gap: None, evidence: Some(evidence()) };
    let gap = Some("exit 1".to_owned());
    let failed = VerificationCheck { what: "a | b".to_owned(), gap, evidence: None };
    let status = |checks: &[VerificationCheck]| {
        let bytes = render_verification(&HEADER, "abc", checks, &["It grows".to_owned()]).unwrap();
        let text = String::from_utf8(bytes.clone()).unwrap();
        assert!(text.contains("exit 0, tree `dddddddd`, output `ffffffff`"), "{text}");
        assert!(text.contains("## Not Checked by a Machine\n\n- It grows"), "{text}");
        phase_files::parse_verification(&bytes).status
    };
    assert_eq!(status(std::slice::from_ref(&passed)).as_deref(), Some("passed"));
    assert_eq!(status(&[passed, failed]).as_deref(), Some("gaps_found"));
}
