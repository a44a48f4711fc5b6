//! Lookups of single items.

use domain::ports::{ConnectorError, ConnectorResult, ProviderAccess, ProviderItem};

use super::DriveConnector;
use super::api::ApiRequest;
use super::failure::ApiFailure;
use super::feeds::SharedDrive;
use super::file::{ApiFile, FILE_FIELDS};
use crate::bounds;

impl DriveConnector {
    /// Returns the item in its current state, or `None` when the account does not see it.
    pub(super) async fn look_up_item(
        &self,
        access: &ProviderAccess,
        id: &str,
    ) -> ConnectorResult<Option<ProviderItem>> {
        let mut result = self.request_file(access, id, FILE_FIELDS, None).await;
        // An item that was shared only by its link requires the resource key of the link, which
        // shortcuts to it contain.
        if matches!(result, Err(ApiFailure::NotFound))
            && let Some(resource_key) = self.find_resource_key(access, id).await?
        {
            result = self
                .request_file(access, id, FILE_FIELDS, Some(resource_key))
                .await;
        }

        let file: ApiFile = match result {
            Ok(file) => file,
            // It makes no difference whether the item does not exist or is not available to this
            // account or app.
            Err(ApiFailure::NotFound | ApiFailure::Other(ConnectorError::Item(_))) => {
                return Ok(None);
            }
            Err(failure) => return Err(failure.into()),
        };

        if !file.is_top_of_drive() {
            return Ok(Some(file.into_item()));
        }

        let request = ApiRequest::get(&["drives", id]).with_query("fields", "id,name");
        match self.request_json::<SharedDrive>(access, request).await {
            Ok(drive) => Ok(Some(ProviderItem {
                name: bounds::limit_name(drive.name),
                ..file.into_item()
            })),
            Err(ApiFailure::NotFound) => Ok(None),
            Err(failure) => Err(failure.into()),
        }
    }

    /// Requests the given fields of a file.
    pub(super) async fn request_file<T: serde::de::DeserializeOwned>(
        &self,
        access: &ProviderAccess,
        id: &str,
        fields: &str,
        resource_key: Option<String>,
    ) -> Result<T, ApiFailure> {
        self.request_json(
            access,
            ApiRequest::get(&["files", id])
                .all_drives()
                .with_query("fields", fields)
                .with_resource_key(resource_key),
        )
        .await
    }
}
