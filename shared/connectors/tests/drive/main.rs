//! Tests of the Google Drive connector against a fake drive that checks every request against the
//! documentation of the real one.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod content;
mod faults;
mod pages;
mod permission;

use std::sync::Arc;

use connectors::DriveSettings;
use domain::connection::Provider;
use domain::metadata::Metadata;
use domain::ports::{Connector, Connectors, ItemPage, ProviderAccess, ProviderItem};
use domain::vault::Secret;
use fake_drive::FakeDrive;
use remote::{Fetcher, Network};

/// The owner of the drive.
const IDA: &str = "ida@northwind.example";
/// Another user.
const OLE: &str = "ole@northwind.example";

/// A fake drive, and the connector to it.
struct DriveStage {
    fake: FakeDrive,
    connectors: Connectors,
}

impl DriveStage {
    async fn open() -> Self {
        let fake = FakeDrive::start().await.unwrap();
        let (id, secret) = fake.client_credentials();
        let settings = DriveSettings::for_fake_drive(fake.base_url(), id, secret);
        let connectors = connectors::all_connectors(
            &settings,
            Arc::new(Fetcher::new(Network::public_internet())),
        )
        .unwrap();
        Self { fake, connectors }
    }

    fn connector(&self) -> &dyn Connector {
        self.connectors.for_provider(Provider::CloudDrive).unwrap()
    }

    /// Returns the access data for Ida's requests.
    fn ida_access(&self) -> ProviderAccess {
        access_for(&self.fake.get_or_create_account(IDA).access_token())
    }

    fn root_id(&self) -> String {
        self.fake.get_or_create_account(IDA).root().to_owned()
    }

    /// Returns an item as the connector shows it to Ida.
    async fn item_for_ida(&self, id: &str) -> ProviderItem {
        self.connector()
            .get_item(&self.ida_access(), id)
            .await
            .unwrap()
            .unwrap()
    }
}

fn access_for(token: &str) -> ProviderAccess {
    ProviderAccess {
        token: Some(Secret::new(token)),
        metadata: Metadata::default(),
    }
}

fn item_names(listing: &ItemPage) -> Vec<&str> {
    listing
        .items
        .iter()
        .map(|item| item.name.as_str())
        .collect()
}
