//! The implementation of the port [`Connector`].

use async_trait::async_trait;
use domain::connection::Provider;
use domain::metadata::Metadata;
use domain::ports::{
    ChangePage, Connector, ConnectorResult, ItemContent, ItemPage, NotificationSubscription,
    OAuthFlow, PickerView, ProviderAccess, ProviderItem,
};

use super::DriveConnector;

#[async_trait]
impl Connector for DriveConnector {
    fn provider(&self) -> Provider {
        Provider::CloudDrive
    }

    fn oauth_flow(&self) -> Option<&dyn OAuthFlow> {
        Some(self)
    }

    fn reports_changes(&self) -> bool {
        true
    }

    fn check_metadata(&self, _: &Metadata) -> Result<(), String> {
        Ok(())
    }

    async fn list_feeds(&self, access: &ProviderAccess) -> ConnectorResult<Vec<String>> {
        self.list_feeds(access).await
    }

    async fn current_cursor(&self, access: &ProviderAccess, feed: &str) -> ConnectorResult<String> {
        self.start_cursor(access, feed).await
    }

    async fn list_feed(
        &self,
        access: &ProviderAccess,
        feed: &str,
        page: Option<&str>,
    ) -> ConnectorResult<ItemPage> {
        self.list_feed(access, feed, page).await
    }

    async fn list_children(
        &self,
        access: &ProviderAccess,
        folder: &str,
        drive: Option<&str>,
        page: Option<&str>,
    ) -> ConnectorResult<ItemPage> {
        self.list_folder(access, folder, drive, page).await
    }

    async fn list_changes(
        &self,
        access: &ProviderAccess,
        feed: &str,
        cursor: &str,
    ) -> ConnectorResult<ChangePage> {
        self.list_changes(access, feed, cursor).await
    }

    async fn get_item(
        &self,
        access: &ProviderAccess,
        id: &str,
    ) -> ConnectorResult<Option<ProviderItem>> {
        self.look_up_item(access, id).await
    }

    async fn fetch_content(
        &self,
        access: &ProviderAccess,
        item: &ProviderItem,
        limit: usize,
    ) -> ConnectorResult<ItemContent> {
        self.fetch_content(access, item, limit).await
    }

    async fn list_selectable(
        &self,
        access: &ProviderAccess,
        view: &PickerView,
        parent: Option<&str>,
        query: Option<&str>,
        page: Option<&str>,
    ) -> ConnectorResult<ItemPage> {
        self.browse_items(access, view, parent, query, page).await
    }

    async fn watch_feed(
        &self,
        access: &ProviderAccess,
        feed: &str,
        cursor: &str,
        id: &str,
        address: &str,
        token: &str,
    ) -> ConnectorResult<Option<NotificationSubscription>> {
        self.open_channel(access, feed, cursor, (id, address, token))
            .await
    }

    async fn stop_watching(
        &self,
        access: &ProviderAccess,
        id: &str,
        resource: &str,
    ) -> ConnectorResult<()> {
        self.close_channel(access, id, resource).await
    }
}
