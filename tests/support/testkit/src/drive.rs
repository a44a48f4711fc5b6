//! A fake cloud drive in the world of a test, and the browser of a user who connects it.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use axum::body::Body;
use bytes::Bytes;
use connectors::DriveSettings;
use domain::ports::Clock;
use fake_drive::{ConsentDecision, DriveConfig, FakeDrive};
use http::header::{COOKIE, HOST, LOCATION, SET_COOKIE};
use http::{HeaderMap, Request, StatusCode, Uri};
use http_body_util::{BodyExt, Empty};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;

use crate::app::{PUBLIC_URL, TestApp, TestEnvironment};

/// The account that owns the drive.
pub const DRIVE_ACCOUNT: &str = "ada@drive.example";

impl TestEnvironment {
    /// Creates a new world with an empty drive whose account [`DRIVE_ACCOUNT`] grants every
    /// permission that is requested.
    ///
    /// # Errors
    /// Fails if the temporary folder or the drive's port is not available.
    pub async fn with_drive() -> Result<(Self, FakeDrive)> {
        let mut environment = Self::new()?;
        let clock = environment.clock.clone();
        let config = DriveConfig {
            clock: Some(Arc::new(move || clock.now().as_millis())),
            redirect_addresses: vec![format!(
                "{PUBLIC_URL}/v3/connections/auth/callback/cloud-drive"
            )],
            ..DriveConfig::default()
        };

        let drive = FakeDrive::start_with(config).await?;
        drive.get_or_create_account(DRIVE_ACCOUNT);
        drive.set_default_consent(Some(ConsentDecision::Allow {
            email: DRIVE_ACCOUNT.to_owned(),
        }));

        let (id, secret) = drive.client_credentials();
        environment.drive = DriveSettings::for_fake_drive(drive.base_url(), id, secret);

        Ok((environment, drive))
    }
}

/// A browser, which keeps the cookies of the app and follows redirects.
#[derive(Debug, Default)]
pub struct Browser {
    cookies: BTreeMap<String, String>,
}

/// A page that a browser was shown.
#[derive(Debug)]
pub struct BrowserPage {
    /// The address.
    pub url: String,
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The body as text.
    pub text: String,
}

impl Browser {
    /// Requests one address, of the app or of a server on loopback, without following redirects.
    ///
    /// # Errors
    /// Fails if the address is invalid or its server does not answer.
    pub async fn get(&mut self, app: &TestApp, url: &str) -> Result<BrowserPage> {
        self.send(app, "GET", url, &[], Bytes::new()).await
    }

    /// Sends a request with additional headers.
    ///
    /// # Errors
    /// Fails as [`Browser::get`] does.
    pub async fn send(
        &mut self,
        app: &TestApp,
        method: &str,
        url: &str,
        headers: &[(&str, &str)],
        body: Bytes,
    ) -> Result<BrowserPage> {
        let Some(path) = url.strip_prefix(PUBLIC_URL) else {
            return get_from_loopback(url).await;
        };

        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header(HOST, "recollect.test");
        if !self.cookies.is_empty() {
            let pairs: Vec<_> = self
                .cookies
                .iter()
                .map(|(name, value)| format!("{name}={value}"))
                .collect();
            request = request.header(COOKIE, pairs.join("; "));
        }

        for (name, value) in headers {
            request = request.header(*name, *value);
        }

        let (parts, bytes) = app.send_raw(request.body(Body::from(body))?).await;
        for cookie in parts.headers.get_all(SET_COOKIE) {
            let pair = cookie.to_str()?.split(';').next().unwrap_or_default();
            let (name, value) = pair.split_once('=').context("a cookie without a value")?;
            self.cookies.insert(name.to_owned(), value.to_owned());
        }

        let text = String::from_utf8_lossy(&bytes).into_owned();
        Ok(BrowserPage {
            url: url.to_owned(),
            status: parts.status,
            headers: parts.headers,
            text,
        })
    }

    /// Requests an address and follows redirects within the app and the drive. On a page that only
    /// shows who asks for permission, follows its button.
    ///
    /// # Errors
    /// Fails as [`Browser::get`] does, and if the redirects do not end.
    pub async fn follow(&mut self, app: &TestApp, url: &str) -> Result<BrowserPage> {
        let mut url = url.to_owned();
        for _ in 0..12 {
            let page = self.get(app, &url).await?;
            let next = page.redirect_target().or_else(|| page.button_target());
            match next {
                Some(next) if is_own_address(app, &next) => url = next,
                _ => return Ok(page),
            }
        }
        bail!("a browser is sent in circles at {url}")
    }
}

/// Checks whether an address belongs to the app or its drive.
fn is_own_address(app: &TestApp, url: &str) -> bool {
    url.starts_with(PUBLIC_URL)
        || app
            .environment
            .drive
            .url
            .as_deref()
            .is_some_and(|drive| url.starts_with(drive))
}

