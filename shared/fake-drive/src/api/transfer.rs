//! Outgoing content: bytes, exports, and downloads that are prepared in the background.

use bytes::Bytes;
use serde_json::{Value, json};

use super::Cx;
use super::failure::Failure;
use crate::content;
use crate::state::{Operation, State};
use crate::wire::{Call, Reply};
use crate::world::{Body, Item, Viewer};

/// The largest export in bytes.
const EXPORT_LIMIT: usize = 10 * 1024 * 1024;
/// The time in milliseconds for which a prepared download is kept.
const READY: i64 = 24 * 3_600_000;

fn refused(reason: &str, message: &str) -> Failure {
    Failure::new(403, reason, message)
}

/// Returns the bytes of a file, or a range of them.
pub(crate) fn media(cx: &Cx<'_>) -> Result<Reply, Failure> {
    let item = cx.item(cx.knows_drives())?;
    let Body::Bytes { media_type, bytes } = &item.body else {
        let message =
            "Only files with binary content can be downloaded. Use Export with Docs Editors files.";
        return Err(refused("fileNotDownloadable", message));
    };

    if item.restrictions.no_download {
        return Err(refused(
            "cannotDownloadFile",
            "This file cannot be downloaded by the user.",
        ));
    }

    if item.restrictions.abusive && !cx.call.flag("acknowledgeAbuse") {
        let message = "This file has been identified as malware or spam and cannot be downloaded.";
        return Err(refused("cannotDownloadAbusiveFile", message));
    }

    Ok(ranged(cx.call, media_type, bytes))
}

fn ranged(call: &Call, media_type: &str, bytes: &Bytes) -> Reply {
    let length = bytes.len();
    let Some(range) = call
        .header("range")
        .and_then(|range| range.strip_prefix("bytes="))
    else {
        return Reply::new(200, media_type, bytes.clone()).with("accept-ranges", "bytes");
    };
    match bounds(range, length) {
        Some((first, last)) => Reply::new(206, media_type, bytes.slice(first..=last))
            .with("content-range", format!("bytes {first}-{last}/{length}")),
        None => Reply::empty(416).with("content-range", format!("bytes */{length}")),
    }
}

/// Parses a range such as `5-9`, `5-` or `-5` into the positions of its first and last byte.
fn bounds(range: &str, length: usize) -> Option<(usize, usize)> {
    let (first, last) = range.split_once('-')?;
    let end = length.checked_sub(1)?;
    let (first, last) = match (first, last) {
        ("", count) => (
            length.saturating_sub(count.parse::<usize>().ok().filter(|count| *count > 0)?),
            end,
        ),
        (first, "") => (first.parse().ok()?, end),
        (first, last) => (first.parse().ok()?, end.min(last.parse().ok()?)),
    };
    (first <= last).then_some((first, last))
}

fn exported(item: &Item, form: &str) -> Result<Bytes, Failure> {
    if content::forms(&item.body).is_empty() {
        return Err(refused(
            "fileNotExportable",
            "Export only supports Docs Editors files.",
        ));
    }

    if item.restrictions.no_download {
        return Err(refused(
            "cannotExportFile",
            "This file cannot be exported by the user.",
        ));
    }

    let bytes = content::export(&item.body, form);
    bytes.ok_or_else(|| Failure::bad_request("The requested conversion is not supported."))
}

pub(crate) fn export(cx: &Cx<'_>) -> Result<Reply, Failure> {
    let item = cx.item(true)?;
    let form = cx.call.param("mimeType").unwrap_or_default();
    let bytes = exported(item, form)?;
    if bytes.len() > EXPORT_LIMIT {
        let message = "This file is too large to be exported.";
        return Err(refused("exportSizeLimitExceeded", message));
    }
    Ok(Reply::new(200, form, bytes))
}

