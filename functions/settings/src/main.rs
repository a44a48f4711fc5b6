//! The Lambda function `settings`.

fn main() -> anyhow::Result<()> {
    lambda::run_http(settings::router)
}
