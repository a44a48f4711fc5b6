//! The content of items.

use std::time::Duration;

use bytes::Bytes;
use domain::connection::SkipReason;
use domain::document::BodyForm;
use domain::ports::{Access, ConnectorError, ConnectorResult, Fetched, Item, ItemKind};
use reqwest::Response;
use sha2::{Digest, Sha256};

use super::Drive;
use super::api::Call;
use super::failure::Failure;
use super::file::sha256_of;
use super::http::{body, unavailable};
use super::kinds;

/// The time limit for the content of an item, over all methods. A worker has about two minutes, and
/// begins up to 45 seconds late.
const PATIENCE: Duration = Duration::from_secs(60);

impl Drive {
    pub(super) async fn content_of(
        &self,
        access: &Access,
        item: &Item,
        limit: usize,
    ) -> ConnectorResult<Fetched> {
        match item.kind {
            ItemKind::Unreadable(reason) => return Err(ConnectorError::Item(reason)),
            ItemKind::File { .. } => {}
            ItemKind::Folder | ItemKind::Shortcut { .. } => {
                return Err(ConnectorError::Item(SkipReason::UnsupportedType));
            }
        }

        let fetched = tokio::time::timeout(PATIENCE, self.with_key(access, item, limit)).await;
        let fetched = fetched.map_err(|_| unavailable("the content takes too long"))??;
        if fetched.bytes.iter().all(u8::is_ascii_whitespace) {
            return Err(ConnectorError::Item(SkipReason::Empty));
        }

        Ok(fetched)
    }

    /// Fetches the content. A file that was shared only by its link requires the resource key of
    /// the link, which shortcuts to it contain.
    async fn with_key(
        &self,
        access: &Access,
        item: &Item,
        limit: usize,
    ) -> ConnectorResult<Fetched> {
        let mut fetched = self.with(access, item, None, limit).await;
        if matches!(fetched, Err(Failure::Gone))
            && let Some(key) = self.key_of(access, &item.id).await?
        {
            fetched = self.with(access, item, Some(key), limit).await;
        }
        Ok(fetched?)
    }

    async fn with(
        &self,
        access: &Access,
        item: &Item,
        key: Option<String>,
        limit: usize,
    ) -> Result<Fetched, Failure> {
        match kinds::native(&item.media_type) {
            Some(kind) => self.exported(access, (&item.id, key), kind, limit).await,
            None => self.stored(access, item, key, limit).await,
        }
    }

    /// Fetches a file as it was uploaded.
    async fn stored(
        &self,
        access: &Access,
        item: &Item,
        key: Option<String>,
        limit: usize,
    ) -> Result<Fetched, Failure> {
        let Some(extension) = kinds::extension(&item.media_type, &item.name) else {
            return Err(ConnectorError::Item(SkipReason::UnsupportedType).into());
        };

        if item.size.is_some_and(|size| size > limit as u64) {
            return Err(Failure::TooLarge);
        }

        // The provider's malware warning is not overridden.
        let call = Call::get(&["files", &item.id])
            .all_drives()
            .with("alt", "media")
            .key(key);
        let response = self
            .content(access, call.with("acknowledgeAbuse", "false"))
            .await?;
        let bytes = whole(response, limit).await?;
        if sha256_of(&item.mark).is_some_and(|digest| digest != hex(&Sha256::digest(&bytes))) {
            // The file was edited after it was listed, or damaged in transit. The next lookup shows
            // which.
            return Err(unavailable("the content is not the one that was listed").into());
        }

        Ok(file(bytes, &extension, &item.media_type))
    }
}

/// Returns the whole content of a response.
pub(super) async fn whole(response: Response, limit: usize) -> Result<Bytes, Failure> {
    body(response, limit).await?.ok_or(Failure::TooLarge)
}

/// Names content after its type only, so that a renamed file has the same content.
pub(super) fn file(bytes: Bytes, extension: &str, media_type: &str) -> Fetched {
    let form = BodyForm::File {
        name: Some(format!("file.{extension}")),
        declared: Some(media_type.to_owned()).filter(|declared| !declared.is_empty()),
    };
    Fetched { bytes, form }
}

fn hex(digest: &[u8]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}
