//! Listings of items.

use std::sync::Arc;

use serde_json::{Value, json};

use super::failure::DriveApiError;
use super::order::SortOrder;
use super::page::{PagePosition, fingerprint_query};
use super::query::QueryCondition;
use super::{CallContext, files, matching, render};
use crate::drive_contents::{DriveContents, Item, ItemSet, Viewer};
use crate::faults::FaultEffect;

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
    fn includes_item(&self, contents: &DriveContents, viewer: &Viewer, item: &Item) -> bool {
        let in_corpus = match (&self.corpus, &item.drive) {
            (Corpus::Drive(id), drive) => drive.as_ref() == Some(id),
            (_, None) => true,
            (Corpus::All, Some(_)) => self.wants_drives,
            // Members find the items of a shared drive through the drive or through the parent
            // folder.
            (Corpus::User, Some(drive)) => {
                self.wants_drives
                    && (self.query.required_folders().is_some()
                        || !contents.is_member(&viewer.email, drive))
            }
        };

        in_corpus
            && contents.can_see(viewer, &item.id)
            && matching::matches_query(contents, viewer, item, &self.query)
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
    let request = ListingRequest::parse(cx)?;
    let now = cx.state.contents.clock.now();
    let start = match cx.call.query_param("pageToken") {
        Some(token) => Some(PagePosition::from_token(
            token,
            request.query_fingerprint,
            now,
        )?),
        None => None,
    };

    let page = if request.order.is_some() {
        sorted_page(cx, &request, start)?
    } else {
        collect_page(cx, &request, start.unwrap_or_default(), request.size)
    };

    let next = page
        .1
        .map(|next| next.to_token(request.query_fingerprint, now));
    Ok(render_answer(cx, &request, page.0, next))
}

fn render_answer(
    cx: &CallContext<'_>,
    request: &ListingRequest,
    ids: Vec<String>,
    next: Option<String>,
) -> Value {
    let contents = &cx.state.contents;
    let is_incomplete = cx.fault_effect == Some(&FaultEffect::Incomplete)
        || (request.corpus == Corpus::All && contents.quirks.incomplete_all_drives);
    let items = ids
        .iter()
        .filter_map(|id| contents.items.get(id))
        .enumerate();
    let visible_items = items.filter(|(at, _)| {
        cx.fault_effect != Some(&FaultEffect::Emptied) && !(is_incomplete && at % 2 == 1)
    });
    let file_mask = cx.mask.submask("files");
    let rendered =
        visible_items.filter_map(|(_, item)| Some(render::render_file(cx, file_mask?, item)));
    let files: Vec<_> = rendered.collect();
    let mut response =
        json!({ "kind": "drive#fileList", "incompleteSearch": is_incomplete, "files": files });
    if let Some(next) = next.filter(|_| cx.fault_effect != Some(&FaultEffect::Emptied)) {
        response["nextPageToken"] = json!(next);
    }

    response
}

/// Returns the shelves that may hold matching items.
fn candidate_shelves<'a>(
    contents: &'a DriveContents,
    viewer: &Viewer,
    request: &ListingRequest,
    shared: &'a ItemSet,
) -> Vec<&'a ItemSet> {
    let item_index = &contents.item_index;
    if let Some(folders) = request.query.required_folders() {
        if folders.len() > 1 && contents.quirks.no_parent_groups {
            return Vec::new();
        }
        let ids = folders
            .into_iter()
            .map(|id| matching::resolve_folder(contents, viewer, id).to_owned());
        return ids.filter_map(|id| item_index.children.get(&id)).collect();
    }

    if let Corpus::Drive(drive) = &request.corpus {
        return item_index.drives.get(drive).into_iter().collect();
    }

    let own_items = item_index
        .owned
        .get(&viewer.email)
        .into_iter()
        .chain([shared]);
    let drives = contents
        .drives
        .values()
        .filter(|drive| request.corpus == Corpus::All && drive.members.contains(&viewer.email));

    own_items
        .chain(drives.filter_map(|drive| item_index.drives.get(&drive.id)))
        .collect()
}

