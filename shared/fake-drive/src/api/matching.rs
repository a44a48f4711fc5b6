//! Matching of items against a query, for a viewer.

use std::cmp::Ordering;

use super::query::{Compare, People, Query, When};
use crate::world::{Body, Item, Viewer, World};

/// Checks whether the item matches the query.
pub(crate) fn matches(world: &World, viewer: &Viewer, item: &Item, query: &Query) -> bool {
    let also = |query: &Query| matches(world, viewer, item, query);
    match query {
        Query::All => true,
        Query::And(one, other) => also(one) && also(other),
        Query::Or(one, other) => also(one) || also(other),
        Query::Not(inner) => !also(inner),
        Query::Name(Compare::Contains, text) => has_word(&item.name, text),
        Query::Name(compare, text) => (item.name == *text) == (*compare == Compare::Is),
        Query::FullText(text) => has_word(&item.name, text) || has_word(&plain(&item.body), text),
        Query::MediaType(Compare::Contains, text) => {
            item.body.media_type().starts_with(text.as_str())
        }
        Query::MediaType(compare, text) => {
            (item.body.media_type() == text) == (*compare == Compare::Is)
        }
        Query::Time(when, compare, millis) => {
            time(viewer, item, *when).is_some_and(|time| holds(*compare, time.cmp(millis)))
        }

        Query::Trashed(trashed) => world.is_trashed(&item.id) == *trashed,
        Query::Starred(starred) => !starred,
        Query::SharedWithMe(shared) => is_shared_with(viewer, item) == *shared,
        Query::Target(compare, id) => match &item.body {
            Body::Shortcut(target) => (target == id) == (*compare == Compare::Is),
            _ => *compare == Compare::IsNot,
        },
        Query::Parent(id) => item.parent.as_deref() == Some(folder(world, viewer, id)),
        Query::Person(People::Owners, email) => item.owner.as_ref() == Some(person(viewer, email)),
        Query::Person(People::Readers, email) => {
            let other = Viewer {
                email: person(viewer, email).clone(),
                keys: viewer.keys.clone(),
            };
            world.sees(&other, &item.id)
        }
    }
}

/// Resolves the id of a folder, which may be written as `root`.
pub(crate) fn folder<'a>(world: &'a World, viewer: &Viewer, id: &'a str) -> &'a str {
    let account = world.accounts.get(&viewer.email).filter(|_| id == "root");
    account.map_or(id, |account| account.root.as_str())
}

pub(crate) fn is_shared_with(viewer: &Viewer, item: &Item) -> bool {
    item.owner.as_ref() != Some(&viewer.email) && item.shared.contains_key(&viewer.email)
}

fn person<'a>(viewer: &'a Viewer, email: &'a String) -> &'a String {
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

fn plain(body: &Body) -> String {
    match body {
        Body::Doc(markdown) => markdown.clone(),
        Body::Sheet(tables) => tables
            .iter()
            .flat_map(|table| table.rows.iter().flatten())
            .cloned()
            .collect::<Vec<_>>()
            .join(" "),
        Body::Slides(slides) => {
            let text = slides
                .iter()
                .map(|slide| format!("{} {}", slide.title, slide.lines.join(" ")));
            text.collect::<Vec<_>>().join(" ")
        }
        Body::Bytes { media_type, bytes } if media_type.starts_with("text/") => {
            String::from_utf8_lossy(bytes).into_owned()
        }

        _ => String::new(),
    }
}

fn time(viewer: &Viewer, item: &Item, when: When) -> Option<i64> {
    match when {
        When::Created => Some(item.created),
        When::Modified => Some(item.modified),
        When::Viewed => item.viewed.get(&viewer.email).copied(),
        When::SharedWithMe => item.shared.get(&viewer.email).copied(),
    }
}

fn holds(compare: Compare, order: Ordering) -> bool {
    match compare {
        Compare::Is => order.is_eq(),
        Compare::IsNot => order.is_ne(),
        Compare::Less => order.is_lt(),
        Compare::LessOrEqual => order.is_le(),
        Compare::Greater => order.is_gt(),
        Compare::GreaterOrEqual => order.is_ge(),
        Compare::Contains => false,
    }
}
