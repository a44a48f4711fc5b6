//! The Lambda function `analytics`.

fn main() -> anyhow::Result<()> {
    lambda::run_http(analytics::router)
}
