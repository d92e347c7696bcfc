//! What is not changed stays, byte for byte, in every file there is: those below `MOW_CORPUS`, or
//! our own samples of every dialect.

use std::fs;
use std::path::{Path, PathBuf};

use mow_store::text::Text;
use mow_store::text::field::field_at;
use mow_store::text::list::item_at;
use mow_store::text::splice::{Splice, apply};
use mow_store::text::table::tables;

use crate::corpus;

/// Every file below the corpus, or of the samples.
fn files() -> Vec<(PathBuf, Vec<u8>)> {
    let mut files = Vec::new();
    let mut folders = vec![corpus::folder().unwrap_or_else(corpus::samples)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("the folder can be listed") {
            let path = entry.expect("the folder can be listed").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let bytes = fs::read(&path).expect("the file can be read");
                files.push((path, bytes));
            }
        }
    }
    assert!(files.len() > 10, "there are files to look at");
    files
}

fn has_extension(path: &Path, extension: &str) -> bool {
    path.extension().is_some_and(|found| found == extension)
}

/// Edits that say what is already there.
fn idle_edits(text: &Text<'_>) -> Vec<(usize, Splice)> {
    let mut edits = Vec::new();
    for line in 0..text.lines().len() {
        if let Some(field) = field_at(text, line) {
            edits.push((line, field.set(text, text.slice(field.value.clone()))));
        }
        if let Some(item) = item_at(text, line)
            && let Some(tick) = item.tick
        {
            let is_plain = text.slice(item.tick_at.clone()).chars().eq([tick]);
            let tick = tick.to_string();
            edits.extend(is_plain.then(|| (line, Splice::replace(item.tick_at, tick))));
        }
    }
    for table in tables(text, 0..text.lines().len()) {
        for row in &table.rows {
            for column in 0..row.cells.len() {
                let cell = row.cell(text, column);
                edits.extend(
                    row.set(text, &[(column, &cell)]).into_iter().map(|edit| (row.line, edit)),
                );
            }
        }
    }
    edits
}

#[test]
fn saying_what_is_there_changes_nothing() {
    let mut count = 0;
    for (path, bytes) in files() {
        if !has_extension(&path, "md") {
            continue;
        }
        let text = Text::new(&bytes);
        assert!(apply(&bytes, Vec::new()) == bytes, "{}", path.display());
        for (line, edit) in idle_edits(&text) {
            let after = apply(&bytes, vec![edit]);
            assert!(after == bytes, "{}:{}", path.display(), line + 1);
            count += 1;
        }
    }
    println!("{count} edits that change nothing");
}
