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

pub(crate) use failure::Failure;
use mask::Mask;
use methods::{METHODS, Method};
use serde_json::{Value, json};
pub(crate) use transfer::direct;

use crate::faults::Effect;
use crate::state::State;
use crate::wire::{Call, Reply};
use crate::world::{Item, Viewer};

const PREFIX: &str = "/drive/v3/";
/// The scopes that allow reading everything.
const READING: [&str; 2] = [
    "https://www.googleapis.com/auth/drive.readonly",
    "https://www.googleapis.com/auth/drive",
];

/// A validated API call, with the state that it works on.
struct Cx<'a> {
    state: &'a mut State,
    call: &'a Call,
    viewer: Viewer,
    client: String,
    mask: Mask,
    /// The id in the path.
    id: String,
    twist: Option<&'a Effect>,
}

impl Cx<'_> {
    /// Returns the largest number of entries of a page.
    fn page_size(&self, default: usize) -> usize {
        let asked = self
            .call
            .param("pageSize")
            .and_then(|size| size.parse().ok())
            .unwrap_or(default);
        self.state
            .world
            .quirks
            .page_cap
            .map_or(asked, |cap| asked.min(cap.max(1)))
    }

    /// Checks whether the client declares support for shared drives.
    fn knows_drives(&self) -> bool {
        self.call.flag("supportsAllDrives") || self.call.flag("supportsTeamDrives")
    }

    /// Checks whether the client also asks for items of shared drives.
    fn wants_drives(&self) -> bool {
        self.knows_drives()
            && (self.call.flag("includeItemsFromAllDrives")
                || self.call.flag("includeTeamDriveItems"))
    }

    fn drive_param(&self) -> Option<&str> {
        self.call
            .param("driveId")
            .or_else(|| self.call.param("teamDriveId"))
    }

    /// Returns the item that the path names, if the viewer can see it.
    fn item(&self, any_drive: bool) -> Result<&Item, Failure> {
        let world = &self.state.world;
        let item = world
            .items
            .get(matching::folder(world, &self.viewer, &self.id));
        let seen = item.filter(|item| world.sees(&self.viewer, &item.id));
        let reachable = seen.filter(|item| item.drive.is_none() || any_drive);
        reachable.ok_or_else(|| Failure::no_file(&self.id))
    }
}

/// The facts about an answered request that the log needs.
#[derive(Debug, Default)]
pub(crate) struct Note {
    pub(crate) call: Option<String>,
    pub(crate) units: u64,
}

/// Checks whether the path belongs to the API.
pub(crate) fn is_api(path: &str) -> bool {
    path.starts_with(PREFIX)
}

/// Answers an API call.
pub(crate) fn answer(state: &mut State, call: &Call, twist: Option<&Effect>) -> (Reply, Note) {
    let path = call.path.strip_prefix(PREFIX).unwrap_or_default();
    let mut on_path = METHODS
        .iter()
        .filter_map(|method| Some((method, method.matches(path)?)));
    let Some((method, id)) = on_path.find(|(method, _)| method.verb == call.method) else {
        return (Failure::no_method(&call.path).reply(), Note::default());
    };

    let units = if call.param("alt") == Some("media") {
        200
    } else {
        method.units
    };

    let done = checked(state, call, method, id, units, twist);
    let note = Note {
        call: Some(method.name.to_owned()),
        units: if done.is_ok() { units } else { 0 },
    };

    (done.unwrap_or_else(|failure| failure.reply()), note)
}

fn checked(
    state: &mut State,
    call: &Call,
    method: &Method,
    id: &str,
    units: u64,
    twist: Option<&Effect>,
) -> Result<Reply, Failure> {
    let now = state.world.clock.now();
    let token = call.bearer().ok_or_else(Failure::unauthorized)?;
    let access = state
        .oauth
        .access(token, now)
        .ok_or_else(Failure::unauthorized)?
        .clone();
    let reads = READING
        .iter()
        .any(|scope| access.scopes.iter().any(|given| given == scope));
    let files_only = access
        .scopes
        .iter()
        .any(|scope| scope.ends_with("/auth/drive.file"));
    if !(reads || files_only && method.name == "about.get") {
        return Err(Failure::scopes());
    }

    let mask = validate::check(method, call)?;
    if !state.spend(&access.email, units) {
        return Err(Failure::user_rate_limit());
    }

    let viewer = Viewer {
        email: access.email,
        keys: resource_keys(call),
    };

    let mut cx = Cx {
        state,
        call,
        viewer,
        client: access.client,
        mask,
        id: id.to_owned(),
        twist,
    };

    run(&mut cx, method)
}

fn run(cx: &mut Cx<'_>, method: &Method) -> Result<Reply, Failure> {
    let value = match method.name {
        "about.get" => about(cx),
        "files.list" => listing::list(cx)?,
        "files.get" if cx.call.param("alt") == Some("media") => return transfer::media(cx),
        "files.get" => files::get(cx)?,
        "files.export" => return transfer::export(cx),
        "files.download" => transfer::download(cx)?,
        "operations.get" => transfer::operation(cx)?,
        "changes.getStartPageToken" => changes::start(cx)?,
        "changes.list" => changes::list(cx)?,
        "changes.watch" => watch::open(cx)?,
        "channels.stop" => return watch::stop(cx),
        "drives.list" => files::drives(cx)?,
        "drives.get" => files::drive(cx)?,
        _ => return Err(Failure::no_method(&cx.call.path)),
    };

    Ok(Reply::json(200, &cx.mask.apply(value)))
}

/// Parses the header with the resource keys of links: `id/key`, separated by commas.
fn resource_keys(call: &Call) -> HashMap<String, String> {
    let header = call
        .header("x-goog-drive-resource-keys")
        .unwrap_or_default();
    let pairs = header
        .split(',')
        .filter_map(|pair| pair.trim().split_once('/'));
    pairs
        .map(|(id, key)| (id.to_owned(), key.to_owned()))
        .collect()
}

fn about(cx: &Cx<'_>) -> Value {
    let user = cx
        .state
        .world
        .accounts
        .get(&cx.viewer.email)
        .map(|account| render::user(account, &cx.viewer));
    let forms = |body: &crate::world::Body| json!(crate::content::forms(body));
    let exports: BTreeMap<&str, Value> = [
        (
            crate::world::DOC,
            forms(&crate::world::Body::Doc(String::new())),
        ),
        (
            crate::world::SHEET,
            forms(&crate::world::Body::Sheet(Vec::new())),
        ),
        (
            crate::world::SLIDES,
            forms(&crate::world::Body::Slides(Vec::new())),
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
