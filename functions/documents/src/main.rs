//! The Lambda function `documents`.

fn main() -> anyhow::Result<()> {
    lambda::http(documents::router)
}
