//! Tests of the Google Drive connector against a fake drive that checks every request against the
//! documentation of the real one.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod content;
mod faults;
mod pages;
mod permission;

use connectors::Settings;
use domain::connection::Provider;
use domain::metadata::Metadata;
use domain::ports::{Access, Connector, Connectors, Item, Listing};
use domain::vault::Secret;
use fake_drive::FakeDrive;
use remote::{Fetcher, Network};

/// The owner of the drive.
const IDA: &str = "ida@northwind.example";
/// Another user.
const OLE: &str = "ole@northwind.example";

/// A fake drive, and the connector to it.
struct Stage {
    fake: FakeDrive,
    all: Connectors,
}

impl Stage {
    async fn open() -> Self {
        let fake = FakeDrive::start().await.unwrap();
        let (id, secret) = fake.client();
        let settings = Settings::stand_in(fake.url(), id, secret);
        let all = connectors::all(&settings, Fetcher::new(Network::public())).unwrap();
        Self { fake, all }
    }

    fn drive(&self) -> &dyn Connector {
        self.all.of(Provider::CloudDrive).unwrap()
    }

    /// Returns the access data for Ida's requests.
    fn ida(&self) -> Access {
        access(&self.fake.account(IDA).access_token())
    }

    fn root(&self) -> String {
        self.fake.account(IDA).root().to_owned()
    }

    /// Returns an item as the connector shows it to Ida.
    async fn item(&self, id: &str) -> Item {
        self.drive().stat(&self.ida(), id).await.unwrap().unwrap()
    }
}

fn access(token: &str) -> Access {
    Access {
        token: Some(Secret::new(token)),
        metadata: Metadata::default(),
    }
}

fn names(listing: &Listing) -> Vec<&str> {
    listing
        .items
        .iter()
        .map(|item| item.name.as_str())
        .collect()
}
