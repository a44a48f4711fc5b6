//! The simulated drive as a connector.

use std::sync::{Mutex, MutexGuard};

use async_trait::async_trait;
use bytes::Bytes;
use domain::connection::{Provider, SkipReason};
use domain::ports::{
    Access, Changes, Connector, ConnectorError, ConnectorResult, Fetched, Item, Listing, OAuth,
    View, Watched,
};
use domain::{BodyForm, Metadata, Timestamp};

use super::drive::{Drive, USER};

/// The simulated drive as the engine sees it.
pub(super) struct Shared(pub(super) Mutex<Drive>);

impl Shared {
    pub(super) fn lock(&self) -> MutexGuard<'_, Drive> {
        self.0.lock().unwrap()
    }

    async fn answers(&self, what: &str) {
        let silent = self.lock().silent.contains(what);
        if silent {
            std::future::pending::<()>().await;
        }
    }

    fn ask(&self, what: &'static str) -> ConnectorResult<MutexGuard<'_, Drive>> {
        let mut drive = self.lock();
        match drive.faults.get_mut(what).and_then(|faults| {
            if faults.is_empty() {
                None
            } else {
                Some(faults.remove(0))
            }
        }) {
            Some(error) => Err(error),
            None => Ok(drive),
        }
    }
}

#[async_trait]
impl Connector for Shared {
    fn provider(&self) -> Provider {
        Provider::CloudDrive
    }

    fn oauth(&self) -> Option<&dyn OAuth> {
        None
    }

    fn has_changes(&self) -> bool {
        true
    }

    fn check(&self, _: &Metadata) -> Result<(), String> {
        Ok(())
    }

    async fn feeds(&self, _: &Access) -> ConnectorResult<Vec<String>> {
        self.answers("feeds").await;
        let drive = self.ask("feeds")?;
        Ok(std::iter::once(USER.to_owned())
            .chain(drive.joined.iter().cloned())
            .collect())
    }

    async fn head(&self, _: &Access, feed: &str) -> ConnectorResult<String> {
        Ok(self
            .ask("head")?
            .logs
            .get(feed)
            .map_or(0, Vec::len)
            .to_string())
    }

    async fn everything(
        &self,
        _: &Access,
        feed: &str,
        page: Option<&str>,
    ) -> ConnectorResult<Listing> {
        let mut drive = self.ask("everything")?;
        let listing = drive.list(
            |id, thing| thing.parent.is_some() && drive.feed_of(id) == feed,
            page,
        );
        if drive.random() < drive.busy {
            drive.happen();
        }

        Ok(listing)
    }

    async fn children(
        &self,
        _: &Access,
        folder: &str,
        _: Option<&str>,
        page: Option<&str>,
    ) -> ConnectorResult<Listing> {
        let mut drive = self.ask("children")?;
        let listing = drive.list(|_, thing| thing.parent.as_deref() == Some(folder), page);
        if drive.random() < drive.busy {
            drive.happen();
        }
        Ok(listing)
    }

    async fn changes(&self, _: &Access, feed: &str, cursor: &str) -> ConnectorResult<Changes> {
        let mut drive = self.ask("changes")?;
        if feed != USER && !drive.joined.contains(feed) {
            return Err(ConnectorError::CursorLost);
        }
        Ok(drive.told(feed, cursor.parse().unwrap()))
    }

    async fn stat(&self, _: &Access, id: &str) -> ConnectorResult<Option<Item>> {
        self.answers(&format!("stat {id}")).await;
        let drive = self.ask("stat")?;
        drive
            .broken
            .get(id)
            .map_or_else(|| Ok(drive.item(id)), |broken| Err(broken()))
    }

    async fn fetch(&self, _: &Access, item: &Item, limit: usize) -> ConnectorResult<Fetched> {
        self.answers(&format!("fetch {}", item.id)).await;
        if self.lock().untold.is_some_and(|bytes| bytes > limit) {
            return Err(ConnectorError::Item(SkipReason::TooLarge));
        }

        let mut drive = self.ask("fetch")?;
        drive.fetched += 1;
        let content = drive.things.get(&item.id).map(|thing| thing.content);
        let content = content.ok_or_else(|| ConnectorError::Unavailable("gone".into()))?;
        let form = BodyForm::File {
            name: Some("file.txt".into()),
            declared: Some("text/plain".into()),
        };

        Ok(Fetched {
            bytes: Bytes::from(content.to_string()),
            form,
        })
    }

    async fn browse(
        &self,
        _: &Access,
        _: &View,
        _: Option<&str>,
        _: Option<&str>,
        _: Option<&str>,
    ) -> ConnectorResult<Listing> {
        Ok(Listing::default())
    }

    async fn watch(
        &self,
        _: &Access,
        feed: &str,
        _: &str,
        _: &str,
        address: &str,
        _: &str,
    ) -> ConnectorResult<Option<Watched>> {
        let mut drive = self.ask("watch")?;
        drive.watched.push((feed.to_owned(), address.to_owned()));
        let expires_at = Timestamp::from_millis(super::world::BEGIN).plus_seconds(7 * 86_400);

        Ok(Some(Watched {
            resource: format!("r-{feed}"),
            expires_at,
        }))
    }

    async fn unwatch(&self, _: &Access, id: &str, _: &str) -> ConnectorResult<()> {
        let mut drive = self.ask("unwatch")?;
        drive.watched.push(("-".into(), id.to_owned()));
        Ok(())
    }
}