impl BrowserPage {
    /// Returns the target of the redirect.
    pub fn redirect_target(&self) -> Option<String> {
        self.headers
            .get(LOCATION)
            .and_then(|value| value.to_str().ok())
            .map(str::to_owned)
    }

    /// Returns the target of the button on the page that shows who asks for permission.
    fn button_target(&self) -> Option<String> {
        let link = self
            .text
            .split("class=\"button primary\" href=\"")
            .nth(1)?
            .split('"')
            .next()?;
        Some(link.replace("&amp;", "&"))
    }
}

/// Sends a request to a server on loopback.
async fn get_from_loopback(url: &str) -> Result<BrowserPage> {
    let uri: Uri = url.parse()?;
    let authority = uri
        .authority()
        .context("an address without a server")?
        .clone();
    let stream = TcpStream::connect(authority.as_str()).await?;
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    let driver = tokio::spawn(connection);
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    let request = Request::get(path)
        .header(HOST, authority.as_str())
        .body(Empty::<Bytes>::new())?;
    let (parts, body) = sender.send_request(request).await?.into_parts();
    let text = String::from_utf8_lossy(&body.collect().await?.to_bytes()).into_owned();
    driver.abort();

    Ok(BrowserPage {
        url: url.to_owned(),
        status: parts.status,
        headers: parts.headers,
        text,
    })
}

impl TestApp {
    /// Creates a connection from `body` and lets its user grant the permission. Returns its id, the
    /// browser, and the last page that the user saw.
    ///
    /// # Errors
    /// Fails if any step of this fails.
    pub async fn connect_drive(
        &self,
        key: &str,
        body: &Value,
    ) -> Result<(String, Browser, BrowserPage)> {
        let created = self.post("/v3/connections/cloud-drive", key, body).await;
        let link = created.body["authLink"]
            .as_str()
            .with_context(|| format!("no link: {}", created.body))?;
        let mut browser = Browser::default();
        let page = browser.follow(self, link).await?;
        let id = created.body["id"].as_str().context("an id")?.to_owned();
        Ok((id, browser, page))
    }

    /// Sets the selection of a connection.
    ///
    /// # Panics
    /// Panics if the request is refused.
    pub async fn select_items(&self, key: &str, connection: &str, ids: &[&str]) {
        let resources: Vec<Value> = ids.iter().map(|id| serde_json::json!({"id": id})).collect();
        let body = serde_json::json!({"resources": resources});
        let answer = self
            .post(
                &format!("/v3/connections/{connection}/configure"),
                key,
                &body,
            )
            .await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    }

    /// Lets a connection synchronize until its run has ended and all its documents are processed.
    ///
    /// # Panics
    /// Panics if that never happens.
    pub async fn run_connection_until_settled(&self, key: &str, connection: &str) -> Value {
        const ROUNDS: usize = 200;
        let path = format!("/v3/connections/{connection}");
        for _ in 0..ROUNDS {
            self.run_until_settled().await.expect("work that ends");
            let current = self.get(&path, key).await.body;
            let next_sync_at = current["nextSyncAt"]
                .as_str()
                .and_then(|text| text.parse::<jiff::Timestamp>().ok());
            let remaining = next_sync_at
                .map(|at| at.as_millisecond() - self.environment.clock.now().as_millis());
            let is_running = current["lastSyncRun"]["status"] == "running";
            if !is_running && remaining.is_none_or(|remaining| remaining > 0) {
                return current;
            }
            self.environment.clock.advance_seconds(5);
            maintenance::sweep_overdue_work(&self.system.ctx, self.environment.clock.now())
                .await
                .ok();
        }

        panic!("a run that never ends: {}", self.get(&path, key).await.body)
    }

    /// Requests a run and waits until it ends.
    ///
    /// # Panics
    /// Panics if that never happens.
    pub async fn run_import(&self, key: &str, connection: &str) -> Value {
        let path = format!("/v3/connections/{connection}/import");
        let answer = self.post(&path, key, &Value::Null).await;
        assert_eq!(answer.status, StatusCode::ACCEPTED, "{}", answer.body);
        self.run_connection_until_settled(key, connection).await
    }

    /// Sends a request and returns the raw answer.
    pub(crate) async fn send_raw(&self, request: Request<Body>) -> (http::response::Parts, Bytes) {
        let response = self.send_through_routes(request).await;
        let (parts, body) = response.into_parts();
        let bytes = body
            .collect()
            .await
            .map(|body| body.to_bytes())
            .unwrap_or_default();
        (parts, bytes)
    }
}

/// The header of a JSON body.
pub const JSON: (&str, &str) = ("content-type", "application/json");
