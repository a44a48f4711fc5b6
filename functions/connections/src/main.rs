//! The Lambda function `connections`.

fn main() -> anyhow::Result<()> {
    let settings = lambda::Settings::load()?;
    let drive = connectors::DriveSettings::from_environment(|name| settings.get(name));
    let connectors = connectors::all_connectors(&drive, reader::deployed_fetcher())?;
    let public_url = lambda::read_variable("RECOLLECT_PUBLIC_URL").filter(|url| !url.is_empty());
    lambda::run_http(|app| connections::router(app, connectors, public_url))
}
