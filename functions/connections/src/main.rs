//! The Lambda function `connections`.

use remote::{Fetcher, Network};

fn main() -> anyhow::Result<()> {
    let settings = connectors::DriveSettings::from_environment(lambda::read_variable);
    let connectors =
        connectors::all_connectors(&settings, Fetcher::new(Network::public_internet()))?;
    let public_url = lambda::read_variable("RECOLLECT_PUBLIC_URL").filter(|url| !url.is_empty());
    lambda::run_http(|app| connections::router(app, connectors, public_url))
}
