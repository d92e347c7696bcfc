//! Tests that an edit which sets the existing value changes no byte.
//!
//! The files are those below `MOW_CORPUS` or, without it, our own samples of every dialect.

use std::fs;
use std::path::{Path, PathBuf};

use mow_store::text::Text;
use mow_store::text::field::field_at;
use mow_store::text::list::item_at;
use mow_store::text::splice::{Splice, apply};
use mow_store::text::table::tables;

use crate::corpus;

/// Returns every file of the corpus, or of the samples.
fn files() -> Vec<(PathBuf, Vec<u8>)> {
    let mut files = Vec::new();
    let mut directories = vec![corpus::directory().unwrap_or_else(corpus::samples)];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(&directory).expect("the directory can be listed") {
            let path = entry.expect("the directory can be listed").path();
            if path.is_dir() {
                directories.push(path);
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

/// Returns edits that set each field, checkbox and table cell to its existing value.
fn noop_edits(text: &Text<'_>) -> Vec<(usize, Splice)> {
    let mut edits = Vec::new();
    for line in 0..text.lines().len() {
        if let Some(field) = field_at(text, line) {
            edits.push((line, field.set(text, text.slice(field.value.clone()))));
        }
        if let Some(item) = item_at(text, line)
            && let Some(tick) = item.checkbox
        {
            let is_single_char = text.slice(item.checkbox_range.clone()).chars().eq([tick]);
            let tick = tick.to_string();
            edits
                .extend(is_single_char.then(|| (line, Splice::replace(item.checkbox_range, tick))));
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
fn setting_the_existing_value_changes_no_byte() {
    let mut count = 0;
    for (path, bytes) in files() {
        if !has_extension(&path, "md") {
            continue;
        }
        let text = Text::new(&bytes);
        assert!(apply(&bytes, Vec::new()) == bytes, "{}", path.display());
        for (line, edit) in noop_edits(&text) {
            let after = apply(&bytes, vec![edit]);
            assert!(after == bytes, "{}:{}", path.display(), line + 1);
            count += 1;
        }
    }
    println!("{count} edits that change nothing");
}
