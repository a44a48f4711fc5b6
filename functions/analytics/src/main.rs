//! The Lambda function `analytics`.

fn main() -> anyhow::Result<()> {
    lambda::run_http(|app, _| Ok(analytics::router(app)))
}
