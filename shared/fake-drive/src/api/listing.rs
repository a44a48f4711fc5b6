//! Listings of items.

use std::sync::Arc;

use serde_json::{Value, json};

use super::failure::Failure;
use super::order::Order;
use super::page::{Position, fingerprint};
use super::query::Query;
use super::{Cx, files, matching, render};
use crate::faults::Effect;
use crate::world::{Item, Shelf, Viewer, World};

/// The number of sorted listings that are kept for clients that page through them.
const SORTED: usize = 256;

/// The set of items that a listing covers.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Corpus {
    User,
    Drive(String),
    All,
}

/// A parsed listing request.
struct Ask {
    corpus: Corpus,
    query: Query,
    order: Option<Order>,
    wants_drives: bool,
    print: u64,
    size: usize,
}

impl Ask {
    fn read(cx: &Cx<'_>) -> Result<Self, Failure> {
        let call = cx.call;
        let text = |name| call.param(name).unwrap_or_default();
        let parts = [
            "q",
            "corpora",
            "driveId",
            "orderBy",
            "includeItemsFromAllDrives",
            "spaces",
        ]
        .map(text);

        Ok(Self {
            corpus: corpus(cx)?,
            query: Query::parse(text("q"))?,
            order: call
                .param("orderBy")
                .filter(|order| !order.is_empty())
                .map(Order::parse)
                .transpose()?,
            wants_drives: cx.wants_drives(),
            print: fingerprint(&[&[cx.viewer.email.as_str()], &parts[..]].concat()),
            size: cx.page_size(100),
        })
    }

    /// Checks whether an item belongs to the listing.
    fn is_about(&self, world: &World, viewer: &Viewer, item: &Item) -> bool {
        let in_corpus = match (&self.corpus, &item.drive) {
            (Corpus::Drive(id), drive) => drive.as_ref() == Some(id),
            (_, None) => true,
            (Corpus::All, Some(_)) => self.wants_drives,
            // Members find the items of a shared drive through the drive or through the parent
            // folder.
            (Corpus::User, Some(drive)) => {
                self.wants_drives
                    && (self.query.folders().is_some() || !world.is_member(&viewer.email, drive))
            }
        };

        in_corpus
            && world.sees(viewer, &item.id)
            && matching::matches(world, viewer, item, &self.query)
    }
}

fn corpus(cx: &Cx<'_>) -> Result<Corpus, Failure> {
    let corpora = cx.call.param("corpora").unwrap_or("user");
    if cx.call.flag("includeItemsFromAllDrives") && !cx.knows_drives() {
        let message = "includeItemsFromAllDrives may be set only together with supportsAllDrives.";
        return Err(Failure::invalid("includeItemsFromAllDrives", message));
    }

    let Some(drive) = cx.drive_param() else {
        return match corpora {
            "user" | "domain" => Ok(Corpus::User),
            "drive" => Err(Failure::required("driveId")),
            "allDrives" if cx.wants_drives() => Ok(Corpus::All),
            "allDrives" => Err(Failure::invalid(
                "corpora",
                "allDrives needs includeItemsFromAllDrives and supportsAllDrives.",
            )),
            _ => Err(Failure::invalid_value("corpora")),
        };
    };

    if corpora != "drive" {
        return Err(Failure::invalid(
            "driveId",
            "driveId may be set only together with corpora=drive.",
        ));
    }

    if !cx.wants_drives() {
        let message = "corpora=drive needs includeItemsFromAllDrives and supportsAllDrives.";
        return Err(Failure::invalid("corpora", message));
    }

    files::member_drive(cx, drive).map(|drive| Corpus::Drive(drive.id.clone()))
}

pub(crate) fn list(cx: &mut Cx<'_>) -> Result<Value, Failure> {
    let ask = Ask::read(cx)?;
    let now = cx.state.world.clock.now();
    let from = match cx.call.param("pageToken") {
        Some(token) => Some(Position::read(token, ask.print, now)?),
        None => None,
    };

    let page = if ask.order.is_some() {
        sorted_page(cx, &ask, from)?
    } else {
        page(cx, &ask, from.unwrap_or_default(), ask.size)
    };

    let next = page.1.map(|next| next.write(ask.print, now));
    Ok(answer(cx, &ask, page.0, next))
}

fn answer(cx: &Cx<'_>, ask: &Ask, ids: Vec<String>, next: Option<String>) -> Value {
    let world = &cx.state.world;
    let incomplete = cx.twist == Some(&Effect::Incomplete)
        || (ask.corpus == Corpus::All && world.quirks.incomplete_all_drives);
    let items = ids.iter().filter_map(|id| world.items.get(id)).enumerate();
    let shown =
        items.filter(|(at, _)| cx.twist != Some(&Effect::Emptied) && !(incomplete && at % 2 == 1));
    let wanted = cx.mask.below("files");
    let shown = shown.filter_map(|(_, item)| Some(render::file(cx, wanted?, item)));
    let files: Vec<_> = shown.collect();
    let mut answer =
        json!({ "kind": "drive#fileList", "incompleteSearch": incomplete, "files": files });
    if let Some(next) = next.filter(|_| cx.twist != Some(&Effect::Emptied)) {
        answer["nextPageToken"] = json!(next);
    }

    answer
}

