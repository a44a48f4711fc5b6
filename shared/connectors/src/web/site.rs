//! The scope of a crawl as its caller configured it, and the normalization of addresses.

use domain::Metadata;
use remote::{parse_page_url, url_refusal};
use serde_json::Value;
use url::Url;

/// The default distance from the start in links.
const DEFAULT_DEPTH: u64 = 3;
/// The largest distance from the start in links.
const MAX_DEPTH: u64 = 10;
/// The default number of pages.
const DEFAULT_PAGES: u64 = 100;
/// The largest number of pages.
const MAX_PAGES: u64 = 1_000;
/// The most bytes of the address of a page.
const MAX_ADDRESS_BYTES: usize = 2_048;
/// Query parameters that identify where a reader came from, and not the page.
const TRACKING_PARAMETERS: [&str; 6] = ["fbclid", "gclid", "mc_cid", "mc_eid", "msclkid", "yclid"];
/// The extensions of files that are never text.
const BINARY_EXTENSIONS: [&str; 38] = [
    "7z", "aac", "apk", "avi", "avif", "bin", "bmp", "css", "dmg", "eot", "exe", "flac", "gif",
    "gz", "ico", "iso", "jpeg", "jpg", "js", "json", "m4a", "mov", "mp3", "mp4", "mpeg", "msi",
    "ogg", "png", "rar", "svg", "tar", "tif", "tiff", "wav", "webm", "webp", "woff2", "zip",
];

/// The configuration of a crawl.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CrawlPlan {
    /// The first page.
    pub(super) start: Option<Url>,
    /// The sitemap.
    pub(super) sitemap: Option<Url>,
    /// The largest number of links between the start and a page.
    pub(super) max_depth: u64,
    /// The largest number of pages.
    pub(super) max_pages: usize,
    /// The beginning of the paths of all pages.
    pub(super) prefix: Option<String>,
}

impl CrawlPlan {
    /// Reads the metadata of a connection. Other keys belong to the caller.
    ///
    /// # Errors
    /// Returns a sentence for the caller that names the invalid field.
    pub(super) fn from_metadata(metadata: &Metadata) -> Result<Self, String> {
        let (start, sitemap) = (
            parse_address(metadata, "startUrl")?,
            parse_address(metadata, "sitemapUrl")?,
        );
        if start.is_none() && sitemap.is_none() {
            return Err(
                "metadata.startUrl or metadata.sitemapUrl is required: where the crawler begins"
                    .into(),
            );
        }

        if let (Some(start), Some(sitemap)) = (&start, &sitemap)
            && address_on_site(start, sitemap.clone()).is_none()
        {
            return Err(
                "metadata.sitemapUrl: expected an address of the same host as metadata.startUrl"
                    .into(),
            );
        }

        let prefix = match metadata.as_object().get("pathPrefix") {
            None | Some(Value::Null) => None,
            Some(Value::String(prefix)) if prefix.starts_with('/') => Some(prefix.clone()),
            Some(_) => return Err("metadata.pathPrefix: expected a path that begins with /".into()),
        };

        let max_pages = parse_number(metadata, "maxPages", 1, DEFAULT_PAGES, MAX_PAGES)?;
        Ok(Self {
            start,
            sitemap,
            max_depth: parse_number(metadata, "maxDepth", 0, DEFAULT_DEPTH, MAX_DEPTH)?,
            max_pages: usize::try_from(max_pages).unwrap_or(usize::MAX),
            prefix,
        })
    }

    /// Checks whether a page of the site is in the scope of the crawl.
    pub(super) fn includes_page(&self, url: &Url) -> bool {
        let is_below_prefix = match &self.prefix {
            Some(prefix) => url.path().starts_with(prefix.as_str()),
            None => true,
        };
        is_below_prefix && may_be_text(url)
    }
}

fn parse_address(metadata: &Metadata, field: &str) -> Result<Option<Url>, String> {
    let text = match metadata.as_object().get(field) {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::String(text)) => text,
        Some(_) => return Err(format!("metadata.{field}: expected an address")),
    };
    let Some(mut url) = parse_page_url(text) else {
        return Err(format!(
            "metadata.{field}: expected one http or https address"
        ));
    };
    if let Some(reason) = url_refusal(&url) {
        return Err(format!("metadata.{field}: {reason}"));
    }
    url.set_fragment(None);
    Ok(Some(url))
}

