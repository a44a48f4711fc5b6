//! The Drive API, version 3.

mod changes;
mod failure;
mod files;
mod listing;
mod mask;
mod matching;
mod methods;
mod order;
mod page;
mod query;
mod render;
mod schemas;
mod transfer;
mod validate;
mod watch;

use std::collections::{BTreeMap, HashMap};

pub(crate) use failure::DriveApiError;
use mask::FieldMask;
use methods::{METHODS, Method};
use serde_json::{Value, json};
pub(crate) use transfer::answer_direct_link;

use crate::drive_contents::{Item, Viewer};
use crate::faults::FaultEffect;
use crate::state::DriveState;
use crate::wire::{HttpCall, Reply};

const PREFIX: &str = "/drive/v3/";
/// The scopes that allow reading everything.
const READ_SCOPES: [&str; 2] = [
    "https://www.googleapis.com/auth/drive.readonly",
    "https://www.googleapis.com/auth/drive",
];

/// A validated API call, with the state that it works on.
struct CallContext<'a> {
    state: &'a mut DriveState,
    call: &'a HttpCall,
    viewer: Viewer,
    client: String,
    mask: FieldMask,
    /// The id in the path.
    id: String,
    fault_effect: Option<&'a FaultEffect>,
}

impl CallContext<'_> {
    /// Returns the largest number of entries of a page.
    fn page_size(&self, default: usize) -> usize {
        let requested = self
            .call
            .query_param("pageSize")
            .and_then(|size| size.parse().ok())
            .unwrap_or(default);
        self.state
            .contents
            .quirks
            .page_cap
            .map_or(requested, |cap| requested.min(cap.max(1)))
    }

    /// Checks whether the client declares support for shared drives.
    fn supports_shared_drives(&self) -> bool {
        self.call.query_flag("supportsAllDrives") || self.call.query_flag("supportsTeamDrives")
    }

    /// Checks whether the client also asks for items of shared drives.
    fn includes_shared_drives(&self) -> bool {
        self.supports_shared_drives()
            && (self.call.query_flag("includeItemsFromAllDrives")
                || self.call.query_flag("includeTeamDriveItems"))
    }

    fn drive_param(&self) -> Option<&str> {
        self.call
            .query_param("driveId")
            .or_else(|| self.call.query_param("teamDriveId"))
    }

    /// Returns the item that the path names, if the viewer can see it.
    fn visible_item(&self, any_drive: bool) -> Result<&Item, DriveApiError> {
        let contents = &self.state.contents;
        let item = contents
            .items
            .get(matching::resolve_folder(contents, &self.viewer, &self.id));
        let visible = item.filter(|item| contents.can_see(&self.viewer, &item.id));
        let reachable = visible.filter(|item| item.drive.is_none() || any_drive);
        reachable.ok_or_else(|| DriveApiError::file_not_found(&self.id))
    }
}

/// The facts about an answered request that the log needs.
#[derive(Debug, Default)]
pub(crate) struct CallRecord {
    pub(crate) call: Option<String>,
    pub(crate) units: u64,
}

/// Checks whether the path belongs to the API.
pub(crate) fn is_api(path: &str) -> bool {
    path.starts_with(PREFIX)
}

/// Answers an API call.
pub(crate) fn answer_call(
    state: &mut DriveState,
    call: &HttpCall,
    fault_effect: Option<&FaultEffect>,
) -> (Reply, CallRecord) {
    let path = call.path.strip_prefix(PREFIX).unwrap_or_default();
    let mut matching_methods = METHODS
        .iter()
        .filter_map(|method| Some((method, method.match_path(path)?)));
    let Some((method, id)) = matching_methods.find(|(method, _)| method.verb == call.method) else {
        return (
            DriveApiError::method_not_found(&call.path).to_reply(),
            CallRecord::default(),
        );
    };

    let units = if call.query_param("alt") == Some("media") {
        200
    } else {
        method.units
    };

    let result = validate_call(state, call, method, id, units, fault_effect);
    let record = CallRecord {
        call: Some(method.name.to_owned()),
        units: if result.is_ok() { units } else { 0 },
    };

    (result.unwrap_or_else(|failure| failure.to_reply()), record)
}

