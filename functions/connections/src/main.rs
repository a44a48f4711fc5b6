//! The Lambda function `connections`.

use std::sync::Arc;

use remote::{Fetcher, Network};

fn main() -> anyhow::Result<()> {
    lambda::run_http(|app, deployment| {
        let drive =
            connectors::DriveSettings::from_environment(|name| deployment.settings.get(name));
        // A request begins a synchronization, and fetches no page itself.
        let fetcher = Arc::new(Fetcher::new(Network::public_internet()));
        let connectors = connectors::all_connectors(&drive, fetcher)?;
        let public_url = lambda::read_non_empty("RECOLLECT_PUBLIC_URL");
        Ok(connections::router(app, connectors, public_url))
    })
}
