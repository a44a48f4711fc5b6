//! The limit on the number of values in a JSON body. It bounds the memory that a parsed body takes.

use std::slice::Iter;

use domain::{Error, Result};

/// The most values in a JSON body, where a list or an object counts beside what is in it.
///
/// A parsed value takes 70 to 400 bytes, however short it is written. Without this limit, 64 MB of
/// zeros in a list would take gigabytes. This many values take at most about 200 MB.
///
/// Usual bodies stay far below. The 10,000 messages of a chat have about 15 values each with their
/// parts and calls of tools, which makes 150,000. Each of the 600 documents of a batch can have more
/// than 800 values in its fields and metadata.
pub const MAX_JSON_VALUES: usize = 500_000;

/// Checks the number of values of a JSON body, which need not be valid.
///
/// # Errors
/// [`Error::Invalid`] for more than [`MAX_JSON_VALUES`] values.
pub(crate) fn check_value_count(bytes: &[u8]) -> Result<()> {
    // Each value but the first one needs a byte that is counted.
    if bytes.len() < MAX_JSON_VALUES || count_values(bytes) <= MAX_JSON_VALUES {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "the body has more than {MAX_JSON_VALUES} values in its lists and objects; send less at a time"
    )))
}

/// Counts the values of a JSON text: at least as many as there are up to its first error. An empty
/// list or object counts as two.
fn count_values(bytes: &[u8]) -> usize {
    let mut count = 1;
    let mut rest = bytes.iter();
    while let Some(byte) = rest.next() {
        match byte {
            b',' | b'[' | b'{' => count += 1,
            b'"' => skip_string(&mut rest),
            _ => {}
        }
    }
    count
}

/// Skips the rest of a string and the quotation mark at its end.
fn skip_string(rest: &mut Iter<'_, u8>) {
    while let Some(byte) = rest.next() {
        match byte {
            b'"' => return,
            b'\\' => {
                rest.next();
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_counted_outside_of_strings() {
        let table = [
            ("7", 1),
            (r#"{"a":[1,2],"b":{"c":null}}"#, 6),
            (r#"{"a,[{":"b,[{"}"#, 2),
            (r#"["\"",","]"#, 3),
            (r#"["\\",","]"#, 3),
            ("[]", 2),
            // Texts that break off.
            (r#"["a,,,"#, 2),
            (r#"["\"#, 2),
        ];
        for (text, count) in table {
            assert_eq!(count_values(text.as_bytes()), count, "{text}");
        }
    }

    #[test]
    fn only_a_body_with_too_many_values_is_refused() {
        let zeros = |count: usize| format!("[{}0]", "0,".repeat(count - 2));
        assert!(check_value_count(zeros(MAX_JSON_VALUES).as_bytes()).is_ok());

        let refusal = check_value_count(zeros(MAX_JSON_VALUES + 1).as_bytes());
        let message = refusal.unwrap_err().to_string();
        assert!(message.contains("more than 500000 values"), "{message}");

        let text = format!(r#"{{"content":"{}"}}"#, ",".repeat(2 * MAX_JSON_VALUES));
        assert!(check_value_count(text.as_bytes()).is_ok());
    }
}
