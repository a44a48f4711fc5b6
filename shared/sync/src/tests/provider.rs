//! The simulated drive as a connector.

use std::sync::{Mutex, MutexGuard};

use async_trait::async_trait;
use bytes::Bytes;
use domain::connection::{OAuthTokens, Provider, SkipReason};
use domain::ports::{
    ChangePage, Connector, ConnectorError, ConnectorResult, ConsentError, ConsentRequest,
    GrantedPermission, ItemContent, ItemPage, NotificationSubscription, OAuthClient, OAuthFlow,
    PickerView, ProviderAccess, ProviderItem,
};
use domain::{BodyForm, Metadata, Secret, Timestamp};

use super::drive::{SimulatedDrive, USER};

/// The simulated drive as the engine sees it.
pub(super) struct DriveHandle(pub(super) Mutex<SimulatedDrive>);

impl DriveHandle {
    pub(super) fn lock(&self) -> MutexGuard<'_, SimulatedDrive> {
        self.0.lock().unwrap()
    }

    async fn wait_if_silent(&self, what: &str) {
        let silent = self.lock().silent.contains(what);
        if silent {
            std::future::pending::<()>().await;
        }
    }

    /// Counts a request as in progress while other requests may begin.
    async fn let_others_begin(&self) {
        {
            let mut drive = self.lock();
            drive.in_progress += 1;
            drive.most_in_progress = drive.most_in_progress.max(drive.in_progress);
        }
        tokio::task::yield_now().await;
        self.lock().in_progress -= 1;
    }

    fn take_fault(&self, what: &'static str) -> ConnectorResult<MutexGuard<'_, SimulatedDrive>> {
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
impl Connector for DriveHandle {
    fn provider(&self) -> Provider {
        Provider::CloudDrive
    }

    fn oauth_flow(&self) -> Option<&dyn OAuthFlow> {
        Some(self)
    }

    fn reports_changes(&self) -> bool {
        !self.lock().is_without_changes
    }

    fn parallel_requests(&self) -> usize {
        if self.reports_changes() { 8 } else { 1 }
    }

    fn check_metadata(&self, _: &Metadata) -> Result<(), String> {
        Ok(())
    }

    async fn list_feeds(&self, _: &ProviderAccess) -> ConnectorResult<Vec<String>> {
        self.wait_if_silent("feeds").await;
        let drive = self.take_fault("feeds")?;
        Ok(std::iter::once(USER.to_owned())
            .chain(drive.joined.iter().cloned())
            .collect())
    }

    async fn current_cursor(&self, _: &ProviderAccess, feed: &str) -> ConnectorResult<String> {
        Ok(self
            .take_fault("head")?
            .logs
            .get(feed)
            .map_or(0, Vec::len)
            .to_string())
    }

    async fn list_feed(
        &self,
        _: &ProviderAccess,
        feed: &str,
        page: Option<&str>,
    ) -> ConnectorResult<ItemPage> {
        let mut drive = self.take_fault("everything")?;
        drive.listed += 1;
        let listing = drive.list_page(
            |id, thing| thing.parent.is_some() && drive.feed_of(id) == feed,
            page,
        );
        if drive.random_fraction() < drive.event_rate {
            drive.simulate_event();
        }

        Ok(listing)
    }

    async fn list_children(
        &self,
        _: &ProviderAccess,
        folder: &str,
        _: Option<&str>,
        page: Option<&str>,
    ) -> ConnectorResult<ItemPage> {
        let mut drive = self.take_fault("children")?;
        let listing = drive.list_page(|_, thing| thing.parent.as_deref() == Some(folder), page);
        if drive.random_fraction() < drive.event_rate {
            drive.simulate_event();
        }
        Ok(listing)
    }

    async fn list_changes(
        &self,
        _: &ProviderAccess,
        feed: &str,
        cursor: &str,
    ) -> ConnectorResult<ChangePage> {
        let mut drive = self.take_fault("changes")?;
        if feed != USER && !drive.joined.contains(feed) {
            return Err(ConnectorError::CursorLost);
        }
        Ok(drive.changes_after(feed, cursor.parse().unwrap()))
    }

    async fn get_item(
        &self,
        _: &ProviderAccess,
        id: &str,
    ) -> ConnectorResult<Option<ProviderItem>> {
        self.let_others_begin().await;
        self.wait_if_silent(&format!("stat {id}")).await;
        let drive = self.take_fault("stat")?;
        drive
            .broken
            .get(id)
            .map_or_else(|| Ok(drive.item(id)), |broken| Err(broken()))
    }

    async fn fetch_content(
        &self,
        _: &ProviderAccess,
        item: &ProviderItem,
        limit: usize,
    ) -> ConnectorResult<ItemContent> {
        self.let_others_begin().await;
        self.wait_if_silent(&format!("fetch {}", item.id)).await;
        let slow = self.lock().slow.get(&item.id).copied();
        if let Some(time) = slow {
            tokio::time::sleep(time).await;
        }
        if self.lock().unstated_size.is_some_and(|bytes| bytes > limit) {
            return Err(ConnectorError::Item(SkipReason::TooLarge));
        }

        let mut drive = self.take_fault("fetch")?;
        drive.fetched += 1;
        let content = drive.things.get(&item.id).map(|thing| thing.content);
        let content = content.ok_or_else(|| ConnectorError::Unavailable("gone".into()))?;
        let form = BodyForm::File {
            name: Some("file.txt".into()),
            declared: Some("text/plain".into()),
        };

        Ok(ItemContent {
            bytes: Bytes::from(content.to_string()),
            form,
        })
    }

    async fn list_selectable(
        &self,
        _: &ProviderAccess,
        _: &PickerView,
        _: Option<&str>,
        _: Option<&str>,
        _: Option<&str>,
    ) -> ConnectorResult<ItemPage> {
        Ok(ItemPage::default())
    }

    async fn watch_feed(
        &self,
        _: &ProviderAccess,
        feed: &str,
        _: &str,
        _: &str,
        address: &str,
        _: &str,
    ) -> ConnectorResult<Option<NotificationSubscription>> {
        let mut drive = self.take_fault("watch")?;
        drive.watched.push((feed.to_owned(), address.to_owned()));
        let expires_at = Timestamp::from_millis(super::sync_world::BEGIN).plus_seconds(7 * 86_400);

        Ok(Some(NotificationSubscription {
            resource: format!("r-{feed}"),
            expires_at,
        }))
    }

    async fn stop_watching(&self, _: &ProviderAccess, id: &str, _: &str) -> ConnectorResult<()> {
        let mut drive = self.take_fault("unwatch")?;
        drive.watched.push(("-".into(), id.to_owned()));
        Ok(())
    }
}

/// The engine only revokes permissions; other crates obtain them.
#[async_trait]
impl OAuthFlow for DriveHandle {
    fn operator_client(&self) -> Option<OAuthClient> {
        None
    }

    fn consent_url(&self, _: &OAuthClient, _: &ConsentRequest) -> ConnectorResult<String> {
        unimplemented!()
    }

    async fn exchange_code(
        &self,
        _: &OAuthClient,
        _: &ConsentRequest,
        _: &Secret,
        _: Timestamp,
    ) -> Result<GrantedPermission, ConsentError> {
        unimplemented!()
    }

    async fn refresh_tokens(
        &self,
        _: &OAuthClient,
        _: &OAuthTokens,
        _: Timestamp,
    ) -> ConnectorResult<OAuthTokens> {
        unimplemented!()
    }

    async fn revoke_permission(&self, _: &OAuthTokens) -> ConnectorResult<()> {
        self.take_fault("revoke")?.revocations += 1;
        Ok(())
    }
}