/// Returns the shelves that may hold matching items.
fn shelves<'a>(world: &'a World, viewer: &Viewer, ask: &Ask, shared: &'a Shelf) -> Vec<&'a Shelf> {
    let shelves = &world.shelves;
    if let Some(folders) = ask.query.folders() {
        if folders.len() > 1 && world.quirks.no_parent_groups {
            return Vec::new();
        }
        let ids = folders
            .into_iter()
            .map(|id| matching::folder(world, viewer, id).to_owned());
        return ids.filter_map(|id| shelves.children.get(&id)).collect();
    }

    if let Corpus::Drive(drive) = &ask.corpus {
        return shelves.drives.get(drive).into_iter().collect();
    }

    let mine = shelves.owned.get(&viewer.email).into_iter().chain([shared]);
    let drives = world
        .drives
        .values()
        .filter(|drive| ask.corpus == Corpus::All && drive.members.contains(&viewer.email));

    mine.chain(drives.filter_map(|drive| shelves.drives.get(&drive.id)))
        .collect()
}

/// Returns the ids of a page and the position at which the next page begins.
fn page(
    cx: &mut Cx<'_>,
    ask: &Ask,
    from: Position,
    size: usize,
) -> (Vec<String>, Option<Position>) {
    let shared: Arc<Shelf> = cx.state.world.shared_shelf(&cx.viewer.email);
    let world = &cx.state.world;
    let shelves = shelves(world, &cx.viewer, ask, &shared);
    let mut found: Vec<(Position, String)> = Vec::new();
    for (number, shelf) in (0..)
        .zip(&shelves)
        .skip(usize::try_from(from.shelf).unwrap_or(usize::MAX))
    {
        let begin = if number == from.shelf { from.seq } else { 0 };
        for (seq, id) in shelf.range(begin..) {
            let item = world
                .items
                .get(id)
                .filter(|item| ask.is_about(world, &cx.viewer, item));
            if item.is_none() {
                continue;
            }
            let here = Position {
                shelf: number,
                seq: *seq,
            };
            if found.len() == size {
                let repeated = found
                    .last()
                    .map(|(last, _)| *last)
                    .filter(|_| world.quirks.repeats && size > 1);
                return (ids(found), Some(repeated.unwrap_or(here)));
            }
            found.push((here, id.clone()));
        }
    }

    (ids(found), None)
}

fn ids(found: Vec<(Position, String)>) -> Vec<String> {
    found.into_iter().map(|(_, id)| id).collect()
}

/// Returns a page of a sorted listing. The listing is sorted once, when its first page is
/// requested.
fn sorted_page(
    cx: &mut Cx<'_>,
    ask: &Ask,
    from: Option<Position>,
) -> Result<(Vec<String>, Option<Position>), Failure> {
    let from = match from {
        Some(from) => from,
        None => Position {
            shelf: sort(cx, ask),
            seq: 0,
        },
    };

    let all = cx
        .state
        .sorted
        .get(&from.shelf)
        .ok_or_else(|| Failure::invalid_value("pageToken"))?;
    let begin = all
        .len()
        .min(usize::try_from(from.seq).unwrap_or(usize::MAX));
    let end = all.len().min(begin + ask.size);
    let world = &cx.state.world;
    let still = |id: &&String| {
        world
            .items
            .get(*id)
            .is_some_and(|item| ask.is_about(world, &cx.viewer, item))
    };
    let page = all[begin..end].iter().filter(still).cloned().collect();

    let next = (end < all.len()).then_some(Position {
        shelf: from.shelf,
        seq: end as u64,
    });

    Ok((page, next))
}

fn sort(cx: &mut Cx<'_>, ask: &Ask) -> u64 {
    let (found, _) = page(cx, ask, Position::default(), usize::MAX);
    let world = &cx.state.world;
    let mut items: Vec<_> = found.iter().filter_map(|id| world.items.get(id)).collect();
    if let Some(order) = &ask.order {
        items.sort_by(|one, other| order.compare(&cx.viewer, one, other));
    }

    let sorted = items.into_iter().map(|item| item.id.clone()).collect();
    let number = cx.state.world.random.next();
    if cx.state.sorted.len() >= SORTED {
        cx.state.sorted.clear();
    }

    cx.state.sorted.insert(number, sorted);
    number
}
