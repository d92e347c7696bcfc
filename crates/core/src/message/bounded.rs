//! Renders a message within the size limit: long fields are cut, and `status_ref` names the file
//! with the whole text.

use serde_json::{Value, json};

use super::{BYTES_MAX, Message};

/// The field that names the section of STATUS.md with the whole text.
pub const STATUS_REF: &str = "status_ref";
/// What a cut text ends with.
const CUT: char = '…';

impl Message {
    /// Returns the message with its summary as compact JSON of at most [`BYTES_MAX`] bytes.
    ///
    /// A message that is too long gets the field [`STATUS_REF`], and its longest texts are cut
    /// between characters.
    pub fn render_bounded(&self, ts: &str, status_ref: &str) -> String {
        let text = self.render(ts, true);
        if text.len() <= BYTES_MAX {
            return text;
        }
        let mut cut = self.clone();
        cut.fields.insert(STATUS_REF.to_owned(), json!(status_ref));
        for _ in 0..=cut.fields.len() {
            let text = cut.render(ts, true);
            let Some(surplus) = text.len().checked_sub(BYTES_MAX).filter(|bytes| *bytes > 0) else {
                return text;
            };
            cut.shorten_longest_field(surplus);
        }
        // Every text is cut, so there are too many fields.
        let required = cut.kind.required();
        cut.fields.retain(|key, _| required.contains(&key.as_str()) || key == STATUS_REF);
        cut.render(ts, true)
    }

    /// Cuts the longest field by at least this many bytes, or to nothing.
    fn shorten_longest_field(&mut self, bytes: usize) {
        let fields = self.fields.iter_mut().filter(|(key, _)| *key != STATUS_REF);
        let Some((_, value)) = fields.max_by_key(|(_, value)| value.to_string().len()) else {
            return;
        };
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let (mut end, mut cut) = (text.len(), 0);
        for (at, letter) in text.char_indices().rev() {
            if cut >= bytes + CUT.len_utf8() {
                break;
            }
            (end, cut) = (at, cut + escaped_len(letter));
        }
        *value = json!(format!("{}{CUT}", &text[..end]));
    }
}

/// Returns how many bytes a character takes in a JSON string.
fn escaped_len(letter: char) -> usize {
    Value::from(letter.to_string()).to_string().len() - 2
}