/// Returns the ids of a page and the position at which the next page begins.
fn collect_page(
    cx: &mut CallContext<'_>,
    request: &ListingRequest,
    start: PagePosition,
    size: usize,
) -> (Vec<String>, Option<PagePosition>) {
    let shared: Arc<ItemSet> = cx.state.contents.shared_items(&cx.viewer.email);
    let contents = &cx.state.contents;
    let item_sets = candidate_shelves(contents, &cx.viewer, request, &shared);
    let mut entries: Vec<(PagePosition, String)> = Vec::new();
    for (list_number, item_set) in (0..)
        .zip(&item_sets)
        .skip(usize::try_from(start.list_number).unwrap_or(usize::MAX))
    {
        let first_seq = if list_number == start.list_number {
            start.seq
        } else {
            0
        };
        for (seq, id) in item_set.range(first_seq..) {
            let item = contents
                .items
                .get(id)
                .filter(|item| request.includes_item(contents, &cx.viewer, item));
            if item.is_none() {
                continue;
            }
            let position = PagePosition {
                list_number,
                seq: *seq,
            };
            if entries.len() == size {
                let repeated = entries
                    .last()
                    .map(|(last, _)| *last)
                    .filter(|_| contents.quirks.repeats && size > 1);
                return (into_ids(entries), Some(repeated.unwrap_or(position)));
            }
            entries.push((position, id.clone()));
        }
    }

    (into_ids(entries), None)
}

fn into_ids(entries: Vec<(PagePosition, String)>) -> Vec<String> {
    entries.into_iter().map(|(_, id)| id).collect()
}

/// Returns a page of a sorted listing. The listing is sorted once, when its first page is
/// requested.
fn sorted_page(
    cx: &mut CallContext<'_>,
    request: &ListingRequest,
    start: Option<PagePosition>,
) -> Result<(Vec<String>, Option<PagePosition>), DriveApiError> {
    let start = match start {
        Some(start) => start,
        None => PagePosition {
            list_number: store_sorted_listing(cx, request),
            seq: 0,
        },
    };

    let sorted_ids = cx
        .state
        .sorted_listings
        .get(&start.list_number)
        .ok_or_else(|| DriveApiError::invalid_value("pageToken"))?;
    let first = sorted_ids
        .len()
        .min(usize::try_from(start.seq).unwrap_or(usize::MAX));
    let end = sorted_ids.len().min(first + request.size);
    let contents = &cx.state.contents;
    let is_included = |id: &&String| {
        contents
            .items
            .get(*id)
            .is_some_and(|item| request.includes_item(contents, &cx.viewer, item))
    };
    let page = sorted_ids[first..end]
        .iter()
        .filter(is_included)
        .cloned()
        .collect();

    let next = (end < sorted_ids.len()).then_some(PagePosition {
        list_number: start.list_number,
        seq: end as u64,
    });

    Ok((page, next))
}

fn store_sorted_listing(cx: &mut CallContext<'_>, request: &ListingRequest) -> u64 {
    let (ids, _) = collect_page(cx, request, PagePosition::default(), usize::MAX);
    let contents = &cx.state.contents;
    let mut items: Vec<_> = ids.iter().filter_map(|id| contents.items.get(id)).collect();
    if let Some(order) = &request.order {
        items.sort_by(|one, other| order.compare_items(&cx.viewer, one, other));
    }

    let sorted = items.into_iter().map(|item| item.id.clone()).collect();
    let number = cx.state.contents.random.next();
    if cx.state.sorted_listings.len() >= MAX_SORTED_LISTINGS {
        cx.state.sorted_listings.clear();
    }

    cx.state.sorted_listings.insert(number, sorted);
    number
}
