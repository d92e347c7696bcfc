//! Turns names into slugs for directories and branches.

/// Returns lower-case letters and digits, joined by single hyphens: `User Auth!` is `user-auth`.
///
/// Only ASCII is kept, for compatibility with existing projects: `Café Über` is `caf-ber`.
pub fn slug(text: &str) -> String {
    let mut slug = String::new();
    for c in text.chars().map(|c| c.to_ascii_lowercase()) {
        if c.is_ascii_alphanumeric() {
            slug.push(c);
        } else if !slug.ends_with('-') {
            slug.push('-');
        }
    }
    slug.trim_matches('-').to_owned()
}

#[cfg(test)]
mod tests;
