//! Listings of items.

use std::sync::Arc;

use serde_json::{Value, json};

use super::failure::DriveApiError;
use super::order::SortOrder;
use super::page::{PagePosition, fingerprint_query};
use super::query::QueryCondition;
use super::{CallContext, files, matching, render};
use crate::faults::FaultEffect;
use crate::world::{DriveContents, Item, ItemSet, Viewer};

/// The number of sorted listings that are kept for clients that page through them.
const MAX_SORTED_LISTINGS: usize = 256;

/// The set of items that a listing covers.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Corpus {
    User,
    Drive(String),
    All,
}

/// A parsed listing request.
struct ListingRequest {
    corpus: Corpus,
    query: QueryCondition,
    order: Option<SortOrder>,
    wants_drives: bool,
    query_fingerprint: u64,
    size: usize,
}

impl ListingRequest {
    fn parse(cx: &CallContext<'_>) -> Result<Self, DriveApiError> {
        let call = cx.call;
        let text = |name| call.query_param(name).unwrap_or_default();
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
            corpus: parse_corpus(cx)?,
            query: QueryCondition::parse(text("q"))?,
            order: call
                .query_param("orderBy")
                .filter(|order| !order.is_empty())
                .map(SortOrder::parse)
                .transpose()?,
            wants_drives: cx.includes_shared_drives(),
            query_fingerprint: fingerprint_query(
                &[&[cx.viewer.email.as_str()], &parts[..]].concat(),
            ),
            size: cx.page_size(100),
        })
    }

    /// Checks whether an item belongs to the listing.
    fn includes_item(&self, world: &DriveContents, viewer: &Viewer, item: &Item) -> bool {
        let in_corpus = match (&self.corpus, &item.drive) {
            (Corpus::Drive(id), drive) => drive.as_ref() == Some(id),
            (_, None) => true,
            (Corpus::All, Some(_)) => self.wants_drives,
            // Members find the items of a shared drive through the drive or through the parent
            // folder.
            (Corpus::User, Some(drive)) => {
                self.wants_drives
                    && (self.query.required_folders().is_some()
                        || !world.is_member(&viewer.email, drive))
            }
        };

        in_corpus
            && world.can_see(viewer, &item.id)
            && matching::matches_query(world, viewer, item, &self.query)
    }
}

fn parse_corpus(cx: &CallContext<'_>) -> Result<Corpus, DriveApiError> {
    let corpora = cx.call.query_param("corpora").unwrap_or("user");
    if cx.call.query_flag("includeItemsFromAllDrives") && !cx.supports_shared_drives() {
        let message = "includeItemsFromAllDrives may be set only together with supportsAllDrives.";
        return Err(DriveApiError::invalid_parameter(
            "includeItemsFromAllDrives",
            message,
        ));
    }

    let Some(drive) = cx.drive_param() else {
        return match corpora {
            "user" | "domain" => Ok(Corpus::User),
            "drive" => Err(DriveApiError::missing_parameter("driveId")),
            "allDrives" if cx.includes_shared_drives() => Ok(Corpus::All),
            "allDrives" => Err(DriveApiError::invalid_parameter(
                "corpora",
                "allDrives needs includeItemsFromAllDrives and supportsAllDrives.",
            )),
            _ => Err(DriveApiError::invalid_value("corpora")),
        };
    };

    if corpora != "drive" {
        return Err(DriveApiError::invalid_parameter(
            "driveId",
            "driveId may be set only together with corpora=drive.",
        ));
    }

    if !cx.includes_shared_drives() {
        let message = "corpora=drive needs includeItemsFromAllDrives and supportsAllDrives.";
        return Err(DriveApiError::invalid_parameter("corpora", message));
    }

    files::member_drive(cx, drive).map(|drive| Corpus::Drive(drive.id.clone()))
}

pub(crate) fn list_files(cx: &mut CallContext<'_>) -> Result<Value, DriveApiError> {
    let ask = ListingRequest::parse(cx)?;
    let now = cx.state.world.clock.now();
    let from = match cx.call.query_param("pageToken") {
        Some(token) => Some(PagePosition::from_token(token, ask.query_fingerprint, now)?),
        None => None,
    };

    let page = if ask.order.is_some() {
        sorted_page(cx, &ask, from)?
    } else {
        collect_page(cx, &ask, from.unwrap_or_default(), ask.size)
    };

    let next = page.1.map(|next| next.to_token(ask.query_fingerprint, now));
    Ok(render_answer(cx, &ask, page.0, next))
}

