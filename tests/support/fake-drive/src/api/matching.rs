//! Matching of items against a query, for a viewer.

use std::cmp::Ordering;

use super::query::{PeopleField, QueryComparison, QueryCondition, TimeField};
use crate::drive_contents::{DriveContents, FakeContent, Item, Viewer};

/// Checks whether the item matches the query.
pub(crate) fn matches_query(
    contents: &DriveContents,
    viewer: &Viewer,
    item: &Item,
    query: &QueryCondition,
) -> bool {
    let is_match = |query: &QueryCondition| matches_query(contents, viewer, item, query);
    match query {
        QueryCondition::All => true,
        QueryCondition::And(one, other) => is_match(one) && is_match(other),
        QueryCondition::Or(one, other) => is_match(one) || is_match(other),
        QueryCondition::Not(inner) => !is_match(inner),
        QueryCondition::Name(QueryComparison::Contains, text) => has_word(&item.name, text),
        QueryCondition::Name(comparison, text) => {
            (item.name == *text) == (*comparison == QueryComparison::Is)
        }
        QueryCondition::FullText(text) => {
            has_word(&item.name, text) || has_word(&compare_text(&item.body), text)
        }
        QueryCondition::MediaType(QueryComparison::Contains, text) => {
            item.body.media_type().starts_with(text.as_str())
        }
        QueryCondition::MediaType(comparison, text) => {
            (item.body.media_type() == text) == (*comparison == QueryComparison::Is)
        }
        QueryCondition::Time(time_field, comparison, millis) => {
            compare_time(viewer, item, *time_field)
                .is_some_and(|time| compare_values(*comparison, time.cmp(millis)))
        }

        QueryCondition::Trashed(trashed) => contents.is_trashed(&item.id) == *trashed,
        QueryCondition::Starred(starred) => !starred,
        QueryCondition::SharedWithMe(shared) => is_shared_with(viewer, item) == *shared,
        QueryCondition::Target(comparison, id) => match &item.body {
            FakeContent::Shortcut(target) => (target == id) == (*comparison == QueryComparison::Is),
            _ => *comparison == QueryComparison::IsNot,
        },
        QueryCondition::Parent(id) => {
            item.parent.as_deref() == Some(resolve_folder(contents, viewer, id))
        }
        QueryCondition::Person(PeopleField::Owners, email) => {
            item.owner.as_ref() == Some(matches_person(viewer, email))
        }
        QueryCondition::Person(PeopleField::Readers, email) => {
            let other_viewer = Viewer {
                email: matches_person(viewer, email).clone(),
                keys: viewer.keys.clone(),
            };
            contents.can_see(&other_viewer, &item.id)
        }
    }
}

/// Resolves the id of a folder, which may be written as `root`.
pub(crate) fn resolve_folder<'a>(
    contents: &'a DriveContents,
    viewer: &Viewer,
    id: &'a str,
) -> &'a str {
    let account = contents
        .accounts
        .get(&viewer.email)
        .filter(|_| id == "root");
    account.map_or(id, |account| account.root.as_str())
}

pub(crate) fn is_shared_with(viewer: &Viewer, item: &Item) -> bool {
    item.owner.as_ref() != Some(&viewer.email) && item.shared_since.contains_key(&viewer.email)
}

fn matches_person<'a>(viewer: &'a Viewer, email: &'a String) -> &'a String {
    if email == "me" { &viewer.email } else { email }
}

/// Checks whether a word of the text begins with the sought word, ignoring case.
fn has_word(text: &str, word: &str) -> bool {
    let (text, word) = (text.to_lowercase(), word.to_lowercase());
    let mut starts = text.match_indices(&word).map(|(at, _)| at);
    starts.any(|at| {
        !text[..at]
            .chars()
            .next_back()
            .is_some_and(char::is_alphanumeric)
    })
}

fn compare_text(body: &FakeContent) -> String {
    match body {
        FakeContent::Doc(markdown) => markdown.clone(),
        FakeContent::Sheet(tables) => tables
            .iter()
            .flat_map(|table| table.rows.iter().flatten())
            .cloned()
            .collect::<Vec<_>>()
            .join(" "),
        FakeContent::Slides(slides) => {
            let text = slides
                .iter()
                .map(|slide| format!("{} {}", slide.title, slide.lines.join(" ")));
            text.collect::<Vec<_>>().join(" ")
        }
        FakeContent::Bytes { media_type, bytes } if media_type.starts_with("text/") => {
            String::from_utf8_lossy(bytes).into_owned()
        }

        _ => String::new(),
    }
}

fn compare_time(viewer: &Viewer, item: &Item, time_field: TimeField) -> Option<i64> {
    match time_field {
        TimeField::Created => Some(item.created_at),
        TimeField::Modified => Some(item.modified_at),
        TimeField::Viewed => item.viewed_at.get(&viewer.email).copied(),
        TimeField::SharedWithMe => item.shared_since.get(&viewer.email).copied(),
    }
}

fn compare_values(comparison: QueryComparison, order: Ordering) -> bool {
    match comparison {
        QueryComparison::Is => order.is_eq(),
        QueryComparison::IsNot => order.is_ne(),
        QueryComparison::Less => order.is_lt(),
        QueryComparison::LessOrEqual => order.is_le(),
        QueryComparison::Greater => order.is_gt(),
        QueryComparison::GreaterOrEqual => order.is_ge(),
        QueryComparison::Contains => false,
    }
}