/// Begins an export that is not subject to the size limit.
pub(crate) fn download(cx: &mut Cx<'_>) -> Result<Value, Failure> {
    let item = cx.item(true)?;
    let form = cx.call.param("mimeType").map(str::to_owned);
    let file = item.id.clone();
    take(item, form.as_deref())?;
    let world = &mut cx.state.world;
    let name = world.random.name(40);
    let (polls, begun) = (world.quirks.operation_polls, world.clock.now());
    let operation = Operation {
        email: cx.viewer.email.clone(),
        file,
        form,
        polls,
        begun,
    };

    let shown = show(&name, &operation, &cx.call.base);
    cx.state.operations.insert(name, operation);

    Ok(shown)
}

/// Returns the media type and the bytes of a download.
fn take(item: &Item, form: Option<&str>) -> Result<(String, Bytes), Failure> {
    if let Body::Bytes { media_type, bytes } = &item.body {
        if item.restrictions.no_download {
            return Err(refused(
                "cannotDownloadFile",
                "This file cannot be downloaded by the user.",
            ));
        }
        return Ok((media_type.clone(), bytes.clone()));
    }
    let form = form.ok_or_else(|| Failure::required("mimeType"))?;
    Ok((form.to_owned(), exported(item, form)?))
}

fn show(name: &str, operation: &Operation, base: &str) -> Value {
    let mut shown = json!({
        "name": name,
        "done": operation.polls == 0,
        "metadata": { "@type": "type.googleapis.com/google.apps.drive.v3.DownloadFileMetadata" },
    });

    if operation.polls == 0 {
        shown["response"] = json!({
            "@type": "type.googleapis.com/google.apps.drive.v3.DownloadFileResponse",
            "downloadUri": format!("{base}/download/{name}"),
            "partialDownloadAllowed": operation.form.is_none(),
        });
    }

    shown
}

pub(crate) fn operation(cx: &mut Cx<'_>) -> Result<Value, Failure> {
    let now = cx.state.world.clock.now();
    let found = cx.state.operations.get_mut(&cx.id);
    let mine = found
        .filter(|operation| operation.email == cx.viewer.email && now - operation.begun <= READY);
    let operation = mine
        .ok_or_else(|| Failure::new(404, "notFound", format!("Operation not found: {}.", cx.id)))?;
    operation.polls = operation.polls.saturating_sub(1);
    Ok(show(&cx.id, operation, &cx.call.base))
}

/// Answers requests for content at addresses outside the API: those of downloads and the links of
/// items. A request without an access token gets a login page, as in a browser.
pub(crate) fn direct(state: &State, call: &Call) -> Option<Reply> {
    let rest = call
        .path
        .strip_prefix("/download/")
        .map(|name| (true, name));
    let (operation, name) =
        rest.or_else(|| Some((false, call.path.strip_prefix("/export-links/")?)))?;
    let now = state.world.clock.now();
    let Some(access) = call
        .bearer()
        .and_then(|token| state.oauth.access(token, now))
    else {
        return Some(Reply::html(
            200,
            "<title>Sign in</title><p>Sign in to continue.",
        ));
    };

    let viewer = Viewer {
        email: access.email.clone(),
        keys: super::resource_keys(call),
    };

    let (file, form) = if operation {
        let found = state.operations.get(name);
        let ready =
            found.filter(|operation| operation.polls == 0 && now - operation.begun <= READY);
        let Some(found) = ready.filter(|operation| operation.email == viewer.email) else {
            return Some(Failure::no_file(name).reply());
        };
        (found.file.as_str(), found.form.as_deref())
    } else {
        (name, call.param("mimeType"))
    };

    let item = state
        .world
        .items
        .get(file)
        .filter(|_| state.world.sees(&viewer, file));
    let taken = item
        .ok_or_else(|| Failure::no_file(file))
        .and_then(|item| take(item, form));

    Some(taken.map_or_else(
        |failure| failure.reply(),
        |(media_type, bytes)| ranged(call, &media_type, &bytes),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges() {
        for (range, expected) in [
            ("0-0", Some((0, 0))),
            ("2-", Some((2, 9))),
            ("-3", Some((7, 9))),
            ("-30", Some((0, 9))),
            ("5-99", Some((5, 9))),
            ("10-", None),
            ("-0", None),
            ("4-3", None),
            ("x-3", None),
        ] {
            assert_eq!(bounds(range, 10), expected, "{range}");
        }

        assert_eq!(bounds("0-", 0), None);
    }
}