fn render_answer(
    cx: &CallContext<'_>,
    ask: &ListingRequest,
    ids: Vec<String>,
    next: Option<String>,
) -> Value {
    let world = &cx.state.world;
    let incomplete = cx.fault_effect == Some(&FaultEffect::Incomplete)
        || (ask.corpus == Corpus::All && world.quirks.incomplete_all_drives);
    let items = ids.iter().filter_map(|id| world.items.get(id)).enumerate();
    let shown = items.filter(|(at, _)| {
        cx.fault_effect != Some(&FaultEffect::Emptied) && !(incomplete && at % 2 == 1)
    });
    let wanted = cx.mask.submask("files");
    let shown = shown.filter_map(|(_, item)| Some(render::render_file(cx, wanted?, item)));
    let files: Vec<_> = shown.collect();
    let mut answer =
        json!({ "kind": "drive#fileList", "incompleteSearch": incomplete, "files": files });
    if let Some(next) = next.filter(|_| cx.fault_effect != Some(&FaultEffect::Emptied)) {
        answer["nextPageToken"] = json!(next);
    }

    answer
}

/// Returns the shelves that may hold matching items.
fn candidate_shelves<'a>(
    world: &'a DriveContents,
    viewer: &Viewer,
    ask: &ListingRequest,
    shared: &'a ItemSet,
) -> Vec<&'a ItemSet> {
    let shelves = &world.shelves;
    if let Some(folders) = ask.query.required_folders() {
        if folders.len() > 1 && world.quirks.no_parent_groups {
            return Vec::new();
        }
        let ids = folders
            .into_iter()
            .map(|id| matching::resolve_folder(world, viewer, id).to_owned());
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
fn collect_page(
    cx: &mut CallContext<'_>,
    ask: &ListingRequest,
    from: PagePosition,
    size: usize,
) -> (Vec<String>, Option<PagePosition>) {
    let shared: Arc<ItemSet> = cx.state.world.shared_items(&cx.viewer.email);
    let world = &cx.state.world;
    let shelves = candidate_shelves(world, &cx.viewer, ask, &shared);
    let mut found: Vec<(PagePosition, String)> = Vec::new();
    for (number, shelf) in (0..)
        .zip(&shelves)
        .skip(usize::try_from(from.shelf).unwrap_or(usize::MAX))
    {
        let begin = if number == from.shelf { from.seq } else { 0 };
        for (seq, id) in shelf.range(begin..) {
            let item = world
                .items
                .get(id)
                .filter(|item| ask.includes_item(world, &cx.viewer, item));
            if item.is_none() {
                continue;
            }
            let here = PagePosition {
                shelf: number,
                seq: *seq,
            };
            if found.len() == size {
                let repeated = found
                    .last()
                    .map(|(last, _)| *last)
                    .filter(|_| world.quirks.repeats && size > 1);
                return (into_ids(found), Some(repeated.unwrap_or(here)));
            }
            found.push((here, id.clone()));
        }
    }

    (into_ids(found), None)
}

fn into_ids(found: Vec<(PagePosition, String)>) -> Vec<String> {
    found.into_iter().map(|(_, id)| id).collect()
}

/// Returns a page of a sorted listing. The listing is sorted once, when its first page is
/// requested.
fn sorted_page(
    cx: &mut CallContext<'_>,
    ask: &ListingRequest,
    from: Option<PagePosition>,
) -> Result<(Vec<String>, Option<PagePosition>), DriveApiError> {
    let from = match from {
        Some(from) => from,
        None => PagePosition {
            shelf: store_sorted_listing(cx, ask),
            seq: 0,
        },
    };

    let all = cx
        .state
        .sorted
        .get(&from.shelf)
        .ok_or_else(|| DriveApiError::invalid_value("pageToken"))?;
    let begin = all
        .len()
        .min(usize::try_from(from.seq).unwrap_or(usize::MAX));
    let end = all.len().min(begin + ask.size);
    let world = &cx.state.world;
    let still = |id: &&String| {
        world
            .items
            .get(*id)
            .is_some_and(|item| ask.includes_item(world, &cx.viewer, item))
    };
    let page = all[begin..end].iter().filter(still).cloned().collect();

    let next = (end < all.len()).then_some(PagePosition {
        shelf: from.shelf,
        seq: end as u64,
    });

    Ok((page, next))
}

fn store_sorted_listing(cx: &mut CallContext<'_>, ask: &ListingRequest) -> u64 {
    let (found, _) = collect_page(cx, ask, PagePosition::default(), usize::MAX);
    let world = &cx.state.world;
    let mut items: Vec<_> = found.iter().filter_map(|id| world.items.get(id)).collect();
    if let Some(order) = &ask.order {
        items.sort_by(|one, other| order.compare_items(&cx.viewer, one, other));
    }

    let sorted = items.into_iter().map(|item| item.id.clone()).collect();
    let number = cx.state.world.random.next();
    if cx.state.sorted.len() >= MAX_SORTED_LISTINGS {
        cx.state.sorted.clear();
    }

    cx.state.sorted.insert(number, sorted);
    number
}
