//! The Lambda function `connections`.

use remote::{Fetcher, Network};

fn main() -> anyhow::Result<()> {
    let settings = connectors::Settings::from_environment(lambda::variable);
    let connectors = connectors::all(&settings, Fetcher::new(Network::public()))?;
    let public_url = lambda::variable("RECOLLECT_PUBLIC_URL").filter(|url| !url.is_empty());
    lambda::http(|app| connections::router(app, connectors, public_url))
}
