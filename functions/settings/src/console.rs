//! The console at `/`: a web page on which people look at what is stored. Its files are part of the
//! program.
//!
//! The page is made of plain JavaScript modules without a build step. It loads nothing from other
//! hosts and calls the same API as every client.

use std::sync::LazyLock;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use domain::Error;
use edge::{ApiError, ApiResult, App, Path};
use http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use http::{HeaderMap, HeaderValue, StatusCode};
use sha2::{Digest, Sha256};

use crate::page::{PageHeaders, page_headers};

/// The headers of the files of the page, and of the page with a policy of its own. Browsers ask each
/// time whether a file has changed, so that no page mixes modules of two versions.
const HEADERS: PageHeaders = page_headers("default-src 'none'; frame-ancestors 'none'", "no-cache");

const PAGE: &str = include_str!("console/index.html");

/// A file of the console: its path below `/console`, and its text.
struct Asset {
    path: &'static str,
    text: &'static str,
}

macro_rules! asset {
    ($path:literal) => {
        Asset {
            path: $path,
            text: include_str!(concat!("console/", $path)),
        }
    };
}

/// All files but the page itself. A test compares them with the folder.
static ASSETS: &[Asset] = &[
    asset!("api.js"),
    asset!("app.js"),
    asset!("components/add-documents.js"),
    asset!("components/chart.js"),
    asset!("components/dialog.js"),
    asset!("components/graph-canvas.js"),
    asset!("components/graph-layout.js"),
    asset!("components/json-editor.js"),
    asset!("components/json-tree.js"),
    asset!("components/keyboard.js"),
    asset!("components/load.js"),
    asset!("components/memory.js"),
    asset!("components/navigation.js"),
    asset!("components/notice.js"),
    asset!("components/parts.js"),
    asset!("components/scores.js"),
    asset!("components/selection-bar.js"),
    asset!("components/selection.js"),
    asset!("components/sign-in.js"),
    asset!("components/source-text.js"),
    asset!("components/status.js"),
    asset!("dom.js"),
    asset!("format.js"),
    asset!("highlight.js"),
    asset!("history.js"),
    asset!("icon.svg"),
    asset!("icons.js"),
    asset!("json-check.js"),
    asset!("request-history.js"),
    asset!("request-text.js"),
    asset!("router.js"),
    asset!("routes.js"),
    asset!("session.js"),
    asset!("style.css"),
    asset!("theme.js"),
    asset!("views/analytics.js"),
    asset!("views/connections.js"),
    asset!("views/container.js"),
    asset!("views/document.js"),
    asset!("views/graph.js"),
    asset!("views/keys.js"),
    asset!("views/memories.js"),
    asset!("views/overview.js"),
    asset!("views/profile.js"),
    asset!("views/requests.js"),
    asset!("views/search.js"),
    asset!("views/settings.js"),
];

/// The digest of all files, which changes with each version.
static VERSION: LazyLock<String> = LazyLock::new(|| {
    let mut digest = Sha256::new();
    digest.update(PAGE);
    for asset in ASSETS {
        digest.update(asset.path);
        digest.update(asset.text);
    }
    format!("\"{}\"", hex::encode(&digest.finalize()[..12]))
});

pub(crate) async fn show_page(State(app): State<App>, headers: HeaderMap) -> ApiResult<Response> {
    let object_origin = app.ctx.blobs.object_origin(app.ctx.clock.now()).await;
    let policy = page_policy(&object_origin.map_err(Error::from)?);
    let mut response = answer_file(&headers, "text/html; charset=utf-8", PAGE);
    if let Ok(policy) = HeaderValue::from_str(&policy) {
        response
            .headers_mut()
            .insert(CONTENT_SECURITY_POLICY, policy);
    }
    Ok(response)
}

/// Returns the content security policy of the page: only files of this service, pictures of
/// documents, and requests to this service and to the object store, which takes large files and has
/// large answers.
fn page_policy(object_origin: &str) -> String {
    format!(
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; \
         connect-src 'self' {object_origin}; form-action 'none'; frame-ancestors 'none'; \
         base-uri 'none'"
    )
}

pub(crate) async fn show_asset(
    Path(path): Path<String>,
    headers: HeaderMap,
) -> ApiResult<Response> {
    let asset = ASSETS.iter().find(|asset| asset.path == path);
    let asset = asset.ok_or(ApiError(Error::NotFound("File of the console")))?;
    Ok(answer_file(&headers, content_type(asset.path), asset.text))
}

fn content_type(path: &str) -> &'static str {
    match path.rsplit('.').next() {
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        _ => "application/octet-stream",
    }
}

/// Answers with a file, or with status 304 if the browser has it.
fn answer_file(request: &HeaderMap, content_type: &'static str, text: &'static str) -> Response {
    let is_known = request
        .get(IF_NONE_MATCH)
        .and_then(|known| known.to_str().ok())
        .is_some_and(|known| known.trim_start_matches("W/") == VERSION.as_str());
    let mut response = if is_known {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        ([(CONTENT_TYPE, content_type)], text).into_response()
    };

    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if let Ok(version) = HeaderValue::from_str(&VERSION) {
        headers.insert(ETAG, version);
    }
    response
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::*;
    use crate::page::{assert_has_no_inline_code, assert_reads_no_text_as_markup};

    /// The most bytes of all files together. Compressed they are less than a third of that.
    const MAX_BYTES: usize = 400 * 1024;

    /// Returns the paths of the files in a folder and in those below it.
    fn files_below(folder: &Path) -> Vec<PathBuf> {
        let mut files = Vec::new();
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                files.extend(files_below(&path));
            } else {
                files.push(path);
            }
        }
        files
    }

    #[test]
    fn every_file_of_the_folder_is_served() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/console");
        let mut expected: Vec<String> = files_below(&folder)
            .into_iter()
            .map(|path| path.strip_prefix(&folder).unwrap().display().to_string())
            .filter(|path| path != "index.html")
            .collect();
        expected.sort();
        let served: Vec<_> = ASSETS.iter().map(|asset| asset.path).collect();
        assert_eq!(served, expected);
    }

    #[test]
    fn the_page_is_small_and_loads_nothing_from_elsewhere() {
        let bytes: usize = ASSETS.iter().map(|asset| asset.text.len()).sum();
        assert!(bytes + PAGE.len() <= MAX_BYTES, "{bytes}");

        for asset in ASSETS {
            for address in asset.text.split("://").skip(1) {
                // Names of XML, the address of an example, and what a field begins with.
                let host = address.split(['/', '"', '`', ' ', '<']).next().unwrap();
                let is_known = ["www.w3.org", "example.com", ""].contains(&host);
                assert!(is_known, "{}: {host}", asset.path);
            }
        }
    }

    #[test]
    fn the_page_needs_no_exception_from_its_policy() {
        assert_has_no_inline_code(PAGE);
        for asset in ASSETS {
            assert_reads_no_text_as_markup(asset.path, asset.text);
        }
    }
}
