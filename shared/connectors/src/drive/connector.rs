//! The implementation of the port [`Connector`].

use async_trait::async_trait;
use domain::connection::Provider;
use domain::metadata::Metadata;
use domain::ports::{
    Access, Changes, Connector, ConnectorResult, Fetched, Item, Listing, OAuth, View, Watched,
};

use super::Drive;

#[async_trait]
impl Connector for Drive {
    fn provider(&self) -> Provider {
        Provider::CloudDrive
    }

    fn oauth(&self) -> Option<&dyn OAuth> {
        Some(self)
    }

    fn has_changes(&self) -> bool {
        true
    }

    fn check(&self, _: &Metadata) -> Result<(), String> {
        Ok(())
    }

    async fn feeds(&self, access: &Access) -> ConnectorResult<Vec<String>> {
        self.all_feeds(access).await
    }

    async fn head(&self, access: &Access, feed: &str) -> ConnectorResult<String> {
        self.start(access, feed).await
    }

    async fn everything(
        &self,
        access: &Access,
        feed: &str,
        page: Option<&str>,
    ) -> ConnectorResult<Listing> {
        self.whole_feed(access, feed, page).await
    }

    async fn children(
        &self,
        access: &Access,
        folder: &str,
        drive: Option<&str>,
        page: Option<&str>,
    ) -> ConnectorResult<Listing> {
        self.folder(access, folder, drive, page).await
    }

    async fn changes(&self, access: &Access, feed: &str, cursor: &str) -> ConnectorResult<Changes> {
        self.log(access, feed, cursor).await
    }

    async fn stat(&self, access: &Access, id: &str) -> ConnectorResult<Option<Item>> {
        self.look(access, id).await
    }

    async fn fetch(&self, access: &Access, item: &Item, limit: usize) -> ConnectorResult<Fetched> {
        self.content_of(access, item, limit).await
    }

    async fn browse(
        &self,
        access: &Access,
        view: &View,
        parent: Option<&str>,
        query: Option<&str>,
        page: Option<&str>,
    ) -> ConnectorResult<Listing> {
        self.look_through(access, view, parent, query, page).await
    }

    async fn watch(
        &self,
        access: &Access,
        feed: &str,
        cursor: &str,
        id: &str,
        address: &str,
        token: &str,
    ) -> ConnectorResult<Option<Watched>> {
        self.open_channel(access, feed, cursor, (id, address, token))
            .await
    }

    async fn unwatch(&self, access: &Access, id: &str, resource: &str) -> ConnectorResult<()> {
        self.close_channel(access, id, resource).await
    }
}
