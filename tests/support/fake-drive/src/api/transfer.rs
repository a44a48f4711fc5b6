//! Outgoing content: bytes, exports, and downloads that are prepared in the background.

use bytes::Bytes;
use serde_json::{Value, json};

use super::CallContext;
use super::failure::DriveApiError;
use crate::content;
use crate::drive_contents::{FakeContent, Item, Viewer};
use crate::state::{DriveState, ExportOperation};
use crate::wire::{HttpCall, Reply};

/// The largest export in bytes.
const MAX_EXPORT_BYTES: usize = 10 * 1024 * 1024;
/// The time in milliseconds for which a prepared download is kept.
const DOWNLOAD_LIFETIME_MS: i64 = 24 * 3_600_000;

fn check_download_allowed(reason: &str, message: &str) -> DriveApiError {
    DriveApiError::new(403, reason, message)
}

/// Returns the bytes of a file, or a range of them.
pub(crate) fn download_media(cx: &CallContext<'_>) -> Result<Reply, DriveApiError> {
    let item = cx.visible_item(cx.supports_shared_drives())?;
    let FakeContent::Bytes { media_type, bytes } = &item.body else {
        let message =
            "Only files with binary content can be downloaded. Use Export with Docs Editors files.";
        return Err(check_download_allowed("fileNotDownloadable", message));
    };

    if item.restrictions.no_download {
        return Err(check_download_allowed(
            "cannotDownloadFile",
            "This file cannot be downloaded by the user.",
        ));
    }

    if item.restrictions.abusive && !cx.call.query_flag("acknowledgeAbuse") {
        let message = "This file has been identified as malware or spam and cannot be downloaded.";
        return Err(check_download_allowed("cannotDownloadAbusiveFile", message));
    }

    Ok(range_reply(cx.call, media_type, bytes))
}

fn range_reply(call: &HttpCall, media_type: &str, bytes: &Bytes) -> Reply {
    let length = bytes.len();
    let Some(range) = call
        .header_value("range")
        .and_then(|range| range.strip_prefix("bytes="))
    else {
        return Reply::new(200, media_type, bytes.clone()).with_header("accept-ranges", "bytes");
    };
    match parse_range(range, length) {
        Some((first, last)) => Reply::new(206, media_type, bytes.slice(first..=last))
            .with_header("content-range", format!("bytes {first}-{last}/{length}")),
        None => Reply::empty_reply(416).with_header("content-range", format!("bytes */{length}")),
    }
}

