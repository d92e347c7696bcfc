//! `cargo xtask failpoints`: the points at which tests let a process die, as the source has them.

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
