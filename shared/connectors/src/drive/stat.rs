//! Lookups of single items.

use domain::ports::{Access, ConnectorError, ConnectorResult, Item};

use super::Drive;
use super::api::Call;
use super::failure::Failure;
use super::feeds::SharedDrive;
use super::file::{FIELDS, File};
use crate::bounds;

impl Drive {
    /// Returns the item in its current state, or `None` when the account does not see it.
    pub(super) async fn look(&self, access: &Access, id: &str) -> ConnectorResult<Option<Item>> {
        let mut found = self.file(access, id, FIELDS, None).await;
        // An item that was shared only by its link requires the resource key of the link, which
        // shortcuts to it contain.
        if matches!(found, Err(Failure::Gone))
            && let Some(key) = self.key_of(access, id).await?
        {
            found = self.file(access, id, FIELDS, Some(key)).await;
        }

        let file: File = match found {
            Ok(file) => file,
            // It makes no difference whether the item does not exist or is not available to this
            // account or app.
            Err(Failure::Gone | Failure::Other(ConnectorError::Item(_))) => return Ok(None),
            Err(failure) => return Err(failure.into()),
        };

        if !file.is_top_of_drive() {
            return Ok(Some(file.into_item()));
        }

        let call = Call::get(&["drives", id]).with("fields", "id,name");
        match self.json::<SharedDrive>(access, call).await {
            Ok(drive) => Ok(Some(Item {
                name: bounds::name(drive.name),
                ..file.into_item()
            })),
            Err(Failure::Gone) => Ok(None),
            Err(failure) => Err(failure.into()),
        }
    }

    /// Requests the given fields of a file.
    pub(super) async fn file<T: serde::de::DeserializeOwned>(
        &self,
        access: &Access,
        id: &str,
        fields: &str,
        key: Option<String>,
    ) -> Result<T, Failure> {
        self.json(
            access,
            Call::get(&["files", id])
                .all_drives()
                .with("fields", fields)
                .key(key),
        )
        .await
    }
}