/// Parses a range such as `5-9`, `5-` or `-5` into the positions of its first and last byte.
fn parse_range(range: &str, length: usize) -> Option<(usize, usize)> {
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

fn export_content(item: &Item, export_type: &str) -> Result<Bytes, DriveApiError> {
    if content::export_formats(&item.body).is_empty() {
        return Err(check_download_allowed(
            "fileNotExportable",
            "Export only supports Docs Editors files.",
        ));
    }

    if item.restrictions.no_download {
        return Err(check_download_allowed(
            "cannotExportFile",
            "This file cannot be exported by the user.",
        ));
    }

    let bytes = content::export_body(&item.body, export_type);
    bytes.ok_or_else(|| DriveApiError::bad_request("The requested conversion is not supported."))
}

pub(crate) fn export_file(cx: &CallContext<'_>) -> Result<Reply, DriveApiError> {
    let item = cx.visible_item(true)?;
    let export_type = cx.call.query_param("mimeType").unwrap_or_default();
    let bytes = export_content(item, export_type)?;
    if bytes.len() > MAX_EXPORT_BYTES {
        let message = "This file is too large to be exported.";
        return Err(check_download_allowed("exportSizeLimitExceeded", message));
    }
    Ok(Reply::new(200, export_type, bytes))
}

/// Begins an export that is not subject to the size limit.
pub(crate) fn begin_download(cx: &mut CallContext<'_>) -> Result<Value, DriveApiError> {
    let item = cx.visible_item(true)?;
    let export_type = cx.call.query_param("mimeType").map(str::to_owned);
    let file = item.id.clone();
    download_content(item, export_type.as_deref())?;
    let contents = &mut cx.state.contents;
    let name = contents.random.random_name(40);
    let (polls, started_at) = (contents.quirks.operation_polls, contents.clock.now());
    let operation = ExportOperation {
        email: cx.viewer.email.clone(),
        file,
        export_type,
        polls,
        started_at,
    };

    let response = render_operation(&name, &operation, &cx.call.base);
    cx.state.operations.insert(name, operation);

    Ok(response)
}

/// Returns the media type and the bytes of a download.
fn download_content(
    item: &Item,
    export_type: Option<&str>,
) -> Result<(String, Bytes), DriveApiError> {
    if let FakeContent::Bytes { media_type, bytes } = &item.body {
        if item.restrictions.no_download {
            return Err(check_download_allowed(
                "cannotDownloadFile",
                "This file cannot be downloaded by the user.",
            ));
        }
        return Ok((media_type.clone(), bytes.clone()));
    }
    let export_type = export_type.ok_or_else(|| DriveApiError::missing_parameter("mimeType"))?;
    Ok((export_type.to_owned(), export_content(item, export_type)?))
}

fn render_operation(name: &str, operation: &ExportOperation, base: &str) -> Value {
    let mut response = json!({
        "name": name,
        "done": operation.polls == 0,
        "metadata": { "@type": "type.googleapis.com/google.apps.drive.v3.DownloadFileMetadata" },
    });

    if operation.polls == 0 {
        response["response"] = json!({
            "@type": "type.googleapis.com/google.apps.drive.v3.DownloadFileResponse",
            "downloadUri": format!("{base}/download/{name}"),
            "partialDownloadAllowed": operation.export_type.is_none(),
        });
    }

    response
}

pub(crate) fn get_operation(cx: &mut CallContext<'_>) -> Result<Value, DriveApiError> {
    let now = cx.state.contents.clock.now();
    let stored = cx.state.operations.get_mut(&cx.id);
    let own_operation = stored.filter(|operation| {
        operation.email == cx.viewer.email && now - operation.started_at <= DOWNLOAD_LIFETIME_MS
    });
    let operation = own_operation.ok_or_else(|| {
        DriveApiError::new(404, "notFound", format!("Operation not found: {}.", cx.id))
    })?;
    operation.polls = operation.polls.saturating_sub(1);
    Ok(render_operation(&cx.id, operation, &cx.call.base))
}

/// Answers requests for content at addresses outside the API: those of downloads and the links of
/// items. A request without an access token gets a login page, as in a browser.
pub(crate) fn answer_direct_link(state: &DriveState, call: &HttpCall) -> Option<Reply> {
    let operation_link = call
        .path
        .strip_prefix("/download/")
        .map(|name| (true, name));
    let (is_operation, name) =
        operation_link.or_else(|| Some((false, call.path.strip_prefix("/export-links/")?)))?;
    let now = state.contents.clock.now();
    let Some(access) = call
        .bearer_token()
        .and_then(|token| state.oauth.find_access_token(token, now))
    else {
        return Some(Reply::html_reply(
            200,
            "<title>Sign in</title><p>Sign in to continue.",
        ));
    };

    let viewer = Viewer {
        email: access.email.clone(),
        keys: super::parse_resource_keys(call),
    };

    let (file, export_type) = if is_operation {
        let entry = state.operations.get(name);
        let ready = entry.filter(|operation| {
            operation.polls == 0 && now - operation.started_at <= DOWNLOAD_LIFETIME_MS
        });
        let Some(entry) = ready.filter(|operation| operation.email == viewer.email) else {
            return Some(DriveApiError::file_not_found(name).to_reply());
        };
        (entry.file.as_str(), entry.export_type.as_deref())
    } else {
        (name, call.query_param("mimeType"))
    };

    let item = state
        .contents
        .items
        .get(file)
        .filter(|_| state.contents.can_see(&viewer, file));
    let result = item
        .ok_or_else(|| DriveApiError::file_not_found(file))
        .and_then(|item| download_content(item, export_type));

    Some(result.map_or_else(
        |failure| failure.to_reply(),
        |(media_type, bytes)| range_reply(call, &media_type, &bytes),
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
            assert_eq!(parse_range(range, 10), expected, "{range}");
        }

        assert_eq!(parse_range("0-", 0), None);
    }
}
