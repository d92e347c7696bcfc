//! The Markdown texts below the frontmatter: headings, empty tables, and hints in brackets.

use super::TemplateValues;

pub(super) fn summary(fill: &TemplateValues<'_>) -> String {
    let TemplateValues { phase, name, plan, .. } = fill;
    format!(
        "\
# Phase {phase} Plan {plan}: {name} Summary

**[One sentence: what works now that did not work before]**

## Performance

- **Duration:** [time]
- **Tasks:** [done of all]
- **Files modified:** [how many]

## Accomplishments

- [What was achieved]

## Task Commits

1. **Task 1: [name]** - `[hash]`

## Files Created/Modified

- `[path]` - [what it does]

## Decisions Made

None.

## Deviations from Plan

None.

## Issues Encountered

None.

## User Setup Required

None.

## Next Phase Readiness

[What the next phase can build on, and what is still open]
"
    )
}

pub(super) fn plan(fill: &TemplateValues<'_>) -> String {
    let TemplateValues { phase, name, plan, .. } = fill;
    format!(
        "\
# Phase {phase} Plan {plan}: {name}

## Objective

- **What:** [what this plan builds]
- **Why:** [what it is good for]
- **Output:** [the files that will be there]

## Context

@.planning/PROJECT.md
@.planning/ROADMAP.md
@.planning/STATE.md

## Tasks

<task type=\"auto\">
  <name>[Task name]</name>
  <files>[paths]</files>
  <action>[What to do, and how]</action>
  <verify>[A command or check that proves it]</verify>
  <done>[What is true afterwards]</done>
</task>

## Verification

[How to prove that the objective is met]

## Success Criteria

- [ ] [Something that can be checked]
"
    )
}

pub(super) fn verification(fill: &TemplateValues<'_>) -> String {
    let TemplateValues { phase, name, .. } = fill;
    format!(
        "\
# Phase {phase}: {name} — Verification

## Observable Truths

| # | Truth | Status | Evidence |
|---|-------|--------|----------|

## Required Artifacts

| Artifact | Expected | Status | Details |
|----------|----------|--------|---------|

## Key Link Verification

| From | To | Via | Status | Details |
|------|----|-----|--------|---------|

## Requirements Coverage

| Requirement | Status | Blocking Issue |
|-------------|--------|----------------|

## Result

[Not verified yet]
"
    )
}

pub(super) const CHECKPOINT: &str = "\
---
phase: {phase}
plan: {plan}
status: {status}
worker: {worker-name}
worktree: {worktree-path}
timestamp: {timestamp}
reason: {reason}
circuit_breaker_hit: {circuit_breaker_hit}
---

# Checkpoint: {phase}

## Completed Plans

{completed-plans}

## Current Plan State

**Plan:** {plan-id}
**Task:** {task-number} of {task-total}
**Task name:** {task-name}
**Last commit:** {last-commit}

## Uncommitted Changes

{uncommitted-changes}

## Stashed Changes

{stashed-changes}

## Error Context

{error-context}

## Resume Instructions

{resume-instructions}
";

pub(super) const SCAFFOLD_CONTEXT: &str = "\
## Decisions

_None recorded yet._

## Discretion Areas

_What the agent may decide alone._

## Deferred Ideas

_What was said to be for later._
";

pub(super) const SCAFFOLD_UAT: &str = "\
## Test Results

| # | Test | Status | Notes |
|---|------|--------|-------|

## Summary

_Nothing tested yet._
";

pub(super) const SCAFFOLD_VERIFICATION: &str = "\
## Goal-Backward Verification

**Phase Goal:** [as the roadmap has it]

## Checks

| # | Requirement | Status | Evidence |
|---|-------------|--------|----------|

## Result

_Not verified yet._
";
