//! Division of sentences with several statements.

use super::grammar::parse_clause;
use super::words::Clause;

/// Divides a clause before `and I`, `but we`, `; my` and the like, if both sides have a verb.
pub(crate) fn split_clause(clause: Clause<'_>) -> Vec<Clause<'_>> {
    let mut parts = Vec::new();
    let mut begun = 0;
    for at in 3..clause.len() {
        if at < begun + 3 {
            continue;
        }
        let Some(next) = find_joint(clause, at) else {
            continue;
        };
        if clause.len() < next + 3 || parse_clause(clause.from(next)).is_none() {
            continue;
        }
        parts.push(clause.until_index(at).from(begun));
        begun = next;
    }

    parts.push(clause.from(begun));
    parts
}

/// Returns the index at which a new part begins, if conjunctions stand at `at`.
fn find_joint(clause: Clause<'_>, at: usize) -> Option<usize> {
    let mark = usize::from(matches!(clause.lower_at(at), "," | ";" | "—" | "!"));
    let word = usize::from(matches!(
        clause.lower_at(at + mark),
        "and" | "but" | "so" | "plus"
    ));
    // A comma alone only lists.
    let strong = word == 1 || matches!(clause.lower_at(at), ";" | "—" | "!");
    let next = at + mark + word;
    let subject = matches!(clause.lower_at(next), "i" | "we" | "my" | "our");
    let told = mark == 0
        && matches!(
            clause.lower_at(at.saturating_sub(1)),
            "wife" | "husband" | "me"
        );
    (mark + word > 0 && strong && subject && !told).then_some(next)
}
