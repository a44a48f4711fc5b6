//! Notifications about changes: the channels that clients open, and the requests that are sent
//! through them.

use std::net::IpAddr;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Serialize;
use sha2::{Digest, Sha256};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use url::{Host, Url};

use crate::drive_contents::ChangeFeed;
use crate::state::DriveState;

/// The longest time that sending one notification may take.
const DELIVERY_TIMEOUT: Duration = Duration::from_secs(3);

/// A subscription to the changes of a feed.
#[derive(Debug, Clone)]
pub(crate) struct Channel {
    pub(crate) id: String,
    pub(crate) feed: ChangeFeed,
    pub(crate) email: String,
    pub(crate) client: String,
    pub(crate) address: String,
    pub(crate) token: Option<String>,
    pub(crate) resource_uri: String,
    pub(crate) expires_at: i64,
    pub(crate) sent_count: u64,
}

/// A notification to be sent.
#[derive(Debug, Clone)]
pub(crate) struct Notification {
    pub(crate) address: String,
    pub(crate) headers: Vec<(&'static str, String)>,
    channel: String,
    number: u64,
}

/// A notification that was sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SentNotification {
    /// The channel's id.
    pub channel: String,
    /// The message number. Number 1 is the first notification of a channel.
    pub number: u64,
    /// The status of the answer. `None` if there was no answer, or if the address is not on this
    /// machine.
    pub status: Option<u16>,
}

/// Returns the resource id by which watchers know a feed.
pub(crate) fn resource_id(feed: &ChangeFeed) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(format!("{feed:?}")))[..27].to_owned()
}

impl Channel {
    pub(crate) fn next_notification(&mut self, state: &str) -> Notification {
        self.sent_count += 1;
        let expiration = jiff::Timestamp::from_millisecond(self.expires_at)
            .unwrap_or(jiff::Timestamp::UNIX_EPOCH);
        let mut headers = vec![
            ("X-Goog-Channel-ID", self.id.clone()),
            (
                "X-Goog-Channel-Expiration",
                expiration.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string(),
            ),
            ("X-Goog-Resource-ID", resource_id(&self.feed)),
            ("X-Goog-Resource-URI", self.resource_uri.clone()),
            ("X-Goog-Resource-State", state.to_owned()),
            ("X-Goog-Message-Number", self.sent_count.to_string()),
        ];
        headers.extend(
            self.token
                .iter()
                .map(|token| ("X-Goog-Channel-Token", token.clone())),
        );
        let (address, channel) = (self.address.clone(), self.id.clone());

        Notification {
            address,
            headers,
            channel,
            number: self.sent_count,
        }
    }
}

impl DriveState {
    /// Notifies all channels whose feed has changed.
    pub(crate) fn notify_channels(&mut self) {
        let changed_feeds = std::mem::take(&mut self.contents.changed_feeds);
        if changed_feeds.is_empty() || self.channels.is_empty() {
            return;
        }

        let now = self.contents.clock.now();
        self.channels.retain(|channel| channel.expires_at > now);
        for channel in self
            .channels
            .iter_mut()
            .filter(|channel| changed_feeds.contains(&channel.feed))
        {
            let _closing = self.outbox.send(channel.next_notification("change"));
        }
    }
}

/// Checks whether an address may receive notifications: HTTPS, or plain HTTP on this machine.
pub(crate) fn is_allowed_address(address: &str) -> bool {
    let Ok(url) = Url::parse(address) else {
        return false;
    };
    url.scheme() == "https" || (url.scheme() == "http" && is_loopback(&url))
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(ip)) => ip.is_loopback(),
        Some(Host::Ipv6(ip)) => ip.is_loopback(),
        None => false,
    }
}

/// Sends a notification if its address is on this machine. Nothing is sent to any other machine.
pub(crate) async fn deliver_notification(notification: &Notification) -> SentNotification {
    let result = tokio::time::timeout(DELIVERY_TIMEOUT, post_notification(notification)).await;
    SentNotification {
        channel: notification.channel.clone(),
        number: notification.number,
        status: result.ok().flatten(),
    }
}

async fn post_notification(notification: &Notification) -> Option<u16> {
    let url = Url::parse(&notification.address)
        .ok()
        .filter(|url| url.scheme() == "http" && is_loopback(url))?;
    let host = url.host_str()?.trim_matches(['[', ']']);
    let ip: IpAddr = if host == "localhost" {
        [127, 0, 0, 1].into()
    } else {
        host.parse().ok()?
    };

    let mut stream = TcpStream::connect((ip, url.port_or_known_default()?))
        .await
        .ok()?;
    let target = url.query().map_or_else(
        || url.path().to_owned(),
        |query| format!("{}?{query}", url.path()),
    );
    let mut request = format!(
        "POST {target} HTTP/1.1\r\nHost: {}\r\nContent-Length: 0\r\nConnection: close\r\n",
        &url[url::Position::BeforeHost..url::Position::AfterPort]
    );
    for (name, value) in &notification.headers {
        // A line break in a token would end the header.
        request.push_str(&format!("{name}: {}\r\n", value.replace(['\r', '\n'], " ")));
    }

    request.push_str("\r\n");
    stream.write_all(request.as_bytes()).await.ok()?;
    let mut status_line = [0; 12];
    stream.read_exact(&mut status_line).await.ok()?;

    std::str::from_utf8(status_line.get(9..12)?)
        .ok()?
        .parse()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_addresses_are_for_this_machine_alone() {
        for (address, allowed) in [
            ("https://example.test/hook", true),
            ("http://127.0.0.1:8080/hook", true),
            ("http://localhost/hook", true),
            ("http://[::1]:9/", true),
            ("http://example.test/hook", false),
            ("http://127.0.0.1.example.test/", false),
            ("ftp://localhost/", false),
            ("hook", false),
        ] {
            assert_eq!(is_allowed_address(address), allowed, "{address}");
        }
    }
}
