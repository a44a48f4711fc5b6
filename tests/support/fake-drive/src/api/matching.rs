//! Matching of items against a query, for a viewer.

use std::cmp::Ordering;

use super::query::{PeopleField, QueryComparison, QueryCondition, TimeField};
use crate::world::{DriveContents, FakeContent, Item, Viewer};

/// Checks whether the item matches the query.
pub(crate) fn matches_query(
    world: &DriveContents,
    viewer: &Viewer,
    item: &Item,
    query: &QueryCondition,
) -> bool {
    let also = |query: &QueryCondition| matches_query(world, viewer, item, query);
    match query {
        QueryCondition::All => true,
        QueryCondition::And(one, other) => also(one) && also(other),
        QueryCondition::Or(one, other) => also(one) || also(other),
        QueryCondition::Not(inner) => !also(inner),
        QueryCondition::Name(QueryComparison::Contains, text) => has_word(&item.name, text),
        QueryCondition::Name(compare, text) => {
            (item.name == *text) == (*compare == QueryComparison::Is)
        }
        QueryCondition::FullText(text) => {
            has_word(&item.name, text) || has_word(&compare_text(&item.body), text)
        }
        QueryCondition::MediaType(QueryComparison::Contains, text) => {
            item.body.media_type().starts_with(text.as_str())
        }
        QueryCondition::MediaType(compare, text) => {
            (item.body.media_type() == text) == (*compare == QueryComparison::Is)
        }
        QueryCondition::Time(when, compare, millis) => compare_time(viewer, item, *when)
            .is_some_and(|time| compare_values(*compare, time.cmp(millis))),

        QueryCondition::Trashed(trashed) => world.is_trashed(&item.id) == *trashed,
        QueryCondition::Starred(starred) => !starred,
        QueryCondition::SharedWithMe(shared) => is_shared_with(viewer, item) == *shared,
        QueryCondition::Target(compare, id) => match &item.body {
            FakeContent::Shortcut(target) => (target == id) == (*compare == QueryComparison::Is),
            _ => *compare == QueryComparison::IsNot,
        },
        QueryCondition::Parent(id) => {
            item.parent.as_deref() == Some(resolve_folder(world, viewer, id))
        }
        QueryCondition::Person(PeopleField::Owners, email) => {
            item.owner.as_ref() == Some(matches_person(viewer, email))
        }
        QueryCondition::Person(PeopleField::Readers, email) => {
            let other = Viewer {
                email: matches_person(viewer, email).clone(),
                keys: viewer.keys.clone(),
            };
            world.can_see(&other, &item.id)
        }
    }
}

/// Resolves the id of a folder, which may be written as `root`.
pub(crate) fn resolve_folder<'a>(
    world: &'a DriveContents,
    viewer: &Viewer,
    id: &'a str,
) -> &'a str {
    let account = world.accounts.get(&viewer.email).filter(|_| id == "root");
    account.map_or(id, |account| account.root.as_str())
}

pub(crate) fn is_shared_with(viewer: &Viewer, item: &Item) -> bool {
    item.owner.as_ref() != Some(&viewer.email) && item.shared.contains_key(&viewer.email)
}

fn matches_person<'a>(viewer: &'a Viewer, email: &'a String) -> &'a String {
    if email == "me" { &viewer.email } else { email }
}

/// Checks whether a word of the text begins with the sought word, ignoring case.
fn has_word(text: &str, sought: &str) -> bool {
    let (text, sought) = (text.to_lowercase(), sought.to_lowercase());
    let mut starts = text.match_indices(&sought).map(|(at, _)| at);
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

fn compare_time(viewer: &Viewer, item: &Item, when: TimeField) -> Option<i64> {
    match when {
        TimeField::Created => Some(item.created),
        TimeField::Modified => Some(item.modified),
        TimeField::Viewed => item.viewed_at.get(&viewer.email).copied(),
        TimeField::SharedWithMe => item.shared.get(&viewer.email).copied(),
    }
}

fn compare_values(compare: QueryComparison, order: Ordering) -> bool {
    match compare {
        QueryComparison::Is => order.is_eq(),
        QueryComparison::IsNot => order.is_ne(),
        QueryComparison::Less => order.is_lt(),
        QueryComparison::LessOrEqual => order.is_le(),
        QueryComparison::Greater => order.is_gt(),
        QueryComparison::GreaterOrEqual => order.is_ge(),
        QueryComparison::Contains => false,
    }
}
