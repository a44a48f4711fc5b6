//! The Lambda function `container-tags`.

fn main() -> anyhow::Result<()> {
    lambda::http(container_tags::router)
}