/// Reads a whole number. It may be a string of digits, because some clients send every value as a
/// string.
fn parse_number(
    metadata: &Metadata,
    field: &str,
    min: u64,
    default: u64,
    max: u64,
) -> Result<u64, String> {
    let number = match metadata.as_object().get(field) {
        None | Some(Value::Null) => return Ok(default),
        Some(Value::String(digits)) => digits.parse().ok(),
        Some(value) => value.as_u64(),
    };
    match number {
        Some(number) if (min..=max).contains(&number) => Ok(number),
        _ => Err(format!(
            "metadata.{field}: expected a whole number from {min} to {max}"
        )),
    }
}

/// Returns the normalized address that `href` refers to, without the fragment and without tracking
/// parameters, or `None` if it is not a page of the web.
pub(super) fn normalize_address(base: &Url, href: &str) -> Option<Url> {
    let mut url = base.join(href.trim()).ok()?;
    let is_web = matches!(url.scheme(), "http" | "https") && url.host().is_some();
    if !is_web || !url.username().is_empty() || url.password().is_some() {
        return None;
    }

    url.set_fragment(None);
    let mut kept_parts = Vec::new();
    for part in url.query().unwrap_or_default().split('&') {
        let name = part.split('=').next().unwrap_or_default();
        let name = name.to_ascii_lowercase();
        let is_tracking = name.starts_with("utm_") || TRACKING_PARAMETERS.contains(&name.as_str());
        if !part.is_empty() && !is_tracking {
            kept_parts.push(part);
        }
    }

    let query = kept_parts.join("&");
    url.set_query((!query.is_empty()).then_some(&query));
    (url.as_str().len() <= MAX_ADDRESS_BYTES).then_some(url)
}

/// Returns the address with the scheme of `site`, because a site may be reached by http and https
/// alike, or `None` for an address of another host.
pub(super) fn address_on_site(site: &Url, mut url: Url) -> Option<Url> {
    if url.host() != site.host() {
        return None;
    }
    if url.scheme() != site.scheme() && url.port().is_none() && site.port().is_none() {
        url.set_scheme(site.scheme()).ok()?;
    }

    let is_same_site = url.scheme() == site.scheme()
        && url.port_or_known_default() == site.port_or_known_default();
    is_same_site.then_some(url)
}

