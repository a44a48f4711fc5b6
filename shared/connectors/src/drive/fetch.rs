//! The content of items.

use std::time::Duration;

use bytes::Bytes;
use domain::connection::SkipReason;
use domain::document::BodyForm;
use domain::ports::{
    ConnectorError, ConnectorResult, ItemContent, ItemKind, ProviderAccess, ProviderItem,
};
use sha2::{Digest, Sha256};

use super::DriveConnector;
use super::api::ApiRequest;
use super::exchange::{read_body, unavailable_error};
use super::failure::ApiFailure;
use super::file::sha256_of;
use super::kinds;

/// The time limit for the content of an item, over all methods. A worker has about two minutes, and
/// begins up to 45 seconds late.
const CONTENT_TIMEOUT: Duration = Duration::from_secs(60);

impl DriveConnector {
    pub(super) async fn fetch_content(
        &self,
        access: &ProviderAccess,
        item: &ProviderItem,
        limit: usize,
    ) -> ConnectorResult<ItemContent> {
        match item.kind {
            ItemKind::Unreadable(reason) => return Err(ConnectorError::Item(reason)),
            ItemKind::File { .. } => {}
            ItemKind::Folder | ItemKind::Shortcut { .. } => {
                return Err(ConnectorError::Item(SkipReason::UnsupportedType));
            }
        }

        let fetch = self.fetch_with_known_key(access, item, limit);
        let Ok(content) = tokio::time::timeout(CONTENT_TIMEOUT, fetch).await else {
            return Err(unavailable_error("the content takes too long"));
        };

        let content = content?;
        if content.bytes.iter().all(u8::is_ascii_whitespace) {
            return Err(ConnectorError::Item(SkipReason::Empty));
        }

        Ok(content)
    }

    /// Fetches the content. A file that was shared only by its link requires the resource key of
    /// the link, which shortcuts to it contain.
    async fn fetch_with_known_key(
        &self,
        access: &ProviderAccess,
        item: &ProviderItem,
        limit: usize,
    ) -> ConnectorResult<ItemContent> {
        let mut result = self.fetch_with_key(access, item, None, limit).await;
        if matches!(result, Err(ApiFailure::NotFound))
            && let Some(resource_key) = self.find_resource_key(access, &item.id).await?
        {
            result = self
                .fetch_with_key(access, item, Some(resource_key), limit)
                .await;
        }
        Ok(result?)
    }

    async fn fetch_with_key(
        &self,
        access: &ProviderAccess,
        item: &ProviderItem,
        resource_key: Option<String>,
        limit: usize,
    ) -> Result<ItemContent, ApiFailure> {
        match kinds::native_type(&item.media_type) {
            Some(kind) => {
                self.export_content(access, (&item.id, resource_key), kind, limit)
                    .await
            }
            None => self.fetch_stored(access, item, resource_key, limit).await,
        }
    }

    /// Fetches a file as it was uploaded.
    async fn fetch_stored(
        &self,
        access: &ProviderAccess,
        item: &ProviderItem,
        resource_key: Option<String>,
        limit: usize,
    ) -> Result<ItemContent, ApiFailure> {
        let Some(extension) = kinds::extension_of(&item.media_type, &item.name) else {
            return Err(ConnectorError::Item(SkipReason::UnsupportedType).into());
        };

        if let Some(size) = item.size
            && size > limit as u64
        {
            return Err(ApiFailure::TooLarge);
        }

        // The provider's malware warning is not overridden.
        let request = ApiRequest::get(&["files", &item.id])
            .all_drives()
            .with_query("alt", "media")
            .with_resource_key(resource_key);
        let response = self
            .request_content(access, request.with_query("acknowledgeAbuse", "false"))
            .await?;
        let Some(bytes) = read_body(response, limit).await? else {
            return Err(ApiFailure::TooLarge);
        };
        if let Some(digest) = sha256_of(&item.content_version)
            && digest != hex::encode(Sha256::digest(&bytes))
        {
            // The file was edited after it was listed, or damaged in transit. The next lookup shows
            // which.
            return Err(unavailable_error("the content is not the one that was listed").into());
        }

        Ok(file_content(bytes, &extension, &item.media_type))
    }
}

/// Names content after its type only, so that a renamed file has the same content.
pub(super) fn file_content(bytes: Bytes, extension: &str, media_type: &str) -> ItemContent {
    let form = BodyForm::File {
        name: Some(format!("file.{extension}")),
        declared: Some(media_type.to_owned()).filter(|declared| !declared.is_empty()),
    };
    ItemContent { bytes, form }
}
