//! The Lambda function `settings`.

fn main() -> anyhow::Result<()> {
    lambda::http(settings::router)
}