fn may_be_text(url: &Url) -> bool {
    let file = url.path().rsplit('/').next().unwrap_or_default();
    match file.rsplit_once('.') {
        Some((_, extension)) => {
            let extension = extension.to_ascii_lowercase();
            !BINARY_EXTENSIONS.contains(&extension.as_str())
        }
        None => true,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn plan(value: &Value) -> Result<CrawlPlan, String> {
        CrawlPlan::from_metadata(
            &Metadata::parse(value.as_object().expect("an object").clone()).expect("metadata"),
        )
    }

    #[test]
    fn a_plan_says_what_is_wrong_with_it() {
        let start = "https://tides.example/docs/";
        let parsed = plan(
            &json!({"startUrl": format!("{start}#top"), "maxDepth": 0, "maxPages": "7", "own": true}),
        );
        let parsed = parsed.expect("a plan");
        assert_eq!(parsed.start.as_ref().map(Url::as_str), Some(start));
        assert_eq!(
            (parsed.max_depth, parsed.max_pages, parsed.prefix.as_deref()),
            (0, 7, None)
        );
        let parsed =
            plan(&json!({"sitemapUrl": "http://tides.example/sitemap.xml"})).expect("a plan");
        assert_eq!((parsed.max_depth, parsed.max_pages), (3, 100));

        for (metadata, expected) in [
            (
                json!({}),
                "metadata.startUrl or metadata.sitemapUrl is required",
            ),
            (
                json!({"startUrl": 1}),
                "metadata.startUrl: expected an address",
            ),
            (
                json!({"startUrl": "tides.example"}),
                "metadata.startUrl: expected one http or https",
            ),
            (
                json!({"startUrl": "ftp://tides.example"}),
                "metadata.startUrl: expected one http or https",
            ),
            (
                json!({"startUrl": "http://127.0.0.1/"}),
                "metadata.startUrl: The address does not lead to the public",
            ),
            (
                json!({"startUrl": "http://[::1]/"}),
                "metadata.startUrl: The address does not lead to the public",
            ),
            (
                json!({"startUrl": "http://wiki.internal/"}),
                "metadata.startUrl: The address does not lead",
            ),
            (
                json!({"startUrl": "https://me:x@tides.example"}),
                "metadata.startUrl: An address with a user name",
            ),
            (
                json!({"startUrl": "https://tides.example:8443"}),
                "metadata.startUrl: Only the ports",
            ),
            (
                json!({"startUrl": start, "maxDepth": 11}),
                "metadata.maxDepth: expected a whole number from 0 to 10",
            ),
            (
                json!({"startUrl": start, "maxPages": 0}),
                "metadata.maxPages: expected a whole number from 1 to 1000",
            ),
            (
                json!({"startUrl": start, "maxPages": 1.5}),
                "metadata.maxPages",
            ),
            (
                json!({"startUrl": start, "sitemapUrl": "https://other.example/sitemap.xml"}),
                "metadata.sitemapUrl: expected an address of the same host",
            ),
            (
                json!({"startUrl": start, "pathPrefix": "docs"}),
                "metadata.pathPrefix: expected a path",
            ),
        ] {
            let message = plan(&metadata).expect_err("no plan");
            assert!(message.starts_with(expected), "{metadata}: {message}");
        }
    }

    #[test]
    fn links_become_addresses_of_pages() {
        let base = Url::parse("https://tides.example/docs/a?x=1").expect("an address");
        for (href, expected) in [
            ("b", Some("https://tides.example/docs/b")),
            (" ../c#part ", Some("https://tides.example/c")),
            ("?b=2&a=1", Some("https://tides.example/docs/a?b=2&a=1")),
            (
                "/d?utm_source=x&a=1&GCLID=2&",
                Some("https://tides.example/d?a=1"),
            ),
            ("/d?utm_source=x", Some("https://tides.example/d")),
            ("//other.example/x", Some("https://other.example/x")),
            ("HTTP://Tides.Example:80/e", Some("http://tides.example/e")),
            ("", Some("https://tides.example/docs/a?x=1")),
            ("mailto:a@tides.example", None),
            ("javascript:void(0)", None),
            ("data:text/html,x", None),
            ("https://me@tides.example/", None),
            ("http://[", None),
        ] {
            assert_eq!(
                normalize_address(&base, href).as_ref().map(Url::as_str),
                expected,
                "{href}"
            );
        }

        assert_eq!(normalize_address(&base, &"x".repeat(3_000)), None);
    }

    #[test]
    fn a_site_is_one_host_by_http_and_https() {
        let site = Url::parse("https://tides.example/").expect("an address");

        for (url, expected) in [
            ("http://tides.example/a", Some("https://tides.example/a")),
            ("https://tides.example/a", Some("https://tides.example/a")),
            ("https://www.tides.example/a", None),
            ("https://tides.example:8443/a", None),
            ("http://tides.example:443/a", None),
            ("https://tides.example.evil.example/a", None),
        ] {
            let url = Url::parse(url).expect("an address");
            assert_eq!(
                address_on_site(&site, url.clone())
                    .as_ref()
                    .map(Url::as_str),
                expected,
                "{url}"
            );
        }
    }

    #[test]
    fn a_plan_wants_pages_below_its_prefix_that_may_be_text() {
        let plan = plan(&json!({"startUrl": "https://tides.example", "pathPrefix": "/docs"}))
            .expect("a plan");

        for (path, expected) in [
            ("/docs", true),
            ("/docs/a.html", true),
            ("/docs/a.PDF", true),
            ("/docs/v1.2/", true),
            ("/docs/v1.2", true),
            ("/docs/a.PNG?x=1", false),
            ("/blog/docs", false),
        ] {
            let url = Url::parse("https://tides.example")
                .and_then(|site| site.join(path))
                .expect("an address");
            assert_eq!(plan.includes_page(&url), expected, "{path}");
        }
    }
}
