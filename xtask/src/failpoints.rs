//! `cargo xtask failpoints`: lists the points at which tests kill a process, as found in the source.

use crate::{no_arguments, repo};
use anyhow::Result;
use failpoint::source;

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    no_arguments(arguments)?;
    let points = source::points(&repo::root())?;
    for point in &points {
        println!("{:32} {}:{}", point.name, point.file, point.line);
    }
    println!("{} points", points.len());
    Ok(())
}
