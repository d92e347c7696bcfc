//! Tests of the parsers for CONTEXT.md and VERIFICATION.md.

use proptest::prelude::*;

use super::*;
use crate::corpus;

const TAGGED: &str = "\
# Phase 3: Hull - Context

<domain>
## Phase Boundary

- not a decision

</domain>

<decisions>
## Implementation Decisions

### Wood
- **Oak** for the keel,
  and nothing else
  - sawn in winter
- Pine above

### Claude's Discretion
Colour of the paint.

### Nails
- Copper

</decisions>

<deferred>
## Deferred Ideas

- A second mast
None — the rest stayed in scope

</deferred>
";

#[test]
fn reads_the_tagged_context() {
    let context = parse_context(TAGGED.as_bytes());
    let decisions: Vec<_> =
        context.decisions.iter().map(|d| (d.area.as_str(), d.text.as_str())).collect();
    let oak = "**Oak** for the keel, and nothing else\n- sawn in winter";
    assert_eq!(decisions, [("Wood", oak), ("Wood", "Pine above"), ("Nails", "Copper")]);
    assert_eq!(context.discretion, ["Colour of the paint."]);
    assert_eq!(context.deferred[0], "A second mast None — the rest stayed in scope");
}

#[test]
fn reads_the_plain_context() {
    let context = parse_context(
        b"---\nphase: \"03\"\n---\n\n## Decisions\n\n- a\n\n## Discretion Areas\n\n- b\n\n## Deferred Ideas\n\nNone yet.\n\n## Notes\n\n- c\n",
    );
    assert_eq!(context.decisions, [ContextDecision { area: String::new(), text: "a".to_owned() }]);
    assert_eq!(context.discretion, ["b"]);
    assert!(context.deferred.is_empty());
}

#[test]
fn reads_a_verification() {
    let found = parse_verification(
        b"---\nstatus: gaps_found\nscore: 3/4 must-haves verified\ngaps:\n  - truth: It floats\n    status: failed\n    reason: a hole\n    missing:\n      - A plug\nhuman_verification:\n  - test: Look\n---\n",
    );
    assert_eq!(found.status.as_deref(), Some("gaps_found"));
    assert_eq!(found.met, Some((3, 4)));
    assert_eq!(found.gaps[0].missing, ["A plug"]);
    assert_eq!(found.human_checks, 1);
    let found = parse_verification(b"# V\n\n**Status:** passed\n**Score:** 2/2\n");
    assert_eq!((found.status.as_deref(), found.met), (Some("passed"), Some((2, 2))));
}

#[test]
fn corpus_contexts_have_decisions() {
    let files = corpus::files(|name| name.ends_with("CONTEXT.md"), TAGGED);
    let mut decided = 0;
    for (path, bytes) in &files {
        let context = parse_context(bytes);
        decided += usize::from(!context.decisions.is_empty());
        if context.decisions.is_empty() {
            corpus::print_line(&format!("no decisions: {path}"));
        }
    }
    corpus::print_line(&format!("contexts: {}, with decisions {decided}", files.len()));
    assert!(decided * 4 >= files.len() * 3);
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes: Vec<u8>, text in "(# |## |### 1\\.|<deferred>|- |  - |Decisions|\n|é|---)*") {
        for input in [&bytes[..], text.as_bytes()] {
            parse_context(input);
            parse_verification(input);
        }
    }
}
