//! The Lambda function `importer`.

use std::sync::Arc;

use importer::Importer;
use remote::{Fetcher, ModelSettings, Models, Network};
use sync::{Engine, ModelJudge};

fn main() -> anyhow::Result<()> {
    let settings = connectors::Settings::from_environment(lambda::variable);
    let connectors = connectors::all(&settings, Fetcher::new(Network::public()))?;
    let judge = Arc::new(ModelJudge(Models::new(ModelSettings::from_environment(
        lambda::variable,
    ))));
    let notifications = lambda::variable("RECOLLECT_PUBLIC_URL").filter(|url| !url.is_empty());

    lambda::queue(|ctx| {
        Importer::new(Engine {
            ctx,
            connectors,
            judge,
            notifications,
        })
    })
}