fn validate_call(
    state: &mut DriveState,
    call: &HttpCall,
    method: &Method,
    id: &str,
    units: u64,
    fault_effect: Option<&FaultEffect>,
) -> Result<Reply, DriveApiError> {
    let now = state.contents.clock.now();
    let token = call
        .bearer_token()
        .ok_or_else(DriveApiError::unauthorized)?;
    let access = state
        .oauth
        .find_access_token(token, now)
        .ok_or_else(DriveApiError::unauthorized)?
        .clone();
    let can_read = READ_SCOPES
        .iter()
        .any(|scope| access.scopes.iter().any(|granted| granted == scope));
    let has_file_scope = access
        .scopes
        .iter()
        .any(|scope| scope.ends_with("/auth/drive.file"));
    if !(can_read || has_file_scope && method.name == "about.get") {
        return Err(DriveApiError::insufficient_scopes());
    }

    let mask = validate::validate_call(method, call)?;
    if !state.charge_units(&access.email, units) {
        return Err(DriveApiError::user_rate_limit());
    }

    let viewer = Viewer {
        email: access.email,
        keys: parse_resource_keys(call),
    };

    let mut cx = CallContext {
        state,
        call,
        viewer,
        client: access.client,
        mask,
        id: id.to_owned(),
        fault_effect,
    };

    run(&mut cx, method)
}

fn run(cx: &mut CallContext<'_>, method: &Method) -> Result<Reply, DriveApiError> {
    let value = match method.name {
        "about.get" => render_about(cx),
        "files.list" => listing::list_files(cx)?,
        "files.get" if cx.call.query_param("alt") == Some("media") => {
            return transfer::download_media(cx);
        }
        "files.get" => files::get(cx)?,
        "files.export" => return transfer::export_file(cx),
        "files.download" => transfer::begin_download(cx)?,
        "operations.get" => transfer::get_operation(cx)?,
        "changes.getStartPageToken" => changes::start_page_token(cx)?,
        "changes.list" => changes::list_changes(cx)?,
        "changes.watch" => watch::open_channel(cx)?,
        "channels.stop" => return watch::close_channel(cx),
        "drives.list" => files::list_drives(cx)?,
        "drives.get" => files::get_drive(cx)?,
        _ => return Err(DriveApiError::method_not_found(&cx.call.path)),
    };

    Ok(Reply::json_reply(200, &cx.mask.apply_to(value)))
}

/// Parses the header with the resource keys of links: `id/key`, separated by commas.
fn parse_resource_keys(call: &HttpCall) -> HashMap<String, String> {
    let header = call
        .header_value("x-goog-drive-resource-keys")
        .unwrap_or_default();
    let pairs = header
        .split(',')
        .filter_map(|pair| pair.trim().split_once('/'));
    pairs
        .map(|(id, key)| (id.to_owned(), key.to_owned()))
        .collect()
}

fn render_about(cx: &CallContext<'_>) -> Value {
    let user = cx
        .state
        .contents
        .accounts
        .get(&cx.viewer.email)
        .map(|account| render::render_user(account, &cx.viewer));
    let formats =
        |body: &crate::drive_contents::FakeContent| json!(crate::content::export_formats(body));
    let exports: BTreeMap<&str, Value> = [
        (
            crate::drive_contents::DOC,
            formats(&crate::drive_contents::FakeContent::Doc(String::new())),
        ),
        (
            crate::drive_contents::SHEET,
            formats(&crate::drive_contents::FakeContent::Sheet(Vec::new())),
        ),
        (
            crate::drive_contents::SLIDES,
            formats(&crate::drive_contents::FakeContent::Slides(Vec::new())),
        ),
    ]
    .into();

    json!({
        "kind": "drive#about",
        "user": user,
        "storageQuota": { "limit": "16106127360", "usage": "0", "usageInDrive": "0", "usageInDriveTrash": "0" },
        "exportFormats": exports,
        "importFormats": {},
        "maxUploadSize": "5242880000000",
        "appInstalled": true,
        "canCreateDrives": false,
    })
}
