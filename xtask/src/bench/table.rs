//! What is measured, against what, and which ratio is the aim.

/// Which program a side of a measurement runs.
#[derive(Clone, Copy)]
pub(super) enum Program {
    Mow,
    Floor,
    True,
}

impl Program {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Mow => "mow",
            Self::Floor => "floor",
            Self::True => "true",
        }
    }
}

/// Which generated project it runs in.
#[derive(Clone, Copy)]
pub(super) enum Size {
    OnDisk,
    Small,
    Large,
}

impl Size {
    pub(super) fn phases(self) -> usize {
        match self {
            Self::OnDisk | Self::Small => 500,
            Self::Large => 5000,
        }
    }
}

pub(super) struct BenchSide {
    pub(super) program: Program,
    pub(super) words: &'static [&'static str],
    pub(super) size: Size,
}

pub(super) struct Measurement {
    pub(super) name: &'static str,
    pub(super) subject: BenchSide,
    pub(super) floor: BenchSide,
    /// How much more work the subject has than the floor; the ratio is divided by it.
    pub(super) scale: f64,
    pub(super) limit: f64,
}

const fn mow(words: &'static [&'static str], size: Size) -> BenchSide {
    BenchSide { program: Program::Mow, words, size }
}

const fn floor(words: &'static [&'static str], size: Size) -> BenchSide {
    BenchSide { program: Program::Floor, words, size }
}

/// A start of a process that does nothing.
const NOTHING: BenchSide = BenchSide { program: Program::True, words: &[], size: Size::Small };

const SNAPSHOT: &[&str] = &["state-snapshot"];
const STATUS: &[&str] = &["status", "read", "1"];
const FRONTMATTER: &[&str] = &["frontmatter", "get", ".planning/phases/0001-step/0001-01-PLAN.md"];
const ADD_BLOCKER: &[&str] = &["state", "add-blocker", "--text", "the supplier is late"];
const ANALYZE: &[&str] = &["roadmap", "analyze"];
const ANALYZE_DAG: &[&str] = &["roadmap", "analyze-dag", "--raw"];
const RENDER: &[&str] = &["dashboard", "render"];
const READ_STATUS: &[&str] = &["read-status", ".planning"];
const SCAN: &[&str] = &["scan", ".planning"];
const WRITE: &[&str] = &["durable-write", ".planning/STATE.md"];

const fn against(
    name: &'static str,
    subject: BenchSide,
    floor: BenchSide,
    limit: f64,
) -> Measurement {
    Measurement { name, subject, floor, scale: 1.0, limit }
}

/// The same command on ten times as many phases; linear work gives a ratio of one.
const fn growth(name: &'static str, words: &'static [&'static str]) -> Measurement {
    let (subject, floor) = (mow(words, Size::Large), mow(words, Size::Small));
    Measurement { name, subject, floor, scale: 10.0, limit: 1.2 }
}

pub(super) const MEASUREMENTS: &[Measurement] = &[
    against("state-snapshot / true", mow(SNAPSHOT, Size::Small), NOTHING, 3.0),
    against("status read / true", mow(STATUS, Size::Small), NOTHING, 3.0),
    against("frontmatter get / true", mow(FRONTMATTER, Size::Small), NOTHING, 3.0),
    against(
        "state add-blocker / durable write",
        mow(ADD_BLOCKER, Size::OnDisk),
        floor(WRITE, Size::OnDisk),
        3.0,
    ),
    against("analyze, 500 / scan", mow(ANALYZE, Size::Small), floor(SCAN, Size::Small), 1.5),
    against("analyze, 5000 / scan", mow(ANALYZE, Size::Large), floor(SCAN, Size::Large), 1.5),
    growth("analyze, per phase 5000 / 500", ANALYZE),
    against(
        "analyze-dag, 500 / scan",
        mow(ANALYZE_DAG, Size::Small),
        floor(SCAN, Size::Small),
        1.5,
    ),
    against(
        "analyze-dag, 5000 / scan",
        mow(ANALYZE_DAG, Size::Large),
        floor(SCAN, Size::Large),
        1.5,
    ),
    growth("analyze-dag, per phase 5000 / 500", ANALYZE_DAG),
    against(
        "dashboard render, 5000 / reads",
        mow(RENDER, Size::Large),
        floor(READ_STATUS, Size::Large),
        1.5,
    ),
];
