//! Tests that each phase has at most one holder.

use super::{Claim, ClaimOutcome, Claims};
use crate::state::assignments::Assignment;

fn row(worktree: &str, phase: &str) -> Assignment {
    Assignment {
        worktree: worktree.to_owned(),
        branch: "b".to_owned(),
        phase: phase.to_owned(),
        plan: "—".to_owned(),
        status: "executing".to_owned(),
        started: "2026-01-01T00:00:00.000Z".to_owned(),
        agent: "a".to_owned(),
    }
}

fn claim(worktree: &str, phase: &str) -> Claim {
    let assignment = row(worktree, phase);
    Claim { project: String::new(), assignment, run: None, attempt: None }
}

#[test]
fn the_first_claimant_wins_whatever_the_padding() {
    let mut claims = Claims::default();
    assert_eq!(claims.take(claim("/a", "3"), &[]), ClaimOutcome::Claimed);
    assert_eq!(claims.take(claim("/a", "03"), &[]), ClaimOutcome::AlreadyOwn);
    assert_eq!(claims.take(claim("/b", "03"), &[]), ClaimOutcome::HeldByOther(row("/a", "3")));
    assert_eq!(claims.take(claim("/b", "3.1"), &[]), ClaimOutcome::Claimed);
    assert_eq!(claims.claims.len(), 2);
}

#[test]
fn two_projects_of_one_repository_can_claim_the_same_number() {
    let mut claims = Claims::default();
    claims.take(claim("/a", "3"), &[]);
    let other = Claim { project: "sub".to_owned(), ..claim("/b", "3") };
    assert_eq!(claims.take(other, &[]), ClaimOutcome::Claimed);
}

#[test]
fn a_row_of_state_md_counts_until_a_claim_names_the_phase() {
    let mut claims = Claims::default();
    let rows = [row("/old", "3"), row("/b", "4")];
    assert_eq!(claims.take(claim("/b", "3"), &rows), ClaimOutcome::HeldByOther(row("/old", "3")));
    assert_eq!(claims.take(claim("/b", "04"), &rows), ClaimOutcome::AlreadyOwn);
    claims.take(claim("/c", "3"), &[]);
    assert_eq!(claims.take(claim("/c", "3"), &rows), ClaimOutcome::AlreadyOwn);
    let shown = claims.with_rows("", rows.to_vec());
    assert_eq!(shown, [row("/b", "4"), row("/c", "3")]);
}

#[test]
fn only_the_holder_releases() {
    let mut claims = Claims::default();
    claims.take(claim("/a", "3"), &[]);
    assert!(!claims.release("", "/b", "3"));
    assert!(!claims.set_plan("", "/b", "3", "03-01"));
    assert!(claims.set_plan("", "/a", "03", "03-01"));
    assert_eq!(claims.claims[0].assignment.plan, "03-01");
    assert!(claims.release("", "/a", "03"));
    assert_eq!(claims, Claims::default());
}

#[test]
fn claims_of_removed_worktrees_are_released() {
    let mut claims = Claims::default();
    claims.take(claim("/a", "3"), &[]);
    claims.take(claim("/b", "4"), &[]);
    assert_eq!(claims.release_stale(|path| path == "/b"), [row("/a", "3")]);
    assert_eq!(claims.claims.len(), 1);
}

#[test]
fn rendered_claims_parse_back() {
    let mut claims = Claims::default();
    claims.take(Claim { run: Some("r1".to_owned()), ..claim("/a", "3") }, &[]);
    let read = Claims::parse(&claims.render()).unwrap();
    assert_eq!(read, claims);
    assert_eq!(read.of_run_worktree("/a").map(|claim| claim.run.as_deref()), Some(Some("r1")));
    assert_eq!(Claims::parse(b" \n").unwrap(), Claims::default());
    assert!(Claims::parse(b"{").is_err());
}
