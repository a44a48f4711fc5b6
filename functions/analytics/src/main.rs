//! The Lambda function `analytics`.

fn main() -> anyhow::Result<()> {
    lambda::http(analytics::router)
}
