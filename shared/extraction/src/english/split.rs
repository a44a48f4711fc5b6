//! Division of sentences with several statements.

use super::grammar::parse_clause;
use super::is_relative;
use super::words::Clause;

/// Divides a clause before `and I`, `but we`, `; my` and the like, if both sides have a verb.
pub(crate) fn split_clause(clause: Clause<'_>) -> Vec<Clause<'_>> {
    let mut parts = Vec::new();
    let mut start = 0;
    for at in 3..clause.len() {
        if at < start + 3 {
            continue;
        }
        let Some(next) = find_joint(clause, at) else {
            continue;
        };
        if clause.len() < next + 3 || parse_clause(clause.from(next)).is_none() {
            continue;
        }
        parts.push(clause.until_index(at).from(start));
        start = next;
    }

    parts.push(clause.from(start));
    parts
}

/// Returns the index at which a new part begins, if conjunctions stand at `at`.
fn find_joint(clause: Clause<'_>, at: usize) -> Option<usize> {
    let punctuation_len = usize::from(matches!(clause.lower_at(at), "," | ";" | "—" | "!"));
    let conjunction_len = usize::from(matches!(
        clause.lower_at(at + punctuation_len),
        "and" | "but" | "so" | "plus"
    ));
    // A comma alone only lists.
    let is_strong = conjunction_len == 1 || matches!(clause.lower_at(at), ";" | "—" | "!");
    let next = at + punctuation_len + conjunction_len;
    let has_subject = matches!(clause.lower_at(next), "i" | "we" | "my" | "our");
    let is_object = punctuation_len == 0
        && matches!(
            clause.lower_at(at.saturating_sub(1)),
            "wife" | "husband" | "me"
        );
    // "My husband Paul and I" is one subject.
    let is_named_relative = at == 3
        && punctuation_len == 0
        && matches!(clause.lower_at(0), "my" | "our")
        && is_relative(clause.lower_at(1))
        && clause.words[2].is_capitalized();
    let is_one = is_object || is_named_relative;
    (punctuation_len + conjunction_len > 0 && is_strong && has_subject && !is_one).then_some(next)
}
