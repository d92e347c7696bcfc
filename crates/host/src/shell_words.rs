//! Quotes and splits words in the way of a POSIX shell.

/// Quotes a word for a shell, if necessary.
///
/// A NUL byte, which no command line can contain, is dropped.
pub fn quote(word: &str) -> String {
    let word = word.replace('\0', "");
    shlex::try_quote(&word).expect("only NUL cannot be quoted").into_owned()
}

/// Splits a command line into words; returns `None` if a quote or an escape is not complete.
pub fn split(line: &str) -> Option<Vec<String>> {
    shlex::split(line)
}

#[cfg(test)]
mod tests;
