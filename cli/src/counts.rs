//! Numbers in sentences.

/// Returns a number with its noun, as in `1 document` or `2 documents`.
pub(crate) fn count(number: usize, noun: &str) -> String {
    let plural = match noun.strip_suffix('y') {
        Some(stem) => format!("{stem}ies"),
        None => format!("{noun}s"),
    };
    match number {
        1 => format!("1 {noun}"),
        number => format!("{number} {plural}"),
    }
}

/// Returns the beginning of a sentence about a number of documents in the past, as in `1 document was`.
pub(crate) fn count_past(documents: usize) -> String {
    match documents {
        1 => "1 document was".to_owned(),
        _ => format!("{documents} documents were"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_right_form_of_their_noun() {
        assert_eq!(count(1, "memory"), "1 memory");
        assert_eq!(count(0, "memory"), "0 memories");
        assert_eq!(count(2, "document"), "2 documents");
        assert_eq!(count_past(1), "1 document was");
        assert_eq!(count_past(3), "3 documents were");
    }
}
